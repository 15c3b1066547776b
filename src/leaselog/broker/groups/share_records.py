"""The facts of share groups as records of ``__consumer_offsets``, byte for byte as Apache Kafka 4.3 writes them. Where
it must be known how many partitions a topic had at first, there is a tag more, which Kafka skips.

Keys of types 10 to 15; values are of version 0, no value is a tombstone. Topics are in the order of their ids, where
Kafka's order is whatever its hash tables give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from struct import Struct
from typing import Protocol
from uuid import UUID

from leaselog.broker.coordinators.versioned import read_value
from leaselog.coordination.share_group_facts import (
    Assignment,
    ShareAssignmentStored,
    ShareAssignmentTime,
    ShareCurrent,
    ShareCurrentStored,
    ShareEpoch,
    ShareEpochStored,
    ShareGroupFact,
    ShareMemberAsked,
    ShareMemberStored,
    ShareStates,
    ShareStateStored,
    ShareTargetStored,
    TopicPartitions,
)
from leaselog.model import GroupId, MemberId, TopicId
from leaselog.wire.codec import decode, encode
from leaselog.wire.messages import group_records as wire
from leaselog.wire.records import Record
from leaselog.wire.schema import Message
from leaselog.wire.share_group_extensions import (
    NOT_SAID,
    CountedStatePartitionMetadataValue,
    CountedTopicPartitionsInfo,
)

__all__ = ["SHARE_KEYS", "decode_share_fact", "encode_share_fact"]

_MEMBER, _EPOCH, _ASSIGNMENT, _TARGET, _CURRENT, _STATE = range(10, 16)
#: the key types that are decoded here
SHARE_KEYS = range(_MEMBER, _STATE + 1)

_SHORT = Struct(">h")
_VERSION = 0
#: a share group's member is never anything else
_STABLE = 0


def encode_share_fact(fact: ShareGroupFact, now_ms: int) -> Record:
    kind, key, value = _parts(fact)
    data = None if value is None else _SHORT.pack(_VERSION) + encode(value, _VERSION)
    return Record(_SHORT.pack(kind) + encode(key, 0), data, timestamp_ms=now_ms)


def _parts(fact: ShareGroupFact) -> tuple[int, Message, Message | None]:
    group = fact.group_id
    match fact:
        case ShareMemberStored(_, member, asked):
            key: Message = wire.ShareGroupMemberMetadataKey(group_id=group, member_id=member)
            return _MEMBER, key, None if asked is None else _member(asked)
        case ShareEpochStored(_, epoch):
            return (
                _EPOCH,
                wire.ShareGroupMetadataKey(group_id=group),
                None if epoch is None else _epoch(epoch),
            )
        case ShareAssignmentStored(_, done):
            key = wire.ShareGroupTargetAssignmentMetadataKey(group_id=group)
            return _ASSIGNMENT, key, None if done is None else _assignment(done)
        case ShareTargetStored(_, member, target):
            key = wire.ShareGroupTargetAssignmentMemberKey(group_id=group, member_id=member)
            return _TARGET, key, None if target is None else _target(target)
        case ShareCurrentStored(_, member, current):
            key = wire.ShareGroupCurrentMemberAssignmentKey(group_id=group, member_id=member)
            return _CURRENT, key, None if current is None else _current(current)
        case ShareStateStored(_, states):
            key = wire.ShareGroupStatePartitionMetadataKey(group_id=group)
            return _STATE, key, None if states is None else _states(states)


def _member(asked: ShareMemberAsked) -> Message:
    return wire.ShareGroupMemberMetadataValue(
        rack_id=asked.rack_id,
        client_id=asked.client_id,
        client_host=asked.client_host,
        subscribed_topic_names=asked.topics,
    )


def _epoch(epoch: ShareEpoch) -> Message:
    return wire.ShareGroupMetadataValue(epoch=epoch.epoch, metadata_hash=epoch.metadata_hash)


def _assignment(done: ShareAssignmentTime) -> Message:
    return wire.ShareGroupTargetAssignmentMetadataValue(
        assignment_epoch=done.epoch, assignment_timestamp=done.computed_ms
    )


def _target(target: Assignment) -> Message:
    places = [
        wire.TopicPartition(topic_id=topic, partitions=sorted(partitions))
        for topic, partitions in sorted(target.items())
    ]
    return wire.ShareGroupTargetAssignmentMemberValue(topic_partitions=places)


def _current(current: ShareCurrent) -> Message:
    places = [
        wire.ShareGroupCurrentMemberAssignmentValueTopicPartitions(
            topic_id=topic, partitions=sorted(partitions)
        )
        for topic, partitions in sorted(current.assigned.items())
    ]
    return wire.ShareGroupCurrentMemberAssignmentValue(
        member_epoch=current.epoch,
        previous_member_epoch=current.previous_epoch,
        state=_STABLE,
        assigned_partitions=places,
    )


def _states(states: ShareStates) -> Message:
    return CountedStatePartitionMetadataValue(
        initializing_topics=_infos(states.initializing, states.first_counts),
        initialized_topics=_infos(states.initialized, states.first_counts),
        deleting_topics=[
            wire.TopicInfo(topic_id=topic, topic_name=name) for topic, name in sorted(states.deleting.items())
        ],
    )


def _infos(
    table: Mapping[TopicId, TopicPartitions], first_counts: Mapping[TopicId, int]
) -> list[CountedTopicPartitionsInfo]:
    return [
        CountedTopicPartitionsInfo(
            topic_id=topic,
            topic_name=p.name,
            partitions=sorted(p.partitions),
            first_count=first_counts.get(topic, NOT_SAID),
        )
        for topic, p in sorted(table.items())
    ]


# Back


def decode_share_fact(kind: int, key: bytes, value: bytes | None) -> ShareGroupFact:
    """What a record with a key of one of ``SHARE_KEYS`` says. Raises ``DecodeError`` if it is malformed."""
    return _DECODERS[kind](key, value)


def _read_member(key: bytes, value: bytes | None) -> ShareMemberStored:
    named = decode(wire.ShareGroupMemberMetadataKey, 0, key, _SHORT.size)
    asked = None
    if value is not None:
        body = read_value(wire.ShareGroupMemberMetadataValue, value)
        topics = tuple(sorted(set(body.subscribed_topic_names)))
        asked = ShareMemberAsked(body.rack_id, body.client_id, body.client_host, topics)
    return ShareMemberStored(GroupId(named.group_id), MemberId(named.member_id), asked)


def _read_epoch(key: bytes, value: bytes | None) -> ShareEpochStored:
    named = decode(wire.ShareGroupMetadataKey, 0, key, _SHORT.size)
    epoch = None
    if value is not None:
        body = read_value(wire.ShareGroupMetadataValue, value)
        epoch = ShareEpoch(body.epoch, body.metadata_hash)
    return ShareEpochStored(GroupId(named.group_id), epoch)


def _read_assignment(key: bytes, value: bytes | None) -> ShareAssignmentStored:
    named = decode(wire.ShareGroupTargetAssignmentMetadataKey, 0, key, _SHORT.size)
    done = None
    if value is not None:
        body = read_value(wire.ShareGroupTargetAssignmentMetadataValue, value)
        done = ShareAssignmentTime(body.assignment_epoch, body.assignment_timestamp)
    return ShareAssignmentStored(GroupId(named.group_id), done)


def _read_target(key: bytes, value: bytes | None) -> ShareTargetStored:
    named = decode(wire.ShareGroupTargetAssignmentMemberKey, 0, key, _SHORT.size)
    target = None
    if value is not None:
        target = _places(read_value(wire.ShareGroupTargetAssignmentMemberValue, value).topic_partitions)
    return ShareTargetStored(GroupId(named.group_id), MemberId(named.member_id), target)


def _read_current(key: bytes, value: bytes | None) -> ShareCurrentStored:
    named = decode(wire.ShareGroupCurrentMemberAssignmentKey, 0, key, _SHORT.size)
    current = None
    if value is not None:
        body = read_value(wire.ShareGroupCurrentMemberAssignmentValue, value)
        assigned = _places(body.assigned_partitions)
        current = ShareCurrent(body.member_epoch, body.previous_member_epoch, assigned)
    return ShareCurrentStored(GroupId(named.group_id), MemberId(named.member_id), current)


def _read_state(key: bytes, value: bytes | None) -> ShareStateStored:
    named = decode(wire.ShareGroupStatePartitionMetadataKey, 0, key, _SHORT.size)
    states = None
    if value is not None:
        body = read_value(CountedStatePartitionMetadataValue, value)
        topics = (*body.initializing_topics, *body.initialized_topics)
        states = ShareStates(
            _named_places(body.initializing_topics),
            _named_places(body.initialized_topics),
            {TopicId(topic.topic_id): topic.topic_name for topic in body.deleting_topics},
            {TopicId(topic.topic_id): topic.first_count for topic in topics if topic.first_count >= 0},
        )
    return ShareStateStored(GroupId(named.group_id), states)


class _Places(Protocol):
    topic_id: UUID

    @property
    def partitions(self) -> Iterable[int]: ...


def _places(topics: Iterable[_Places]) -> Assignment:
    return {TopicId(topic.topic_id): frozenset(topic.partitions) for topic in topics}


def _named_places(topics: Iterable[CountedTopicPartitionsInfo]) -> dict[TopicId, TopicPartitions]:
    return {TopicId(t.topic_id): TopicPartitions(t.topic_name, frozenset(t.partitions)) for t in topics}


_DECODERS: dict[int, Callable[[bytes, bytes | None], ShareGroupFact]] = {
    _MEMBER: _read_member,
    _EPOCH: _read_epoch,
    _ASSIGNMENT: _read_assignment,
    _TARGET: _read_target,
    _CURRENT: _read_current,
    _STATE: _read_state,
}
