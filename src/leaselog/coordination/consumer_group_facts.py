"""What a consumer group (KIP-848) writes down, each with a record in ``__consumer_offsets``; ``None`` is its tombstone.

A fact says all there is to say about its key: replaying the last fact of each key gives the group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from leaselog.coordination.share_group_facts import Assignment
from leaselog.model import GroupId, MemberId, TopicId

__all__ = [
    "Assigned",
    "ConsumerAssignmentStored",
    "ConsumerAssignmentTime",
    "ConsumerCurrent",
    "ConsumerCurrentStored",
    "ConsumerEpoch",
    "ConsumerEpochStored",
    "ConsumerGroupFact",
    "ConsumerMemberAsked",
    "ConsumerMemberStored",
    "ConsumerPatternStored",
    "ConsumerTargetStored",
    "MatchedTopics",
    "Standing",
    "is_tombstone",
]

#: partitions by topic, each with the member's epoch when it was assigned (KIP-1251); never an empty table
Assigned = Mapping[TopicId, Mapping[int, int]]


class Standing(IntEnum):
    """How far a member has come towards its target; the numbers are those of the record."""

    STABLE = 0
    #: it has to let go of partitions first
    REVOKING = 1
    #: it waits for partitions that others have yet to let go of
    WAITING = 2


@dataclass(frozen=True, slots=True)
class ConsumerMemberAsked:
    """What a member says of itself."""

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    #: sorted, each once
    topics: tuple[str, ...]
    #: topics whose names match it are wanted as well; "" for none
    pattern: str
    rebalance_timeout_ms: int
    #: None for the group's first
    assignor: str | None


@dataclass(frozen=True, slots=True)
class ConsumerEpoch:
    epoch: int
    #: of the topics subscribed to, as they were then; 0 without any
    metadata_hash: int


@dataclass(frozen=True, slots=True)
class ConsumerAssignmentTime:
    """The group epoch that the target assignment is for, and when it was computed."""

    epoch: int
    computed_ms: int = 0


@dataclass(frozen=True, slots=True)
class ConsumerCurrent:
    """Where a member stands."""

    epoch: int
    #: what it may still believe its epoch to be, if our last answer was lost
    previous_epoch: int
    standing: Standing = Standing.STABLE
    assigned: Assigned = field(default_factory=dict)
    #: what it has to let go of, and may still work on
    revoking: Assigned = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MatchedTopics:
    """The topics that a pattern matched, at some version of the cluster's topics."""

    topics: frozenset[str]
    version: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class ConsumerMemberStored:
    group_id: GroupId
    member_id: MemberId
    member: ConsumerMemberAsked | None


@dataclass(frozen=True, slots=True)
class ConsumerEpochStored:
    """Its tombstone is the last of a group's."""

    group_id: GroupId
    epoch: ConsumerEpoch | None


@dataclass(frozen=True, slots=True)
class ConsumerAssignmentStored:
    group_id: GroupId
    assignment: ConsumerAssignmentTime | None


@dataclass(frozen=True, slots=True)
class ConsumerTargetStored:
    group_id: GroupId
    member_id: MemberId
    target: Assignment | None


@dataclass(frozen=True, slots=True)
class ConsumerCurrentStored:
    group_id: GroupId
    member_id: MemberId
    current: ConsumerCurrent | None


@dataclass(frozen=True, slots=True)
class ConsumerPatternStored:
    group_id: GroupId
    pattern: str
    matched: MatchedTopics | None


ConsumerGroupFact = (
    ConsumerMemberStored
    | ConsumerEpochStored
    | ConsumerAssignmentStored
    | ConsumerTargetStored
    | ConsumerCurrentStored
    | ConsumerPatternStored
)


def is_tombstone(fact: ConsumerGroupFact) -> bool:
    match fact:
        case (
            ConsumerMemberStored(member=value)
            | ConsumerEpochStored(epoch=value)
            | ConsumerAssignmentStored(assignment=value)
            | ConsumerTargetStored(target=value)
            | ConsumerCurrentStored(current=value)
            | ConsumerPatternStored(matched=value)
        ):
            return value is None
