"""What may be asked of a consumer group (KIP-848), and what it answers. Tuples, tokens: as in ``group_commands``."""

from __future__ import annotations

from typing import NamedTuple

from leaselog.coordination.consumer_group_facts import Assigned
from leaselog.coordination.group_token import Token
from leaselog.coordination.share_group_facts import Assignment, PartitionKey
from leaselog.model import GroupId, MemberId

__all__ = [
    "JOIN_EPOCH",
    "LEAVE_EPOCH",
    "LEAVE_FOR_A_WHILE_EPOCH",
    "ConsumerBeat",
    "ConsumerGroupAnswer",
    "ConsumerGroupCommand",
    "ConsumerHeartbeat",
    "DescribeConsumerGroup",
    "DescribedConsumerGroup",
    "DescribedConsumerMember",
]

#: the epochs of a member that comes, of one that goes, and of a static one that means to come back
JOIN_EPOCH = 0
LEAVE_EPOCH = -1
LEAVE_FOR_A_WHILE_EPOCH = -2


class ConsumerHeartbeat(NamedTuple):
    """Joins (epoch 0), stays, or leaves. None in a field: as before."""

    token: Token
    group_id: GroupId
    member_id: MemberId
    member_epoch: int
    client_id: str
    client_host: str
    instance_id: str | None = None
    rack_id: str | None = None
    #: -1: as before
    rebalance_timeout_ms: int = -1
    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    assignor: str | None = None
    #: the partitions that the member has
    owned: frozenset[PartitionKey] | None = None
    #: before version 1 the group made up the member's id
    may_lack_id: bool = False


class DescribeConsumerGroup(NamedTuple):
    token: Token
    group_id: GroupId


ConsumerGroupCommand = ConsumerHeartbeat | DescribeConsumerGroup


class ConsumerBeat(NamedTuple):
    """The answer to a heartbeat."""

    member_id: MemberId
    epoch: int
    heartbeat_interval_ms: int = 0
    #: None if it is the one the member knows
    assignment: Assigned | None = None


class DescribedConsumerMember(NamedTuple):
    member_id: MemberId
    instance_id: str | None
    rack_id: str | None
    epoch: int
    client_id: str
    client_host: str
    topics: tuple[str, ...]
    pattern: str
    assigned: Assigned
    target: Assignment


class DescribedConsumerGroup(NamedTuple):
    group_id: GroupId
    state: str
    epoch: int
    assignment_epoch: int
    assignor: str
    members: tuple[DescribedConsumerMember, ...]


ConsumerGroupAnswer = ConsumerBeat | DescribedConsumerGroup
