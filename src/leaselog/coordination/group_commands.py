"""What may be asked of a group shard, and what it answers. Values only.

They are tuples: a frozen dataclass takes six times as long to define, which a broker's start would wait for, and three
times as long to make.

Every command carries a token that the asker made up; its answer is a ``Reply`` with that token, now or, for a
parked join or sync, as part of what a later command or deadline sets off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from leaselog.coordination.consumer_group_commands import ConsumerGroupAnswer, ConsumerGroupCommand
from leaselog.coordination.group_facts import CommittedOffset, Protocol
from leaselog.coordination.group_token import Token
from leaselog.coordination.share_group_commands import ShareGroupAnswer, ShareGroupCommand
from leaselog.model import ErrorCode, GroupId, MemberId, ProducerId, Refused, TopicId, TopicPartition

__all__ = [
    "NO_MEMBER",
    "Answer",
    "CommitOffsets",
    "DeleteGroup",
    "DeleteOffsets",
    "DescribeGroup",
    "DescribedGroup",
    "DescribedMember",
    "Done",
    "DropTopics",
    "FetchOffsets",
    "FetchedOffsets",
    "GroupCommand",
    "GroupListing",
    "Heartbeat",
    "JoinAnswer",
    "JoinGroup",
    "JoinedMember",
    "LeaveAnswer",
    "LeaveGroup",
    "Leaver",
    "ListGroups",
    "ListedGroup",
    "OffsetToCommit",
    "PartitionCodes",
    "Reply",
    "SyncAnswer",
    "SyncGroup",
    "Token",
]

#: how a member that has no id yet names itself
NO_MEMBER = MemberId("")


class JoinGroup(NamedTuple):
    token: Token
    group_id: GroupId
    member_id: MemberId
    #: the id this member gets if it has none; the asker draws it, this room knows no chance
    fresh_member_id: MemberId
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: tuple[Protocol, ...]
    #: a member without an id must come back with the one it is given (KIP-394, JoinGroup v4)
    member_id_required: bool = True
    #: a returning static leader can be told to leave the assignment as it is (KIP-814, JoinGroup v9)
    may_skip_assignment: bool = True


class SyncGroup(NamedTuple):
    token: Token
    group_id: GroupId
    member_id: MemberId
    instance_id: str | None
    generation: int
    protocol_type: str | None
    protocol: str | None
    assignments: dict[MemberId, bytes]


class Heartbeat(NamedTuple):
    token: Token
    group_id: GroupId
    member_id: MemberId
    instance_id: str | None
    generation: int


class Leaver(NamedTuple):
    member_id: MemberId
    instance_id: str | None = None


class LeaveGroup(NamedTuple):
    token: Token
    group_id: GroupId
    members: tuple[Leaver, ...]


class OffsetToCommit(NamedTuple):
    partition: TopicPartition
    offset: int
    leader_epoch: int
    metadata: str
    topic_id: TopicId


class CommitOffsets(NamedTuple):
    token: Token
    group_id: GroupId
    member_id: MemberId
    instance_id: str | None
    #: negative from a consumer that uses no group management
    generation: int
    offsets: tuple[OffsetToCommit, ...]
    #: -1 for the broker's retention
    retention_ms: int = -1
    #: what an unknown group with a generation is called: GROUP_ID_NOT_FOUND since OffsetCommit v9
    knows_group_id_not_found: bool = True
    #: in whose transaction; None for a commit that counts at once
    producer: tuple[ProducerId, int] | None = None


class FetchOffsets(NamedTuple):
    token: Token
    group_id: GroupId
    #: None for all that the group has
    partitions: tuple[tuple[TopicPartition, TopicId], ...] | None
    #: an open transaction that has an offset of a partition makes it unstable (KIP-447)
    require_stable: bool = False
    #: of a consumer group's member, which is to be one still; None for whoever else
    member_id: MemberId | None = None
    member_epoch: int = -1


class DeleteOffsets(NamedTuple):
    token: Token
    group_id: GroupId
    partitions: tuple[TopicPartition, ...]


class DeleteGroup(NamedTuple):
    token: Token
    group_id: GroupId


class DescribeGroup(NamedTuple):
    token: Token
    group_id: GroupId


class ListGroups(NamedTuple):
    token: Token
    #: lower case; empty for all
    states: frozenset[str]
    types: frozenset[str]


class DropTopics(NamedTuple):
    """These topics are gone, and with them every offset committed to them."""

    token: Token
    topics: frozenset[str]


GroupCommand = (
    JoinGroup
    | SyncGroup
    | Heartbeat
    | LeaveGroup
    | CommitOffsets
    | FetchOffsets
    | DeleteOffsets
    | DeleteGroup
    | DescribeGroup
    | ListGroups
    | DropTopics
    | ConsumerGroupCommand
    | ShareGroupCommand
)


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing to say but that it worked."""


class JoinedMember(NamedTuple):
    member_id: MemberId
    instance_id: str | None
    metadata: bytes


class JoinAnswer(NamedTuple):
    """Also the refusals of a join: most of them must name a member."""

    member_id: MemberId
    code: ErrorCode = ErrorCode.NONE
    generation: int = -1
    protocol_type: str | None = None
    protocol: str | None = None
    leader: MemberId = NO_MEMBER
    skip_assignment: bool = False
    #: everybody, for the leader; else nobody
    members: tuple[JoinedMember, ...] = ()


class SyncAnswer(NamedTuple):
    protocol_type: str | None
    protocol: str | None
    assignment: bytes


class LeaveAnswer(NamedTuple):
    #: one for each who asked, in their order
    members: tuple[tuple[Leaver, ErrorCode], ...]


class PartitionCodes(NamedTuple):
    """One code for each partition of a commit or a deletion, in the order asked."""

    codes: tuple[ErrorCode, ...]


class FetchedOffsets(NamedTuple):
    #: for each partition asked about, or each that the group has
    offsets: tuple[tuple[TopicPartition, CommittedOffset | None], ...]
    #: of those, what is not told before a transaction has ended
    unstable: frozenset[TopicPartition] = frozenset()


class DescribedMember(NamedTuple):
    member_id: MemberId
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class DescribedGroup(NamedTuple):
    group_id: GroupId
    state: str
    protocol_type: str
    #: the protocol's name while the group is stable, else ""
    protocol: str
    members: tuple[DescribedMember, ...]


class ListedGroup(NamedTuple):
    group_id: GroupId
    state: str
    type: str
    protocol_type: str


class GroupListing(NamedTuple):
    groups: tuple[ListedGroup, ...]


Answer = (
    Refused
    | Done
    | JoinAnswer
    | SyncAnswer
    | LeaveAnswer
    | PartitionCodes
    | FetchedOffsets
    | DescribedGroup
    | GroupListing
    | ConsumerGroupAnswer
    | ShareGroupAnswer
)


class Reply(NamedTuple):
    token: Token
    answer: Answer
