"""What a record of ``__share_group_state`` says. Pure.

Whoever wrote it: leaselog and Apache Kafka write the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from leaselog.model import RecordState
from leaselog.wire.codec import decode
from leaselog.wire.errors import BadValue
from leaselog.wire.messages.share_records import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateValue,
    StateBatch,
)
from leaselog.wire.records import Record

__all__ = [
    "SNAPSHOT",
    "TOMBSTONE",
    "UPDATE",
    "SharePlace",
    "StateEntry",
    "Stretch",
    "read_entry",
    "state_name",
]

SNAPSHOT, UPDATE, TOMBSTONE = "snapshot", "update", "tombstone"
_SNAPSHOT_KEY, _UPDATE_KEY = 0, 1
_VERSION = 0
_PREFIX_BYTES = 2
#: an offset or a count that is not told
_NONE = -1


def state_name(number: int) -> str:
    """A number of a Kafka that is yet to come is shown as it is."""
    try:
        return RecordState(number).name.lower()
    except ValueError:
        return str(number)


class SharePlace(NamedTuple):
    """A partition as one group has it."""

    group: str
    topic_id: UUID
    partition: int


class Stretch(NamedTuple):
    """Neighbouring records with one state and one delivery count."""

    start: int
    #: not part of it
    end: int
    state: int
    delivery_count: int


@dataclass(frozen=True, slots=True)
class StateEntry:
    kind: str
    place: SharePlace
    #: None where an update leaves it as it is, and before the group has begun
    start_offset: int | None = None
    snapshot_epoch: int | None = None
    #: only a snapshot tells it
    state_epoch: int | None = None
    leader_epoch: int | None = None
    delivery_complete_count: int | None = None
    stretches: tuple[Stretch, ...] = ()


def read_entry(record: Record) -> StateEntry | None:
    """None for a record of a type that is unknown. Raises ``DecodeError`` for one that is malformed or too new."""
    key = record.key
    if key is None or len(key) < _PREFIX_BYTES:
        raise BadValue(f"a record without a type at offset {record.offset} of the share state topic")
    kind = int.from_bytes(key[:_PREFIX_BYTES], "big")
    if kind not in (_SNAPSHOT_KEY, _UPDATE_KEY):
        return None
    told = decode(ShareSnapshotKey, 0, key, _PREFIX_BYTES)  # an update's is the same
    place = SharePlace(told.group_id, told.topic_id, told.partition)
    value = record.value
    if value is None:
        return StateEntry(TOMBSTONE, place)
    version = int.from_bytes(value[:_PREFIX_BYTES], "big")
    if version != _VERSION:
        raise BadValue(f"share state of version {version} at offset {record.offset}, known is {_VERSION}")
    if kind == _SNAPSHOT_KEY:
        snapshot = decode(ShareSnapshotValue, _VERSION, value, _PREFIX_BYTES)
        return _entry(SNAPSHOT, place, snapshot, snapshot.state_epoch)
    return _entry(UPDATE, place, decode(ShareUpdateValue, _VERSION, value, _PREFIX_BYTES), None)


def _entry(
    kind: str, place: SharePlace, value: ShareSnapshotValue | ShareUpdateValue, state_epoch: int | None
) -> StateEntry:
    return StateEntry(
        kind,
        place,
        start_offset=_known(value.start_offset),
        snapshot_epoch=value.snapshot_epoch,
        state_epoch=state_epoch,
        leader_epoch=value.leader_epoch,
        delivery_complete_count=_known(value.delivery_complete_count),
        stretches=_stretches(value.state_batches),
    )


def _known(number: int) -> int | None:
    return None if number == _NONE else number


def _stretches(batches: Iterable[StateBatch]) -> tuple[Stretch, ...]:
    return tuple(
        Stretch(batch.first_offset, batch.last_offset + 1, batch.delivery_state, batch.delivery_count)
        for batch in batches
    )
