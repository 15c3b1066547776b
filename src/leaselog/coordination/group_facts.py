"""What a group shard writes down: the only things that change its durable state, and what they hold.

One fact is one record of ``__consumer_offsets``; ``broker.groups.records`` knows the bytes. A fact says all there
is to say about its key, so the last fact of a key is the state of that key: the topic may be compacted.
"""

from __future__ import annotations

from dataclasses import dataclass

from leaselog.coordination.consumer_group_facts import ConsumerGroupFact
from leaselog.coordination.share_group_facts import ShareGroupFact
from leaselog.model import ZERO_UUID, GroupId, MemberId, ProducerId, TopicId, TopicPartition

__all__ = [
    "CommittedOffset",
    "NO_TOPIC_ID",
    "TransactionalOffset",
    "TransactionalOffsetsEnded",
    "GroupDropped",
    "GroupFact",
    "GroupMetadata",
    "GroupStored",
    "OffsetCommitted",
    "OffsetDropped",
    "Protocol",
    "StoredMember",
]

#: an offset that was committed by topic name alone
NO_TOPIC_ID = TopicId(ZERO_UUID)


@dataclass(frozen=True, slots=True)
class Protocol:
    """A way to assign that a member knows, with what it has to say about it."""

    name: str
    metadata: bytes = b""
    #: the topics named in the metadata of a consumer; None if they cannot be read or it is no consumer
    topics: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class StoredMember:
    member_id: MemberId
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    #: of the group's protocol alone
    subscription: Protocol
    assignment: bytes


@dataclass(frozen=True, slots=True)
class GroupMetadata:
    """A classic group as it stood when it last became stable or empty."""

    #: "" for a group that nobody has joined yet
    protocol_type: str = ""
    generation: int = 0
    protocol: str | None = None
    leader: MemberId | None = None
    #: when the group entered this state; -1 in records that old brokers wrote
    since_ms: int = -1
    members: tuple[StoredMember, ...] = ()


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_ms: int = 0
    #: only from clients older than OffsetCommit v5; -1 leaves it to the retention
    expire_ms: int = -1
    topic_id: TopicId = NO_TOPIC_ID


@dataclass(frozen=True, slots=True)
class GroupStored:
    group_id: GroupId
    metadata: GroupMetadata


@dataclass(frozen=True, slots=True)
class GroupDropped:
    group_id: GroupId


@dataclass(frozen=True, slots=True)
class OffsetCommitted:
    group_id: GroupId
    partition: TopicPartition
    committed: CommittedOffset


@dataclass(frozen=True, slots=True)
class OffsetDropped:
    group_id: GroupId
    partition: TopicPartition


@dataclass(frozen=True, slots=True)
class TransactionalOffset:
    """The record of ``OffsetCommitted`` in a batch of a transaction: it counts once that is committed."""

    group_id: GroupId
    partition: TopicPartition
    committed: CommittedOffset
    producer_id: ProducerId
    producer_epoch: int


@dataclass(frozen=True, slots=True)
class TransactionalOffsetsEnded:
    """The marker of a transaction, in this partition."""

    producer_id: ProducerId
    is_commit: bool


GroupFact = (
    GroupStored
    | GroupDropped
    | OffsetCommitted
    | OffsetDropped
    | TransactionalOffset
    | TransactionalOffsetsEnded
    | ConsumerGroupFact
    | ShareGroupFact
)
