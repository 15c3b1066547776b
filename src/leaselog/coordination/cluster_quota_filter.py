"""Which entities with client quotas somebody asks for (KIP-546), refused in Kafka's words where no entity could fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from leaselog.coordination.cluster_quotas import CLIENT_ID, IP, USER, Quotas
from leaselog.coordination.cluster_records import QuotaEntity
from leaselog.model import ErrorCode, Refused

__all__ = ["MatchKind", "QuotaFilter", "matching_quotas"]


class MatchKind(IntEnum):
    """How a filter looks at the names of a type. The numbers are the wire's."""

    EXACT = 0
    DEFAULT = 1
    SPECIFIED = 2


@dataclass(frozen=True, slots=True)
class QuotaFilter:
    #: (entity type, match kind, name) of each component
    components: Sequence[tuple[str, int, str | None]]
    #: entities must have no other types
    is_strict: bool


def matching_quotas(quotas: Quotas, wanted: QuotaFilter) -> list[QuotaEntity] | Refused:
    """The entities that fit every component of the filter; all of them for a filter without any."""
    refused = _refuse_filter(wanted.components)
    return [entity for entity in quotas if _fits(entity, wanted)] if refused is None else refused


def _fits(entity: QuotaEntity, wanted: QuotaFilter) -> bool:
    if wanted.is_strict and len(entity) != len(wanted.components):
        return False
    names = dict(entity)
    return all(
        kind in names and (match == MatchKind.SPECIFIED or names[kind] == name)
        for kind, match, name in wanted.components
    )


def _refuse_filter(components: Iterable[tuple[str, int, str | None]]) -> Refused | None:
    seen = set[str]()
    for kind, match, name in components:
        if not kind:
            return _invalid("Invalid empty entity type.")
        if kind in seen:
            return _invalid(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in (USER, CLIENT_ID, IP):
            return Refused(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
        seen.add(kind)
        refused = _refuse_match(match, name)
        if refused is not None:
            return refused
    if IP in seen and len(seen) > 1:
        return _invalid(
            "Invalid entity filter component combination. IP filter component should not be used with user or "
            "clientId filter component."
        )
    return None


def _refuse_match(match: int, name: str | None) -> Refused | None:
    if match not in MatchKind._value2member_map_:
        return _invalid(f"Unknown match type {match}")
    if match == MatchKind.EXACT and name is None:
        return _invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    if match != MatchKind.EXACT and name is not None:
        return _invalid(
            f"Request specified MATCH_TYPE_{MatchKind(match).name}, but also specified a match string."
        )
    return None


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, message)
