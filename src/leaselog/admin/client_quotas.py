"""Quotas of clients, by user, client id and address: described and altered (KIP-546)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from leaselog.client.cluster import Cluster
from leaselog.client.errors import raise_for
from leaselog.wire.messages import alter_client_quotas as alter
from leaselog.wire.messages import describe_client_quotas as describe

__all__ = ["ANY_NAME", "QuotaEntity", "QuotaName", "alter_client_quotas", "describe_client_quotas"]

_EXACT, _DEFAULT, _ANY = 0, 1, 2


class _AnyName(Enum):
    ANY_NAME = "any"


#: in a description: whatever the name, or the default
ANY_NAME = _AnyName.ANY_NAME
#: None is the default of its kind
QuotaName = str | None | _AnyName


@dataclass(frozen=True, slots=True)
class QuotaEntity:
    """Whom quotas are for: a user, a client id, a user's client id, or an address; None is the default of its kind."""

    #: kind ("user", "client-id", "ip") and name, sorted
    parts: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, parts: Mapping[str, str | None]) -> QuotaEntity:
        """As ``QuotaEntity.of({"user": "alice", "client-id": None})``."""
        return cls(tuple(sorted(parts.items(), key=lambda part: part[0])))

    @property
    def names(self) -> dict[str, str | None]:
        return dict(self.parts)


async def describe_client_quotas(
    cluster: Cluster, parts: Mapping[str, QuotaName], *, strict: bool = False
) -> dict[QuotaEntity, dict[str, float]]:
    """The quotas of each entity that has some and all of these parts; with ``strict`` no others."""
    answer = await cluster.request(
        describe.DescribeClientQuotasRequest(
            components=[_component(kind, name) for kind, name in parts.items()], strict=strict
        ),
        describe.DescribeClientQuotasResponse,
    )
    raise_for(answer.error_code, answer.error_message)
    return {
        QuotaEntity.of({part.entity_type: part.entity_name for part in entry.entity}): {
            value.key: value.value for value in entry.values
        }
        for entry in answer.entries or ()
    }


def _component(kind: str, name: QuotaName) -> describe.ComponentData:
    if isinstance(name, _AnyName):
        return describe.ComponentData(entity_type=kind, match_type=_ANY, match=None)
    return describe.ComponentData(
        entity_type=kind, match_type=_DEFAULT if name is None else _EXACT, match=name
    )


async def alter_client_quotas(
    cluster: Cluster,
    entity: QuotaEntity,
    *,
    put: Mapping[str, float],
    delete: Iterable[str] = (),
    validate_only: bool = False,
) -> None:
    """Set and unset quotas of one entity: all of them or, with a ``BrokerError``, none."""
    operations = [alter.OpData(key=key, value=value) for key, value in put.items()]
    operations += [alter.OpData(key=key, remove=True) for key in delete]
    parts = [alter.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.parts]
    answer = await cluster.request(
        alter.AlterClientQuotasRequest(
            entries=[alter.EntryData(entity=parts, ops=operations)], validate_only=validate_only
        ),
        alter.AlterClientQuotasResponse,
    )
    for entry in answer.entries:
        raise_for(entry.error_code, entry.error_message)
