"""What may be asked of a share group, and what it answers. Tuples and tokens are as in ``group_commands``.

A share group does not reach the persister itself. Where state must begin or go, the answer says so; whoever asked
sees to it and tells the outcome with another command.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from leaselog.coordination.group_token import Token
from leaselog.coordination.share_group_facts import Assignment, TopicPartitions
from leaselog.model import GroupId, MemberId, Refused, TopicId, TopicPartition

__all__ = [
    "JOIN_EPOCH",
    "LEAVE_EPOCH",
    "NO_PLACES",
    "AdoptShareStates",
    "AlterShareOffsets",
    "DeleteShareOffsets",
    "DescribeShareGroup",
    "DescribedShareGroup",
    "DescribedShareMember",
    "ForgetShareStates",
    "KnownShareStates",
    "ListShareStates",
    "Places",
    "SettleShareStates",
    "ShareBeat",
    "ShareGroupAnswer",
    "ShareGroupCommand",
    "ShareHeartbeat",
    "ShareOffsetsToSet",
    "ShareStatesToDelete",
    "StatesOfTopic",
]

#: the epochs of a member that comes and of one that goes
JOIN_EPOCH = 0
LEAVE_EPOCH = -1

#: partitions by topic
Places = Mapping[TopicId, frozenset[int]]
NO_PLACES: Places = {}


class ShareHeartbeat(NamedTuple):
    """Joins (epoch 0), stays, or leaves (LEAVE_EPOCH)."""

    token: Token
    group_id: GroupId
    member_id: MemberId
    member_epoch: int
    client_id: str
    client_host: str
    #: None for the one it had
    rack_id: str | None = None
    #: None for those it had
    topics: tuple[str, ...] | None = None
    #: this heartbeat goes on after state was initialized for it; the epoch that the member itself still knows
    continues_from: int | None = None
    #: the answer has the assignment, also an unchanged one
    wants_assignment: bool = False
    #: the member may hold records: what is revoked stays its own while it holds some
    may_hold: bool = False
    #: of what is being revoked, what it holds no records of and gets none of any more
    not_held: Places = NO_PLACES


class SettleShareStates(NamedTuple):
    """What came of initializing: these partitions are assigned from now on, those are tried again."""

    token: Token
    group_id: GroupId
    initialized: Places
    failed: Places


class DescribeShareGroup(NamedTuple):
    token: Token
    group_id: GroupId


class ListShareStates(NamedTuple):
    """For which partitions the group has state. None, rather than a refusal, of a group that is not there."""

    token: Token
    group_id: GroupId


class AlterShareOffsets(NamedTuple):
    """The group, made if need be, begins anew at these offsets."""

    token: Token
    group_id: GroupId
    offsets: Mapping[TopicPartition, int]


class DeleteShareOffsets(NamedTuple):
    token: Token
    group_id: GroupId
    topics: tuple[str, ...]


class ForgetShareStates(NamedTuple):
    """The state of these topics, which were marked as going, is gone."""

    token: Token
    group_id: GroupId
    topics: frozenset[TopicId]


class AdoptShareStates(NamedTuple):
    """There is state of these partitions, of epochs up to this one, whatever the group remembers of it."""

    token: Token
    group_id: GroupId
    places: Mapping[TopicId, TopicPartitions]
    state_epoch: int


ShareGroupCommand = (
    ShareHeartbeat
    | SettleShareStates
    | DescribeShareGroup
    | ListShareStates
    | AlterShareOffsets
    | DeleteShareOffsets
    | ForgetShareStates
    | AdoptShareStates
)


class ShareBeat(NamedTuple):
    """The answer to a heartbeat."""

    member_id: MemberId
    epoch: int
    heartbeat_interval_ms: int = 0
    #: None if it is the one the member knows
    assignment: Assignment | None = None
    #: state that whoever asked is to have initialized, with this epoch
    to_initialize: Places | None = None
    #: of that, what was added to topics that the group knew: it begins at 0, the rest where the group's policy says
    added: Places = NO_PLACES
    state_epoch: int = 0
    #: somebody else is initializing state that this group waits for
    is_initializing: bool = False
    #: what it is to get records of
    target: Assignment = NO_PLACES
    #: what is its own besides, while it holds records of it
    revoking: Assignment = NO_PLACES


class DescribedShareMember(NamedTuple):
    member_id: MemberId
    rack_id: str | None
    epoch: int
    client_id: str
    client_host: str
    topics: tuple[str, ...]
    #: what it is to have; it may not know yet
    target: Assignment


class DescribedShareGroup(NamedTuple):
    group_id: GroupId
    state: str
    epoch: int
    assignment_epoch: int
    assignor: str
    members: tuple[DescribedShareMember, ...]


class StatesOfTopic(NamedTuple):
    topic_id: TopicId
    name: str
    partitions: frozenset[int]


class KnownShareStates(NamedTuple):
    topics: tuple[StatesOfTopic, ...]


class ShareOffsetsToSet(NamedTuple):
    #: what has no such topic or partition; all else is to be initialized with this epoch
    unknown: frozenset[TopicPartition]
    state_epoch: int


class ShareStatesToDelete(NamedTuple):
    """Have the persister delete these, then ``ForgetShareStates``."""

    topics: tuple[StatesOfTopic, ...]
    #: topics that have nothing to delete, with the reason
    refused: Mapping[str, Refused]


ShareGroupAnswer = (
    ShareBeat | DescribedShareGroup | KnownShareStates | ShareOffsetsToSet | ShareStatesToDelete
)
