"""Share state as control records among the very records it is about: SHARE_CHECKPOINT and SHARE_DELTA.

The older design of KIP-932. Their values are the KIP's, version 0, byte for byte; what that layout has no room for
(epochs that fence, an explicit start, how many deliveries are done, until when stretches wait) travels in the records'
headers, and only where it is not the default. A stretch that no write has spoken of, below one that was, is told as
available and never delivered: so the stretches of a record have no holes, as in the KIP's examples, and reading them
back drops it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from struct import Struct
from struct import error as StructError  # noqa: N812 - struct spells it like a module

from leaselog.coordination.share_state_batches import NO_OFFSET, StateBatch
from leaselog.coordination.share_state_facts import (
    NO_COUNT,
    ShareDropped,
    ShareFact,
    SharePartitionKey,
    ShareSnapshot,
    ShareUpdate,
)
from leaselog.model import GroupId, TopicId
from leaselog.wire.codec import decode, encode
from leaselog.wire.errors import BadValue, Truncated
from leaselog.wire.records import Record, RecordHeader
from leaselog.wire.schema import NEVER, Field, Message, Versions

__all__ = ["SHARE_CHECKPOINT", "SHARE_DELTA", "ControlTrail", "decode_control_fact", "encode_control_fact"]

#: KIP-932's numbers. Kafka's own metadata log has since used them for something else, in a topic of its own.
SHARE_CHECKPOINT, SHARE_DELTA = 5, 6
_VERSION = 0
_EPOCHS = 1 << 16
_KEY = Struct(">hh")
_SHORT = Struct(">h")
_LONG = Struct(">q")
_V0 = Versions(0, 0)

_STATE_EPOCH, _LEADER_EPOCH, _START = "state-epoch", "leader-epoch", "start-offset"
_COMPLETE, _CREATED, _DROPPED = "delivery-complete-count", "created-ms", "dropped"
#: pairs of a stretch's first offset and its due time, for those that have one
_DUE = "due-ms"
_PAIR = Struct(">qq")


class State(Message):
    __slots__ = ("base_offset", "delivery_count", "last_offset", "state")
    NAME = "State"
    VERSIONS = _V0
    FLEXIBLE = NEVER
    FIELDS = (
        Field("base_offset", "int64", versions=_V0, default=0),
        Field("last_offset", "int64", versions=_V0, default=0),
        Field("state", "int8", versions=_V0, default=0),
        Field("delivery_count", "int16", versions=_V0, default=0),
    )

    def __init__(self, *, base_offset: int, last_offset: int, state: int, delivery_count: int) -> None:
        self.base_offset = base_offset
        self.last_offset = last_offset
        self.state = state
        self.delivery_count = delivery_count


class ShareCheckpointValue(Message):
    __slots__ = ("checkpoint_epoch", "end_offset", "group_id", "start_offset", "states")
    NAME = "ShareCheckpointValue"
    VERSIONS = _V0
    FLEXIBLE = NEVER
    FIELDS = (
        Field("group_id", "string", versions=_V0, default=""),
        Field("checkpoint_epoch", "uint16", versions=_V0, default=0),
        Field("start_offset", "int64", versions=_V0, default=0),
        Field("end_offset", "int64", versions=_V0, default=0),
        Field("states", State, array=True, versions=_V0, default=()),
    )

    def __init__(
        self,
        *,
        group_id: str,
        checkpoint_epoch: int,
        start_offset: int,
        end_offset: int,
        states: Sequence[State],
    ) -> None:
        self.group_id = group_id
        self.checkpoint_epoch = checkpoint_epoch
        self.start_offset = start_offset
        self.end_offset = end_offset
        self.states = states


class ShareDeltaValue(Message):
    __slots__ = ("back_offset", "checkpoint_epoch", "group_id", "states")
    NAME = "ShareDeltaValue"
    VERSIONS = _V0
    FLEXIBLE = NEVER
    FIELDS = (
        Field("group_id", "string", versions=_V0, default=""),
        Field("checkpoint_epoch", "uint16", versions=_V0, default=0),
        Field("back_offset", "int64", versions=_V0, default=0),
        Field("states", State, array=True, versions=_V0, default=()),
    )

    def __init__(
        self, *, group_id: str, checkpoint_epoch: int, back_offset: int, states: Sequence[State]
    ) -> None:
        self.group_id = group_id
        self.checkpoint_epoch = checkpoint_epoch
        self.back_offset = back_offset
        self.states = states


@dataclass(frozen=True, slots=True)
class ControlTrail:
    """Where a group's control records are, and how far what they tell reaches."""

    checkpoint_at: int
    #: the newest, which the next one points back to
    last_at: int
    #: the in-flight window ends here
    end: int

    def after(self, fact: ShareSnapshot | ShareUpdate, offset: int) -> ControlTrail:
        """With the fact's record written at ``offset``."""
        reach = fact.batches[-1].end if fact.batches else NO_OFFSET
        if isinstance(fact, ShareSnapshot):
            return ControlTrail(offset, offset, max(fact.start_offset, reach))
        return replace(self, last_at=offset, end=max(self.end, fact.start_offset, reach))


def encode_control_fact(fact: ShareFact, trail: ControlTrail | None, now_ms: int) -> Record:
    """``trail`` is where the group stands before this record; None before its first."""
    match fact:
        case ShareSnapshot():
            return Record(_key(SHARE_CHECKPOINT), _checkpoint(fact), _headers(fact), now_ms)
        case ShareUpdate():
            assert trail is not None, f"an update of {fact.key} without a snapshot before it"
            return Record(_key(SHARE_DELTA), _delta(fact, trail), _headers(fact), now_ms)
        case ShareDropped(key):
            gone = ShareSnapshot(key, 0, 0, 0, NO_OFFSET, NO_COUNT, now_ms, now_ms)
            return Record(_key(SHARE_CHECKPOINT), _checkpoint(gone), ((_DROPPED, None),), now_ms)


def decode_control_fact(record: Record, topic_id: TopicId, partition: int) -> ShareFact | None:
    """What the record says; None if it is a control record of another kind. Raises ``DecodeError``."""
    kind = _kind(record.key)
    if kind not in (SHARE_CHECKPOINT, SHARE_DELTA):
        return None
    if record.value is None or record.value[:2] != _SHORT.pack(_VERSION):
        raise BadValue(f"a share control record of an unknown version at offset {record.offset}")
    known, due_ms = _numbers(record.headers), _due_times(record.headers)
    if kind == SHARE_DELTA:
        delta = decode(ShareDeltaValue, _VERSION, record.value, _SHORT.size)
        return ShareUpdate(
            SharePartitionKey(GroupId(delta.group_id), topic_id, partition),
            _snapshot_epoch(delta.checkpoint_epoch),
            known.get(_LEADER_EPOCH, 0),
            known.get(_START, NO_OFFSET),
            known.get(_COMPLETE, NO_COUNT),
            _batches(delta.states, due_ms),
        )
    checkpoint = decode(ShareCheckpointValue, _VERSION, record.value, _SHORT.size)
    key = SharePartitionKey(GroupId(checkpoint.group_id), topic_id, partition)
    if any(name == _DROPPED for name, _ in record.headers):
        return ShareDropped(key)
    return ShareSnapshot(
        key,
        _snapshot_epoch(checkpoint.checkpoint_epoch),
        known.get(_STATE_EPOCH, 0),
        known.get(_LEADER_EPOCH, 0),
        checkpoint.start_offset,
        known.get(_COMPLETE, NO_COUNT),
        known.get(_CREATED, record.timestamp_ms),
        record.timestamp_ms,
        _batches(checkpoint.states, due_ms),
    )


def _key(kind: int) -> bytes:
    return _KEY.pack(_VERSION, kind)


def _kind(key: bytes | None) -> int:
    try:
        return int(_KEY.unpack_from(key or b"")[1])
    except StructError as short:
        raise Truncated("a control record without a type") from short


def _checkpoint(fact: ShareSnapshot) -> bytes:
    end = max([fact.start_offset, *(batch.end for batch in fact.batches[-1:])])
    value = ShareCheckpointValue(
        group_id=fact.key.group_id,
        checkpoint_epoch=_checkpoint_epoch(fact.snapshot_epoch),
        start_offset=fact.start_offset,
        end_offset=end,
        states=[_state(batch) for batch in _without_holes(fact.batches, fact.start_offset)],
    )
    return _SHORT.pack(_VERSION) + encode(value, _VERSION)


def _delta(fact: ShareUpdate, trail: ControlTrail) -> bytes:
    value = ShareDeltaValue(
        group_id=fact.key.group_id,
        checkpoint_epoch=_checkpoint_epoch(fact.snapshot_epoch),
        back_offset=trail.last_at,
        states=[_state(batch) for batch in _without_holes(fact.batches, trail.end)],
    )
    return _SHORT.pack(_VERSION) + encode(value, _VERSION)


def _without_holes(batches: Iterable[StateBatch], end: int) -> Iterator[StateBatch]:
    """``batches`` with whatever lies between them and ``end``, up to which all is told already."""
    for batch in batches:
        if NO_OFFSET != end < batch.start:
            yield StateBatch(end, batch.start, 0, 0)
        yield batch
        end = max(end, batch.end)


def _state(batch: StateBatch) -> State:
    return State(
        base_offset=batch.start,
        last_offset=batch.end - 1,
        state=batch.state,
        delivery_count=batch.delivery_count,
    )


def _batches(states: Iterable[State], due_ms: Mapping[int, int]) -> tuple[StateBatch, ...]:
    return tuple(
        StateBatch(s.base_offset, s.last_offset + 1, s.state, s.delivery_count, due_ms.get(s.base_offset, 0))
        for s in states
        if (s.state, s.delivery_count) != (0, 0)
    )


def _headers(fact: ShareSnapshot | ShareUpdate) -> tuple[RecordHeader, ...]:
    told = [(_LEADER_EPOCH, fact.leader_epoch, 0), (_COMPLETE, fact.delivery_complete_count, NO_COUNT)]
    if isinstance(fact, ShareSnapshot):
        told += [(_STATE_EPOCH, fact.state_epoch, 0), (_CREATED, fact.created_ms, fact.written_ms)]
    else:
        told.append((_START, fact.start_offset, NO_OFFSET))
    headers = [(name, _LONG.pack(value)) for name, value, default in told if value != default]
    due = b"".join(_PAIR.pack(batch.start, batch.due_ms) for batch in fact.batches if batch.due_ms)
    return (*headers, (_DUE, due)) if due else tuple(headers)


def _numbers(headers: Sequence[RecordHeader]) -> dict[str, int]:
    try:
        return {
            name: int(_LONG.unpack(value)[0]) for name, value in headers if value is not None and name != _DUE
        }
    except StructError as odd:
        raise BadValue("a share control record with a header that is no number") from odd


def _due_times(headers: Sequence[RecordHeader]) -> dict[int, int]:
    """By the first offsets of stretches."""
    try:
        return {
            start: due_ms
            for name, value in headers
            if name == _DUE and value is not None
            for start, due_ms in _PAIR.iter_unpack(value)
        }
    except StructError as odd:
        raise BadValue("a share control record with half a due time") from odd


def _checkpoint_epoch(snapshot_epoch: int) -> int:
    """The KIP counts from 1, in 16 bits."""
    return (snapshot_epoch + 1) % _EPOCHS


def _snapshot_epoch(checkpoint_epoch: int) -> int:
    return (checkpoint_epoch - 1) % _EPOCHS
