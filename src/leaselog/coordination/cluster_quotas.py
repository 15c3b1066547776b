"""Client quotas (KIP-13, 124, 546, 612): who may be limited in what, and which limit counts for a client.

An entity is a user, a client id, both, or an address. Here it is a tuple of (type, name) pairs, sorted by type, so
that equal entities are equal keys; the name None stands for everybody of the type who has no entry of his own.
Refusals are in Kafka's words: its tools show them to people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TypeAlias

from leaselog.coordination.cluster_records import QuotaChanged, QuotaEntity
from leaselog.model import ErrorCode, Refused

__all__ = [
    "CLIENT_ID",
    "CONNECTION_CREATION_RATE",
    "CONSUMER_BYTE_RATE",
    "CONTROLLER_MUTATION_RATE",
    "IP",
    "MAX_QUOTA_ENTITIES",
    "PRODUCER_BYTE_RATE",
    "REQUEST_PERCENTAGE",
    "QuotaAlteration",
    "QuotaHolder",
    "Quotas",
    "USER",
    "decide_quotas",
    "find_limit",
]

USER, CLIENT_ID, IP = "user", "client-id", "ip"
PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
CONNECTION_CREATION_RATE = "connection_creation_rate"
CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
#: entities with limits at once; one more is refused. Kafka has no bound.
MAX_QUOTA_ENTITIES = 10_000

_LONG, _INT = 2**63 - 1, 2**31 - 1
#: each key's largest value, None where it may be a fraction of any size
_CLIENT_KEYS: Mapping[str, int | None] = {
    PRODUCER_BYTE_RATE: _LONG,
    CONSUMER_BYTE_RATE: _LONG,
    REQUEST_PERCENTAGE: None,
    CONTROLLER_MUTATION_RATE: None,
}
_IP_KEYS: Mapping[str, int | None] = {CONNECTION_CREATION_RATE: _INT}
_TYPE_NAMES = {_LONG: "a LONG", _INT: "an INT"}
#: Kafka's notion of a whole number
_WHOLE_WITHIN = 1e-6

Quotas: TypeAlias = Mapping[QuotaEntity, Mapping[str, float]]
#: the user and the client id that a rate is counted for, None where everybody of the other shares it
QuotaHolder: TypeAlias = tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class QuotaAlteration:
    """What is wanted for one entity: (key, value) pairs, the value None to take a limit away."""

    entity: Sequence[tuple[str, str | None]]
    ops: Sequence[tuple[str, float | None]]

    @property
    def key(self) -> QuotaEntity:
        return tuple(sorted(self.entity, key=lambda part: (part[0], part[1] or "")))


def decide_quotas(
    current: Quotas, alterations: Sequence[QuotaAlteration]
) -> tuple[list[QuotaChanged], dict[QuotaEntity, Refused | None]]:
    """The records that make the changes, and one answer for each entity. A refused entity keeps all it has.

    An entity that is named twice is refused. Kafka says so too, having applied the first of the two.
    """
    records: list[QuotaChanged] = []
    answers: dict[QuotaEntity, Refused | None] = {}
    named = [alteration.key for alteration in alterations]
    twice = {entity for entity, count in Counter(named).items() if count > 1}
    room = MAX_QUOTA_ENTITIES - len(current)
    for entity, alteration in zip(named, alterations, strict=True):
        refused = _invalid(f"Ignoring duplicate entity {_in_words(entity)}") if entity in twice else None
        refused = refused or _refuse(alteration)
        changes = [] if refused is not None else _changes(entity, alteration, current.get(entity, {}))
        if entity not in current and changes:
            room -= 1
            if room < 0:
                refused, changes = _too_many(), []
        answers[entity] = refused
        records += changes
    return records, answers


def _changes(
    entity: QuotaEntity, alteration: QuotaAlteration, current: Mapping[str, float]
) -> list[QuotaChanged]:
    """What is there already, or is not there to be removed, takes no record."""
    return [QuotaChanged(entity, key, value) for key, value in alteration.ops if current.get(key) != value]


def _refuse(alteration: QuotaAlteration) -> Refused | None:
    keys = _keys_for(alteration.entity)
    if isinstance(keys, Refused):
        return keys
    seen = set[str]()
    for key, value in alteration.ops:
        if key in seen:
            return _invalid(
                f"Duplicate quota key {key} not updating quota for this entity {_in_words(alteration.key)}"
            )
        seen.add(key)
        refused = None if value is None else _refuse_value(key, value, keys)
        if refused is not None:
            return refused
    return None


def _keys_for(entity: Sequence[tuple[str, str | None]]) -> Mapping[str, int | None] | Refused:
    """The keys such an entity may have."""
    names: dict[str, str | None] = {}
    for kind, name in entity:
        if kind in names:
            return _invalid(f"Invalid client quota entity, duplicate entity entry {kind}")
        if kind not in (USER, CLIENT_ID, IP):
            return _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            return _invalid(f"Empty {kind} not supported")
        names[kind] = name
    if not names:
        return _invalid("Invalid empty client quota entity")
    if IP not in names:
        return _CLIENT_KEYS
    if len(names) > 1:
        return _invalid(
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
        )
    if not _is_address(names[IP]):
        return _invalid(f"{names[IP]} is not a valid IP or resolvable host.")
    return _IP_KEYS


def _is_address(name: str | None) -> bool:
    """Kafka resolves host names; a look-up on behalf of whoever asks is not for this room, nor worth its risks."""
    if name is None:
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _refuse_value(key: str, value: float, keys: Mapping[str, int | None]) -> Refused | None:
    if key not in keys:
        return _invalid(f"Invalid configuration key {key}")
    if not value > 0:  # not a number neither
        return _invalid(f"Quota {key} must be greater than 0")
    largest = keys[key]
    if largest is None:
        return None
    if value > float(largest):
        return _invalid(f"Proposed value for {key} is too large for {_TYPE_NAMES[largest]}.")
    if value % 1 > _WHOLE_WITHIN:
        return _invalid(f"{key} cannot be a fractional value.")
    return None


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, message)


def _too_many() -> Refused:
    return Refused(
        ErrorCode.POLICY_VIOLATION, f"There are {MAX_QUOTA_ENTITIES} entities with quotas already."
    )


def _in_words(entity: QuotaEntity) -> str:
    parts = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in entity)
    return f"ClientQuotaEntity(entries={{{parts}}})"


def find_limit(
    limits: Mapping[QuotaEntity, float], user: str, client_id: str
) -> tuple[float, QuotaHolder] | None:
    """The limit that counts for a client, and whose traffic counts against it; None if there is no limit.

    The most particular one wins, the user before the client id, as Kafka documents. A limit for all users, say, is
    one for each: every user has a rate of his own.
    """
    for user_name in (user, None):
        for entity in (
            ((CLIENT_ID, client_id), (USER, user_name)),
            ((CLIENT_ID, None), (USER, user_name)),
        ):
            if entity in limits:
                return limits[entity], (user, client_id)
        if (entity_of_user := ((USER, user_name),)) in limits:
            return limits[entity_of_user], (user, None)
    for client_name in (client_id, None):
        if (entity_of_client := ((CLIENT_ID, client_name),)) in limits:
            return limits[entity_of_client], (None, client_id)
    return None
