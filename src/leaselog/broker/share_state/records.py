"""The facts of a share-state shard as records of ``__share_group_state``, byte for byte as Apache Kafka 4 writes them.
Where records wait for their next delivery, there is a tag more, which Kafka skips.

A key is its type (0 snapshot, 1 update) and its body; a value is its version and its body. A tombstone always has the
key of a snapshot, whatever was written last. Kafka's stretches of offsets name their last offset, ours end behind it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from struct import Struct
from struct import error as StructError  # noqa: N812 - struct spells it like a module

from leaselog.broker.coordinators.versioned import read_prefix
from leaselog.coordination.share_state_batches import StateBatch
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
from leaselog.wire.errors import BadValue
from leaselog.wire.messages import share_records as kafka
from leaselog.wire.records import Record
from leaselog.wire.share_state_extensions import (
    AT_ONCE,
    RecordedWaitingStateBatch,
    WaitingSnapshotValue,
    WaitingUpdateValue,
)

__all__ = ["decode_share_fact", "encode_share_fact"]

_SNAPSHOT_KEY, _UPDATE_KEY = 0, 1
_VERSION = 0
_SHORT = Struct(">h")
_INT = Struct(">i")
_VERSION_BYTES = _SHORT.pack(_VERSION)
#: the value of an update of one stretch that does not wait, with a count: version | snapshot and leader epoch, start |
#: stretches, plus 1 | first and last offset, state, deliveries, no tags | one tag: the count's, its size, the count
_ONE_STRETCH = Struct(">h iiq B qqbhB BBBi")
#: keys are written again and again
_KEYS_REMEMBERED = 8192
#: and read one after the other, those of one group and topic
_NAMES_REMEMBERED = 1024


def encode_share_fact(fact: ShareFact, now_ms: int) -> Record:
    match fact:
        case ShareUpdate():
            value = _one_stretch(fact) or _VERSION_BYTES + encode(_update_value(fact), _VERSION)
            return Record(_key_bytes(_UPDATE_KEY, fact.key), value, (), now_ms)
        case ShareSnapshot(key):
            value = _VERSION_BYTES + encode(_snapshot_value(fact), _VERSION)
            return Record(_key_bytes(_SNAPSHOT_KEY, key), value, timestamp_ms=now_ms)
        case ShareDropped(key):
            return Record(_key_bytes(_SNAPSHOT_KEY, key), None, timestamp_ms=now_ms)


def decode_share_fact(record: Record) -> ShareFact | None:
    """What the record says; None if it is of a type unknown here. Raises ``DecodeError`` if it is malformed."""
    if record.key is None:
        raise BadValue(f"a record without a key at offset {record.offset}")
    kind = read_prefix(record.key)
    if kind not in (_SNAPSHOT_KEY, _UPDATE_KEY):
        return None
    key = _decode_key(record.key)
    if record.value is None:
        return ShareDropped(key)
    version = read_prefix(record.value)
    if version != _VERSION:
        raise BadValue(f"share state version {version}, known is {_VERSION}")
    if kind == _SNAPSHOT_KEY:
        return _snapshot(key, decode(WaitingSnapshotValue, _VERSION, record.value, _SHORT.size))
    return _update(key, decode(WaitingUpdateValue, _VERSION, record.value, _SHORT.size))


@lru_cache(_KEYS_REMEMBERED)
def _key_bytes(kind: int, key: SharePartitionKey) -> bytes:
    body = kafka.ShareSnapshotKey(group_id=key.group_id, topic_id=key.topic_id, partition=key.partition)
    return _SHORT.pack(kind) + encode(body, 0)  # an update's is the same


def _decode_key(data: bytes) -> SharePartitionKey:
    """A group has very many keys with one beginning: the partition's number comes last, in as many bytes."""
    group_id, topic_id = _decode_names(data[: -_INT.size])
    return SharePartitionKey(group_id, topic_id, _INT.unpack_from(data, len(data) - _INT.size)[0])


@lru_cache(_NAMES_REMEMBERED)
def _decode_names(beginning: bytes) -> tuple[GroupId, TopicId]:
    body = decode(kafka.ShareSnapshotKey, 0, beginning + bytes(_INT.size), _SHORT.size)
    return GroupId(body.group_id), TopicId(body.topic_id)


def _snapshot_value(fact: ShareSnapshot) -> WaitingSnapshotValue:
    return WaitingSnapshotValue(
        snapshot_epoch=fact.snapshot_epoch,
        state_epoch=fact.state_epoch,
        leader_epoch=fact.leader_epoch,
        start_offset=fact.start_offset,
        delivery_complete_count=fact.delivery_complete_count,
        create_timestamp=fact.created_ms,
        write_timestamp=fact.written_ms,
        state_batches=_batch_values(fact.batches),
    )


def _update_value(fact: ShareUpdate) -> WaitingUpdateValue:
    return WaitingUpdateValue(
        snapshot_epoch=fact.snapshot_epoch,
        leader_epoch=fact.leader_epoch,
        start_offset=fact.start_offset,
        delivery_complete_count=fact.delivery_complete_count,
        state_batches=_batch_values(fact.batches),
    )


def _one_stretch(fact: ShareUpdate) -> bytes | None:
    """What the codec makes of nearly every update there is, in one go; None if this is another one."""
    if len(fact.batches) != 1 or fact.delivery_complete_count == NO_COUNT:
        return None
    ((start, end, state, deliveries, due_ms),) = fact.batches
    if due_ms != AT_ONCE:
        return None
    try:
        return _ONE_STRETCH.pack(
            _VERSION, fact.snapshot_epoch, fact.leader_epoch, fact.start_offset, 2, start, end - 1, state, deliveries,
            0, 1, 0, 4, fact.delivery_complete_count,
        )  # fmt: skip
    except StructError:
        return None  # the codec says what does not fit


def _batch_values(batches: Iterable[StateBatch]) -> list[RecordedWaitingStateBatch]:
    return [
        RecordedWaitingStateBatch(
            first_offset=start, last_offset=end - 1, delivery_state=state, delivery_count=count, due_ms=due_ms
        )
        for start, end, state, count, due_ms in batches
    ]


def _snapshot(key: SharePartitionKey, value: WaitingSnapshotValue) -> ShareSnapshot:
    return ShareSnapshot(
        key,
        value.snapshot_epoch,
        value.state_epoch,
        value.leader_epoch,
        value.start_offset,
        value.delivery_complete_count,
        value.create_timestamp,
        value.write_timestamp,
        _batches(value.state_batches),
    )


def _update(key: SharePartitionKey, value: WaitingUpdateValue) -> ShareUpdate:
    return ShareUpdate(
        key,
        value.snapshot_epoch,
        value.leader_epoch,
        value.start_offset,
        value.delivery_complete_count,
        _batches(value.state_batches),
    )


def _batches(values: Iterable[RecordedWaitingStateBatch]) -> tuple[StateBatch, ...]:
    return tuple(
        StateBatch(b.first_offset, b.last_offset + 1, b.delivery_state, b.delivery_count, b.due_ms)
        for b in values
    )
