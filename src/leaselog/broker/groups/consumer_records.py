"""The facts of consumer groups as records of ``__consumer_offsets``, byte for byte as Apache Kafka 4.4 writes them.

Keys of types 3 to 8 and 16; values are of version 0, no value is a tombstone. Type 4, the partitions of the topics, is
from before 4.1 and passed over. Topics are in the order of their ids, where Kafka's order is whatever its hash tables
give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from struct import Struct

from leaselog.broker.coordinators.versioned import read_value
from leaselog.coordination.consumer_group_facts import (
    Assigned,
    ConsumerAssignmentStored,
    ConsumerAssignmentTime,
    ConsumerCurrent,
    ConsumerCurrentStored,
    ConsumerEpoch,
    ConsumerEpochStored,
    ConsumerGroupFact,
    ConsumerMemberAsked,
    ConsumerMemberStored,
    ConsumerPatternStored,
    ConsumerTargetStored,
    MatchedTopics,
    Standing,
)
from leaselog.model import GroupId, MemberId, TopicId
from leaselog.wire.codec import decode, encode
from leaselog.wire.messages import group_records as wire
from leaselog.wire.records import Record
from leaselog.wire.schema import Message

__all__ = ["CONSUMER_KEYS", "decode_consumer_fact", "encode_consumer_fact"]

_EPOCH, _MEMBER, _ASSIGNMENT, _TARGET, _CURRENT, _PATTERN = 3, 5, 6, 7, 8, 16
#: the key types that are decoded here
CONSUMER_KEYS = frozenset({_EPOCH, _MEMBER, _ASSIGNMENT, _TARGET, _CURRENT, _PATTERN})

_SHORT = Struct(">h")
_VERSION = 0


def encode_consumer_fact(fact: ConsumerGroupFact, now_ms: int) -> Record:
    kind, key, value = _parts(fact)
    data = None if value is None else _SHORT.pack(_VERSION) + encode(value, _VERSION)
    return Record(_SHORT.pack(kind) + encode(key, 0), data, timestamp_ms=now_ms)


def _parts(fact: ConsumerGroupFact) -> tuple[int, Message, Message | None]:
    group = fact.group_id
    key: Message
    match fact:
        case ConsumerMemberStored(_, member, asked):
            key = wire.ConsumerGroupMemberMetadataKey(group_id=group, member_id=member)
            return _MEMBER, key, None if asked is None else _member(asked)
        case ConsumerEpochStored(_, epoch):
            key = wire.ConsumerGroupMetadataKey(group_id=group)
            return _EPOCH, key, None if epoch is None else _epoch(epoch)
        case ConsumerAssignmentStored(_, done):
            key = wire.ConsumerGroupTargetAssignmentMetadataKey(group_id=group)
            return _ASSIGNMENT, key, None if done is None else _assignment(done)
        case ConsumerTargetStored(_, member, target):
            key = wire.ConsumerGroupTargetAssignmentMemberKey(group_id=group, member_id=member)
            return _TARGET, key, None if target is None else _target(target)
        case ConsumerCurrentStored(_, member, current):
            key = wire.ConsumerGroupCurrentMemberAssignmentKey(group_id=group, member_id=member)
            return _CURRENT, key, None if current is None else _current(current)
        case ConsumerPatternStored(_, pattern, matched):
            key = wire.ConsumerGroupRegularExpressionKey(group_id=group, regular_expression=pattern)
            return _PATTERN, key, None if matched is None else _matched(matched)


def _member(asked: ConsumerMemberAsked) -> Message:
    return wire.ConsumerGroupMemberMetadataValue(
        instance_id=asked.instance_id,
        rack_id=asked.rack_id,
        client_id=asked.client_id,
        client_host=asked.client_host,
        subscribed_topic_names=asked.topics,
        subscribed_topic_regex=asked.pattern,
        rebalance_timeout_ms=asked.rebalance_timeout_ms,
        server_assignor=asked.assignor,
    )


def _epoch(epoch: ConsumerEpoch) -> Message:
    return wire.ConsumerGroupMetadataValue(epoch=epoch.epoch, metadata_hash=epoch.metadata_hash)


def _assignment(done: ConsumerAssignmentTime) -> Message:
    return wire.ConsumerGroupTargetAssignmentMetadataValue(
        assignment_epoch=done.epoch, assignment_timestamp=done.computed_ms
    )


def _target(target: Mapping[TopicId, Iterable[int]]) -> Message:
    places = [
        wire.TopicPartition(topic_id=topic, partitions=sorted(target[topic])) for topic in sorted(target)
    ]
    return wire.ConsumerGroupTargetAssignmentMemberValue(topic_partitions=places)


def _current(current: ConsumerCurrent) -> Message:
    return wire.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=current.epoch,
        previous_member_epoch=current.previous_epoch,
        state=current.standing,
        assigned_partitions=_with_epochs(current.assigned),
        partitions_pending_revocation=_with_epochs(current.revoking),
    )


def _with_epochs(assigned: Assigned) -> list[wire.TopicPartitions]:
    return [
        wire.TopicPartitions(
            topic_id=topic,
            partitions=sorted(assigned[topic]),
            assignment_epochs=[assigned[topic][i] for i in sorted(assigned[topic])],
        )
        for topic in sorted(assigned)
    ]


def _matched(matched: MatchedTopics) -> Message:
    return wire.ConsumerGroupRegularExpressionValue(
        topics=sorted(matched.topics), version=matched.version, timestamp=matched.at_ms
    )


# Back


def decode_consumer_fact(kind: int, key: bytes, value: bytes | None) -> ConsumerGroupFact:
    """What a record with a key of one of ``CONSUMER_KEYS`` says. Raises ``DecodeError`` if it is malformed."""
    return _DECODERS[kind](key, value)


def _read_member(key: bytes, value: bytes | None) -> ConsumerMemberStored:
    named = decode(wire.ConsumerGroupMemberMetadataKey, 0, key, _SHORT.size)
    asked = None
    if value is not None:
        body = read_value(wire.ConsumerGroupMemberMetadataValue, value)
        asked = ConsumerMemberAsked(
            body.instance_id,
            body.rack_id,
            body.client_id,
            body.client_host,
            tuple(sorted(set(body.subscribed_topic_names))),
            body.subscribed_topic_regex or "",
            body.rebalance_timeout_ms,
            body.server_assignor,
        )
    return ConsumerMemberStored(GroupId(named.group_id), MemberId(named.member_id), asked)


def _read_epoch(key: bytes, value: bytes | None) -> ConsumerEpochStored:
    named = decode(wire.ConsumerGroupMetadataKey, 0, key, _SHORT.size)
    epoch = None
    if value is not None:
        body = read_value(wire.ConsumerGroupMetadataValue, value)
        epoch = ConsumerEpoch(body.epoch, body.metadata_hash)
    return ConsumerEpochStored(GroupId(named.group_id), epoch)


def _read_assignment(key: bytes, value: bytes | None) -> ConsumerAssignmentStored:
    named = decode(wire.ConsumerGroupTargetAssignmentMetadataKey, 0, key, _SHORT.size)
    done = None
    if value is not None:
        body = read_value(wire.ConsumerGroupTargetAssignmentMetadataValue, value)
        done = ConsumerAssignmentTime(body.assignment_epoch, body.assignment_timestamp)
    return ConsumerAssignmentStored(GroupId(named.group_id), done)


def _read_target(key: bytes, value: bytes | None) -> ConsumerTargetStored:
    named = decode(wire.ConsumerGroupTargetAssignmentMemberKey, 0, key, _SHORT.size)
    target = None
    if value is not None:
        body = read_value(wire.ConsumerGroupTargetAssignmentMemberValue, value)
        target = {TopicId(t.topic_id): frozenset(t.partitions) for t in body.topic_partitions if t.partitions}
    return ConsumerTargetStored(GroupId(named.group_id), MemberId(named.member_id), target)


def _read_current(key: bytes, value: bytes | None) -> ConsumerCurrentStored:
    named = decode(wire.ConsumerGroupCurrentMemberAssignmentKey, 0, key, _SHORT.size)
    current = None
    if value is not None:
        body = read_value(wire.ConsumerGroupCurrentMemberAssignmentValue, value)
        try:
            standing = Standing(body.state)
        except ValueError:
            standing = Standing.STABLE  # a state to come: the next heartbeat sorts it out
        current = ConsumerCurrent(
            body.member_epoch,
            body.previous_member_epoch,
            standing,
            _places(body.assigned_partitions, body.member_epoch),
            _places(body.partitions_pending_revocation, body.member_epoch),
        )
    return ConsumerCurrentStored(GroupId(named.group_id), MemberId(named.member_id), current)


def _places(topics: Iterable[wire.TopicPartitions], epoch: int) -> Assigned:
    """Brokers before 4.3 do not say since when: since the member's epoch then."""
    found: dict[TopicId, dict[int, int]] = {}
    for topic in topics:
        epochs = topic.assignment_epochs or ()
        if len(epochs) != len(topic.partitions):
            epochs = [epoch] * len(topic.partitions)
        if topic.partitions:
            found[TopicId(topic.topic_id)] = dict(sorted(zip(topic.partitions, epochs, strict=True)))
    return found


def _read_pattern(key: bytes, value: bytes | None) -> ConsumerPatternStored:
    named = decode(wire.ConsumerGroupRegularExpressionKey, 0, key, _SHORT.size)
    matched = None
    if value is not None:
        body = read_value(wire.ConsumerGroupRegularExpressionValue, value)
        matched = MatchedTopics(frozenset(body.topics), body.version, body.timestamp)
    return ConsumerPatternStored(GroupId(named.group_id), named.regular_expression, matched)


_DECODERS: dict[int, Callable[[bytes, bytes | None], ConsumerGroupFact]] = {
    _EPOCH: _read_epoch,
    _MEMBER: _read_member,
    _ASSIGNMENT: _read_assignment,
    _TARGET: _read_target,
    _CURRENT: _read_current,
    _PATTERN: _read_pattern,
}
