"""The facts of a group shard as records of ``__consumer_offsets``, byte for byte as Apache Kafka 4 writes them.

A key is its type (1 offset, 2 group) and its body; a value is its version and its body; no value is a tombstone.
Offsets are written in version 4, or 1 if they expire on their own, which later versions cannot say; groups in
version 3. Every version is read. Records of consumer groups are in ``consumer_records``, those of share groups in
``share_records``; keys of types unknown to all belong to groups of kinds that are not here yet, and are passed over.
"""

from __future__ import annotations

from struct import Struct

from leaselog.broker.coordinators.versioned import read_prefix
from leaselog.broker.groups.consumer_records import (
    CONSUMER_KEYS,
    decode_consumer_fact,
    encode_consumer_fact,
)
from leaselog.broker.groups.share_records import SHARE_KEYS, decode_share_fact, encode_share_fact
from leaselog.coordination.classic_group import CONSUMER_PROTOCOL_TYPE
from leaselog.coordination.consumer_group_facts import ConsumerGroupFact
from leaselog.coordination.group_facts import (
    CommittedOffset,
    GroupDropped,
    GroupFact,
    GroupMetadata,
    GroupStored,
    OffsetCommitted,
    OffsetDropped,
    Protocol,
    StoredMember,
    TransactionalOffset,
    TransactionalOffsetsEnded,
)
from leaselog.model import GroupId, MemberId, TopicId, TopicPartition
from leaselog.wire.codec import decode, decode_prefix, encode
from leaselog.wire.errors import BadValue, DecodeError, EncodeError
from leaselog.wire.messages.client_data import ConsumerProtocolSubscription
from leaselog.wire.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from leaselog.wire.records import Record

__all__ = ["decode_fact", "encode_fact", "protocol"]

_OFFSET_KEY, _GROUP_KEY = 1, 2
_OFFSET_VERSION, _EXPIRING_OFFSET_VERSION, _GROUP_VERSION = 4, 1, 3
_SHORT = Struct(">h")
#: the newest layout of a consumer's subscription that we know; newer ones begin the same
_NEWEST_SUBSCRIPTION = ConsumerProtocolSubscription.VERSIONS.last


def protocol(protocol_type: str, name: str, metadata: bytes) -> Protocol:
    """A member's protocol with the topics its metadata names, where a consumer wrote it and it can be read."""
    topics = _subscribed_topics(metadata) if protocol_type == CONSUMER_PROTOCOL_TYPE else None
    return Protocol(name, metadata, topics)


def _subscribed_topics(metadata: bytes) -> frozenset[str] | None:
    try:
        version = read_prefix(metadata)
        if version < 0:
            return None
        known = min(version, _NEWEST_SUBSCRIPTION)
        subscription, _ = decode_prefix(ConsumerProtocolSubscription, known, metadata, _SHORT.size)
    except DecodeError:
        return None
    return frozenset(subscription.topics)


def encode_fact(fact: GroupFact, now_ms: int) -> Record:
    match fact:
        case GroupStored(group_id, metadata):
            key = _key(_GROUP_KEY, GroupMetadataKey(group=group_id))
            return Record(key, _group_value(metadata), timestamp_ms=now_ms)
        case GroupDropped(group_id):
            return Record(_key(_GROUP_KEY, GroupMetadataKey(group=group_id)), None, timestamp_ms=now_ms)
        case OffsetCommitted(group_id, partition, committed) | TransactionalOffset(
            group_id, partition, committed
        ):
            return Record(_offset_key(group_id, partition), _offset_value(committed), timestamp_ms=now_ms)
        case OffsetDropped(group_id, partition):
            return Record(_offset_key(group_id, partition), None, timestamp_ms=now_ms)
        case TransactionalOffsetsEnded():
            raise EncodeError("a marker is a batch of its own")
        case _ if isinstance(fact, ConsumerGroupFact):
            return encode_consumer_fact(fact, now_ms)
        case _:
            return encode_share_fact(fact, now_ms)


def decode_fact(record: Record) -> GroupFact | None:
    """What the record says; None if it is of a type unknown here. Raises ``DecodeError`` if it is malformed."""
    if record.key is None:
        raise BadValue(f"a record without a key at offset {record.offset}")
    match read_prefix(record.key):
        case 0 | 1:
            return _offset_fact(record.key, record.value)
        case 2:
            return _group_fact(record.key, record.value)
        case kind if kind in CONSUMER_KEYS:
            return decode_consumer_fact(kind, record.key, record.value)
        case kind if kind in SHARE_KEYS:
            return decode_share_fact(kind, record.key, record.value)
        case _:
            return None


def _key(kind: int, body: OffsetCommitKey | GroupMetadataKey) -> bytes:
    return _SHORT.pack(kind) + encode(body, 0)


def _offset_key(group_id: GroupId, partition: TopicPartition) -> bytes:
    body = OffsetCommitKey(group=group_id, topic=partition.topic, partition=partition.partition)
    return _key(_OFFSET_KEY, body)


def _offset_value(committed: CommittedOffset) -> bytes:
    version = _OFFSET_VERSION if committed.expire_ms < 0 else _EXPIRING_OFFSET_VERSION
    body = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_ms,
        expire_timestamp=committed.expire_ms,
        topic_id=committed.topic_id,
    )
    return _SHORT.pack(version) + encode(body, version)


def _offset_fact(key: bytes, value: bytes | None) -> OffsetCommitted | OffsetDropped:
    named = decode(OffsetCommitKey, 0, key, _SHORT.size)
    group_id, partition = GroupId(named.group), TopicPartition(named.topic, named.partition)
    if value is None:
        return OffsetDropped(group_id, partition)
    body = decode(OffsetCommitValue, _known(value, OffsetCommitValue), value, _SHORT.size)
    committed = CommittedOffset(
        body.offset,
        body.leader_epoch,
        body.metadata,
        body.commit_timestamp,
        body.expire_timestamp,
        TopicId(body.topic_id),
    )
    return OffsetCommitted(group_id, partition, committed)


def _known(value: bytes, kind: type[OffsetCommitValue] | type[GroupMetadataValue]) -> int:
    version = read_prefix(value)
    if version not in kind.VERSIONS:
        raise BadValue(f"{kind.NAME} version {version}, known are up to {kind.VERSIONS.last}")
    return version


def _group_value(metadata: GroupMetadata) -> bytes:
    body = GroupMetadataValue(
        protocol_type=metadata.protocol_type,
        generation=metadata.generation,
        protocol=metadata.protocol,
        leader=metadata.leader,
        current_state_timestamp=metadata.since_ms,
        members=[_member_value(member) for member in metadata.members],
    )
    return _SHORT.pack(_GROUP_VERSION) + encode(body, _GROUP_VERSION)


def _member_value(member: StoredMember) -> MemberMetadata:
    return MemberMetadata(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout=member.rebalance_timeout_ms,
        session_timeout=member.session_timeout_ms,
        subscription=member.subscription.metadata,
        assignment=member.assignment,
    )


def _group_fact(key: bytes, value: bytes | None) -> GroupStored | GroupDropped:
    group_id = GroupId(decode(GroupMetadataKey, 0, key, _SHORT.size).group)
    if value is None:
        return GroupDropped(group_id)
    body = decode(GroupMetadataValue, _known(value, GroupMetadataValue), value, _SHORT.size)
    members = tuple(_stored_member(member, body) for member in body.members)
    leader = None if body.leader is None else MemberId(body.leader)
    metadata = GroupMetadata(
        body.protocol_type, body.generation, body.protocol, leader, body.current_state_timestamp, members
    )
    return GroupStored(group_id, metadata)


def _stored_member(member: MemberMetadata, group: GroupMetadataValue) -> StoredMember:
    patience_ms = member.session_timeout if member.rebalance_timeout < 0 else member.rebalance_timeout
    return StoredMember(
        MemberId(member.member_id),
        member.group_instance_id,
        member.client_id,
        member.client_host,
        patience_ms,
        member.session_timeout,
        protocol(group.protocol_type, group.protocol or "", bytes(member.subscription)),
        bytes(member.assignment),
    )
