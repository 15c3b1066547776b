"""What a share group writes down, each with its record in ``__consumer_offsets``; ``None`` is its tombstone.

A fact says all there is to say about its key: replaying the last fact of each key gives the group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from leaselog.model import GroupId, MemberId, TopicId

__all__ = [
    "Assignment",
    "PartitionKey",
    "ShareAssignmentStored",
    "ShareAssignmentTime",
    "ShareCurrent",
    "ShareCurrentStored",
    "ShareEpoch",
    "ShareEpochStored",
    "ShareGroupFact",
    "ShareMemberAsked",
    "ShareMemberStored",
    "ShareStateStored",
    "ShareStates",
    "ShareTargetStored",
    "TopicPartitions",
]

#: partitions by topic, never an empty set
Assignment = Mapping[TopicId, frozenset[int]]
#: a `TopicIdPartition` as a plain tuple: assignors make very many
PartitionKey = tuple[TopicId, int]


@dataclass(frozen=True, slots=True)
class ShareMemberAsked:
    """What a member says of itself."""

    rack_id: str | None
    client_id: str
    client_host: str
    #: sorted, each once
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShareEpoch:
    epoch: int
    #: of the topics subscribed to, as they were then; 0 without any
    metadata_hash: int


@dataclass(frozen=True, slots=True)
class ShareAssignmentTime:
    """The group epoch that the target assignment is for, and when it was computed."""

    epoch: int
    computed_ms: int = 0


@dataclass(frozen=True, slots=True)
class ShareCurrent:
    """Where a member stands."""

    epoch: int
    #: what it may still believe its epoch to be, if our last answer was lost
    previous_epoch: int
    assigned: Assignment = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicPartitions:
    name: str
    partitions: frozenset[int]


@dataclass(frozen=True, slots=True)
class ShareStates:
    """Of which partitions the persister keeps state for the group. A partition may be in the first two at once, when
    its state is to begin anew."""

    initializing: Mapping[TopicId, TopicPartitions] = field(default_factory=dict)
    #: only these are given to members
    initialized: Mapping[TopicId, TopicPartitions] = field(default_factory=dict)
    #: names of the topics whose state is to go
    deleting: Mapping[TopicId, str] = field(default_factory=dict)
    #: how many partitions a topic had when the group came to know of it, where those above do not tell
    first_counts: Mapping[TopicId, int] = field(default_factory=dict)

    def topic_names(self) -> set[str]:
        """Of all the topics that there is, was or will be state for."""
        names = {places.name for table in (self.initializing, self.initialized) for places in table.values()}
        return names.union(self.deleting.values())


@dataclass(frozen=True, slots=True)
class ShareMemberStored:
    group_id: GroupId
    member_id: MemberId
    member: ShareMemberAsked | None


@dataclass(frozen=True, slots=True)
class ShareEpochStored:
    """Its tombstone is the last of a group's."""

    group_id: GroupId
    epoch: ShareEpoch | None


@dataclass(frozen=True, slots=True)
class ShareAssignmentStored:
    group_id: GroupId
    assignment: ShareAssignmentTime | None


@dataclass(frozen=True, slots=True)
class ShareTargetStored:
    group_id: GroupId
    member_id: MemberId
    target: Assignment | None


@dataclass(frozen=True, slots=True)
class ShareCurrentStored:
    group_id: GroupId
    member_id: MemberId
    current: ShareCurrent | None


@dataclass(frozen=True, slots=True)
class ShareStateStored:
    group_id: GroupId
    states: ShareStates | None


ShareGroupFact = (
    ShareMemberStored
    | ShareEpochStored
    | ShareAssignmentStored
    | ShareTargetStored
    | ShareCurrentStored
    | ShareStateStored
)
