"""A consumer group of KIP-848: its members, what each is to have, what it has, and who has which partition.

    Empty ──join──▶ Assigning ──a target──▶ Reconciling ──everybody is there──▶ Stable

It has three epochs. The group's rises when members, subscriptions or their topics change; the assignment's is the
group's as it was when the target was computed; a member's is that of the target it has come to. No partition has two
members: what is to move is let go of first (``consumer_reconciling``).

Changes by ``replay`` alone; what to decide is for ``consumer_group_heartbeat`` to say. It works on a draft, which takes
each fact as it is decided. When the turn is carried out the group itself replays the facts, and adopts from the draft
what is of this process alone.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import TypeVar

from leaselog.coordination.consumer_group_commands import DescribedConsumerGroup, DescribedConsumerMember
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
from leaselog.coordination.consumer_reconciling import partitions_of
from leaselog.coordination.group_commands import CommitOffsets, ListedGroup
from leaselog.coordination.group_turn import Turn
from leaselog.coordination.layer import Layer
from leaselog.coordination.share_group_facts import Assignment, PartitionKey
from leaselog.model import BrokenInvariant, ErrorCode, GroupId, MemberId, Refused

__all__ = ["NOT_JOINED", "NO_TARGET", "ConsumerGroup"]

_K = TypeVar("_K")
_V = TypeVar("_V")

#: the group's epoch before anybody has joined; Kafka counts from here since 4.3
FIRST_EPOCH = 1

#: where a member stands before its first heartbeat is answered
NOT_JOINED = ConsumerCurrent(0, 0)
NO_TARGET: Assignment = {}
#: members of it commit with OffsetCommit from this version on
COMMITS_SINCE = 9


@dataclass(slots=True)
class ConsumerGroup:
    TYPE = "consumer"

    group_id: GroupId
    epoch: ConsumerEpoch = field(default_factory=lambda: ConsumerEpoch(FIRST_EPOCH, 0))
    assignment: ConsumerAssignmentTime = field(default_factory=lambda: ConsumerAssignmentTime(FIRST_EPOCH))
    members: MutableMapping[MemberId, ConsumerMemberAsked] = field(default_factory=dict)
    currents: MutableMapping[MemberId, ConsumerCurrent] = field(default_factory=dict)
    targets: MutableMapping[MemberId, Assignment] = field(default_factory=dict)
    patterns: MutableMapping[str, MatchedTopics] = field(default_factory=dict)
    #: who has a partition, or has yet to let go of it
    owners: MutableMapping[PartitionKey, MemberId] = field(default_factory=dict)
    #: static members by their instance's id
    instances: MutableMapping[str, MemberId] = field(default_factory=dict)
    #: something of it is written down; a name of which only tombstones are left is free
    is_written: bool = False
    #: the topics' version that the metadata hash is known to hold for; of this process alone
    seen_topics_version: int | None = None
    #: somebody has gone who was to have partitions, since the target was computed; of this process alone
    has_freed: bool = False
    #: since when it has no members; of this process alone
    empty_since_ms: int = -1
    #: how many members name a topic, or a pattern
    _naming: MutableMapping[str, int] = field(default_factory=dict)
    _matching: MutableMapping[str, int] = field(default_factory=dict)
    is_draft: bool = False

    def draft(self) -> ConsumerGroup:
        """The group for one turn to change; costs what is changed."""
        return ConsumerGroup(
            self.group_id,
            self.epoch,
            self.assignment,
            Layer(self.members),
            Layer(self.currents),
            Layer(self.targets),
            Layer(self.patterns),
            Layer(self.owners),
            Layer(self.instances),
            self.is_written,
            self.seen_topics_version,
            self.has_freed,
            self.empty_since_ms,
            Layer(self._naming),
            Layer(self._matching),
            is_draft=True,
        )

    def adopt(self, draft: ConsumerGroup) -> None:
        """The turn is carried out, and its facts are replayed: takes over what no fact tells."""
        self.seen_topics_version, self.has_freed = draft.seen_topics_version, draft.has_freed

    def decide(self, fact: ConsumerGroupFact, turn: Turn) -> None:
        """To be written; and so already in this draft, for the next step of the turn to build on."""
        assert self.is_draft, "what is decided is no group's state before it is written"
        turn.facts.append(fact)
        self.replay(fact, turn.now_ms)

    def replay(self, fact: ConsumerGroupFact, now_ms: int) -> None:
        value: object
        match fact:
            case ConsumerMemberStored(_, member_id, value):
                self._put_member(member_id, value, now_ms)
            case ConsumerEpochStored(_, value):
                self.epoch = value or ConsumerEpoch(FIRST_EPOCH, 0)
            case ConsumerAssignmentStored(_, value):
                self.assignment = value or ConsumerAssignmentTime(FIRST_EPOCH)
            case ConsumerTargetStored(_, member_id, value):
                _put(self.targets, member_id, value)
            case ConsumerCurrentStored(_, member_id, value):
                self._put_current(member_id, value)
            case ConsumerPatternStored(_, pattern, value):
                _put(self.patterns, pattern, value)
        self.is_written |= value is not None

    def _put_member(self, member_id: MemberId, asked: ConsumerMemberAsked | None, now_ms: int) -> None:
        before = self.members.get(member_id)
        if before is not None:
            _count(self._naming, before.topics, -1)
            _count(self._matching, (before.pattern,) if before.pattern else (), -1)
            if before.instance_id is not None and self.instances.get(before.instance_id) == member_id:
                del self.instances[before.instance_id]
        if asked is not None:
            _count(self._naming, asked.topics, 1)
            _count(self._matching, (asked.pattern,) if asked.pattern else (), 1)
            if asked.instance_id is not None:
                self.instances[asked.instance_id] = member_id
        _put(self.members, member_id, asked)
        self.empty_since_ms = -1 if self.members else now_ms

    def _put_current(self, member_id: MemberId, current: ConsumerCurrent | None) -> None:
        before = self.currents.get(member_id)
        if before is not None:
            for place in (*partitions_of(before.assigned), *partitions_of(before.revoking)):
                if self.owners.get(place) == member_id:
                    del self.owners[place]
        if current is not None:
            for place in (*partitions_of(current.assigned), *partitions_of(current.revoking)):
                self.owners[place] = member_id
        _put(self.currents, member_id, current)

    # What can be seen of it

    @property
    def state(self) -> str:
        if not self.members:
            return "Empty"
        if self.epoch.epoch > self.assignment.epoch:
            return "Assigning"
        there = self.assignment.epoch
        is_stable = all(c.epoch == there and c.standing is Standing.STABLE for c in self.currents.values())
        return "Stable" if is_stable else "Reconciling"

    @property
    def subscribed(self) -> set[str]:
        """The topics that some member wants."""
        found = set(self._naming)
        for pattern in self._matching:
            if (matched := self.patterns.get(pattern)) is not None:
                found |= matched.topics
        return found

    @property
    def patterns_in_use(self) -> Iterator[str]:
        return iter(self._matching)

    def topics_of(self, asked: ConsumerMemberAsked) -> frozenset[str]:
        matched = self.patterns.get(asked.pattern) if asked.pattern else None
        return frozenset(asked.topics) | (matched.topics if matched is not None else frozenset())

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self._naming or any(
            topic in matched.topics
            for pattern in self._matching
            if (matched := self.patterns.get(pattern)) is not None
        )

    def assignor(self, first: str) -> str:
        """What most members prefer; of those that are preferred alike the first by name. ``first`` without any."""
        votes: dict[str, int] = {}
        for asked in self.members.values():
            if asked.assignor is not None:
                votes[asked.assignor] = votes.get(asked.assignor, 0) + 1
        return min(votes, key=lambda name: (-votes[name], name)) if votes else first

    def refusal_of_member(self, member_id: MemberId, epoch: int) -> Refused | None:
        """Why whoever says to be a member at this epoch may not read the group's offsets; None if he may."""
        current = self.currents.get(member_id)
        if current is None:
            return self.unknown(member_id)
        if epoch != current.epoch:
            return _stale(epoch, current)
        return None

    def refusal_of_commit(self, ask: CommitOffsets) -> Refused | None:
        if ask.generation < 0 and not self.members:
            return None  # an administrator
        current = self.currents.get(ask.member_id)
        if current is None:
            return self.unknown(ask.member_id)
        if not ask.knows_group_id_not_found:
            why = (
                f"OffsetCommit version {COMMITS_SINCE} or above must be used by members using the modern group "
                "protocol"
            )
            return Refused(ErrorCode.UNSUPPORTED_VERSION, why)
        if ask.generation == current.epoch:
            return None
        if ask.generation > current.epoch or not self._had_since(current, ask):
            return _stale(ask.generation, current)
        return None

    @staticmethod
    def _had_since(current: ConsumerCurrent, ask: CommitOffsets) -> bool:
        """Whether the member has had the partitions from an epoch that is no later than the one it commits with: then
        nobody else has come in between (KIP-1251)."""
        for offset in ask.offsets:
            since = current.assigned.get(offset.topic_id, {}).get(offset.partition.partition)
            if since is None or since > ask.generation:
                return False
        return True

    def unknown(self, member_id: MemberId) -> Refused:
        why = f"Member {member_id} is not a member of group {self.group_id}."
        return Refused(ErrorCode.UNKNOWN_MEMBER_ID, why)

    def listed(self) -> ListedGroup:
        return ListedGroup(self.group_id, self.state, self.TYPE, self.TYPE)

    def described(self, first_assignor: str) -> DescribedConsumerGroup:
        members = (
            DescribedConsumerMember(
                member_id,
                asked.instance_id,
                asked.rack_id,
                self.currents.get(member_id, NOT_JOINED).epoch,
                asked.client_id,
                asked.client_host,
                asked.topics,
                asked.pattern,
                _held(self.currents.get(member_id, NOT_JOINED)),
                self.targets.get(member_id, NO_TARGET),
            )
            for member_id, asked in self.members.items()
        )
        return DescribedConsumerGroup(
            self.group_id,
            self.state,
            self.epoch.epoch,
            self.assignment.epoch,
            self.assignor(first_assignor),
            tuple(members),
        )

    def tombstones(self) -> Iterator[ConsumerGroupFact]:
        """The end of a group that has no members, in Kafka's order; the last one frees its name."""
        for pattern in self.patterns:
            yield ConsumerPatternStored(self.group_id, pattern, None)
        yield ConsumerAssignmentStored(self.group_id, None)
        yield ConsumerEpochStored(self.group_id, None)

    def check(self) -> None:
        """Raise ``BrokenInvariant`` unless the books agree with each other."""
        held: dict[PartitionKey, MemberId] = {}
        twice = False
        for member_id, current in self.currents.items():
            for place in (*partitions_of(current.assigned), *partitions_of(current.revoking)):
                twice |= place in held
                held[place] = member_id
        statics = {a.instance_id: m for m, a in self.members.items() if a.instance_id is not None}
        problems = {
            "a partition in two hands": twice,
            "owners are those who hold": held != dict(self.owners),
            "an assignment from the future": self.assignment.epoch > self.epoch.epoch,
            "members have a place": self.members.keys() != self.currents.keys(),
            "targets are members'": not self.targets.keys() <= self.members.keys(),
            "instances are members'": statics != dict(self.instances),
            "a member ahead of its group": any(c.epoch > self.epoch.epoch for c in self.currents.values()),
        }
        broken = [rule for rule, is_broken in problems.items() if is_broken]
        if broken:
            raise BrokenInvariant(f"consumer group {self.group_id}: {'; '.join(broken)}")


def _held(current: ConsumerCurrent) -> Assigned:
    """What the member may work on: also what it has yet to let go of."""
    topics = sorted({*current.assigned, *current.revoking})
    return {t: {**current.assigned.get(t, {}), **current.revoking.get(t, {})} for t in topics}


def _stale(epoch: int, current: ConsumerCurrent) -> Refused:
    why = f"The received member epoch {epoch} does not match the expected member epoch {current.epoch}."
    return Refused(ErrorCode.STALE_MEMBER_EPOCH, why)


def _put(table: MutableMapping[_K, _V], key: _K, value: _V | None) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _count(table: MutableMapping[str, int], names: tuple[str, ...], by: int) -> None:
    for name in names:
        count = table.get(name, 0) + by
        if count:
            table[name] = count
        else:
            del table[name]
