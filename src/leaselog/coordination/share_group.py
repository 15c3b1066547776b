"""A share group: its members, what each is to work on, and for which partitions there is state.

    Empty ──join──▶ Stable ──the last one leaves──▶ Empty

It has three epochs. The group's rises when members, subscriptions, their topics or the initialized partitions
change; the assignment's is the group's as it was when the target was computed; a member's is that of the target it
was last told. Nobody waits for anybody: a member gets its target with its next heartbeat (KIP-932).

Changes by ``replay`` alone; what to decide is for ``share_group_heartbeat`` and ``share_group_states`` to say. They
work on a draft, which takes each fact as it is decided, so that the next step builds on it. When the turn is carried
out the group itself replays the facts, and adopts from the draft what is of this process alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TypeVar

from leaselog.coordination.cluster_view import ClusterView, TopicShape
from leaselog.coordination.group_commands import ListedGroup
from leaselog.coordination.group_turn import Turn
from leaselog.coordination.layer import Layer
from leaselog.coordination.share_assignor import SIMPLE
from leaselog.coordination.share_group_commands import DescribedShareGroup, DescribedShareMember
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
)
from leaselog.model import BrokenInvariant, GroupId, MemberId, TopicId

__all__ = ["NOT_JOINED", "ShareGroup", "metadata_hash"]

_T = TypeVar("_T")

#: the group's epoch before anybody has joined; Kafka counts from here since 4.3
FIRST_EPOCH = 1

#: where a member stands before its first heartbeat is answered
NOT_JOINED = ShareCurrent(0, 0)

NO_TARGET: Assignment = {}


@dataclass(slots=True)
class ShareGroup:
    TYPE = "share"

    group_id: GroupId
    epoch: ShareEpoch = field(default_factory=lambda: ShareEpoch(FIRST_EPOCH, 0))
    assignment: ShareAssignmentTime = field(default_factory=lambda: ShareAssignmentTime(FIRST_EPOCH))
    members: MutableMapping[MemberId, ShareMemberAsked] = field(default_factory=dict)
    currents: MutableMapping[MemberId, ShareCurrent] = field(default_factory=dict)
    targets: MutableMapping[MemberId, Assignment] = field(default_factory=dict)
    states: ShareStates = field(default_factory=ShareStates)
    #: something of it is written down; a name of which only tombstones are left is free
    is_written: bool = False
    #: when each topic's partitions were last to be initialized; of this process alone
    initializing_since_ms: Mapping[TopicId, int] = field(default_factory=dict)
    #: the topics' version that the metadata hash is known to hold for; of this process alone
    seen_topics_version: int | None = None
    #: what the target was computed from, by topic; None until it is computed in this process
    offered: dict[TopicId, frozenset[int]] | None = None
    #: what members had that have gone since the target was computed; of this process alone
    freed: tuple[Assignment, ...] = ()
    #: what members have lost that had no session to be asked about it; of this process alone
    revoked: MutableMapping[MemberId, Assignment] = field(default_factory=dict)
    #: how many members subscribe to a topic
    _subscribers: MutableMapping[str, int] = field(default_factory=dict)
    is_draft: bool = False

    def draft(self) -> ShareGroup:
        """The group for one turn to change; costs what is changed."""
        return ShareGroup(
            self.group_id,
            self.epoch,
            self.assignment,
            Layer(self.members),
            Layer(self.currents),
            Layer(self.targets),
            self.states,
            self.is_written,
            self.initializing_since_ms,
            self.seen_topics_version,
            self.offered,
            self.freed,
            Layer(self.revoked),
            Layer(self._subscribers),
            is_draft=True,
        )

    def adopt(self, draft: ShareGroup) -> None:
        """The turn is carried out, and its facts are replayed: takes over what no fact tells."""
        self.initializing_since_ms = draft.initializing_since_ms
        self.seen_topics_version = draft.seen_topics_version
        self.offered, self.freed = draft.offered, draft.freed
        assert isinstance(draft.revoked, Layer)
        draft.revoked.merge_into(self.revoked)

    def decide(self, fact: ShareGroupFact, turn: Turn) -> None:
        """To be written; and so already in this draft, for the next step of the turn to build on."""
        assert self.is_draft, "what is decided is no group's state before it is written"
        turn.facts.append(fact)
        self.replay(fact, turn.now_ms)

    def replay(self, fact: ShareGroupFact, now_ms: int) -> None:
        value: object
        match fact:
            case ShareMemberStored(_, member_id, value):
                self._put_member(member_id, value)
            case ShareEpochStored(_, value):
                self.epoch = value or ShareEpoch(FIRST_EPOCH, 0)
            case ShareAssignmentStored(_, value):
                self.assignment = value or ShareAssignmentTime(FIRST_EPOCH)
            case ShareTargetStored(_, member_id, value):
                _put(self.targets, member_id, value)
            case ShareCurrentStored(_, member_id, value):
                _put(self.currents, member_id, value)
            case ShareStateStored(_, value):
                self._put_states(value or ShareStates(), now_ms)
        self.is_written |= value is not None

    def _put_member(self, member_id: MemberId, asked: ShareMemberAsked | None) -> None:
        before = self.members.get(member_id)
        for topic in before.topics if before else ():
            self._subscribers[topic] -= 1
            if not self._subscribers[topic]:
                del self._subscribers[topic]
        for topic in asked.topics if asked else ():
            self._subscribers[topic] = self._subscribers.get(topic, 0) + 1
        _put(self.members, member_id, asked)

    def _put_states(self, states: ShareStates, now_ms: int) -> None:
        before = self.states.initializing
        self.states = states
        self.initializing_since_ms = {
            topic: self.initializing_since_ms.get(topic, now_ms) if before.get(topic) == places else now_ms
            for topic, places in states.initializing.items()
        }

    # What can be seen of it

    @property
    def state(self) -> str:
        return "Stable" if self.members else "Empty"

    @property
    def subscribed(self) -> Iterable[str]:
        """The topics that some member wants, in no order."""
        return self._subscribers.keys()

    def is_wanted(self, topic: str) -> bool:
        return topic in self._subscribers

    def listed(self) -> ListedGroup:
        return ListedGroup(self.group_id, self.state, self.TYPE, self.TYPE)

    def described(self) -> DescribedShareGroup:
        members = (
            DescribedShareMember(
                member_id,
                asked.rack_id,
                self.currents.get(member_id, NOT_JOINED).epoch,
                asked.client_id,
                asked.client_host,
                asked.topics,
                self.targets.get(member_id, NO_TARGET),
            )
            for member_id, asked in self.members.items()
        )
        return DescribedShareGroup(
            self.group_id, self.state, self.epoch.epoch, self.assignment.epoch, SIMPLE, tuple(members)
        )

    def check(self) -> None:
        """Raise ``BrokenInvariant`` unless the books agree with each other."""
        problems = {
            "an assignment from the future": self.assignment.epoch > self.epoch.epoch,
            "members have a place": self.members.keys() != self.currents.keys(),
            "targets are members'": not self.targets.keys() <= self.members.keys(),
            "a member ahead of its group": any(c.epoch > self.epoch.epoch for c in self.currents.values()),
            "an epoch before its previous": any(c.previous_epoch > c.epoch for c in self.currents.values()),
        }
        broken = [rule for rule, is_broken in problems.items() if is_broken]
        if broken:
            raise BrokenInvariant(f"share group {self.group_id}: {'; '.join(broken)}")


def _put(table: MutableMapping[MemberId, _T], key: MemberId, value: _T | None) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def metadata_hash(topics: Iterable[str], cluster: ClusterView) -> int:
    """A number that changes with the topics. Kafka's is another; it is only ever compared with the last one."""
    shapes = ((name, cluster.topic(name)) for name in sorted(topics))
    known = [(name, shape) for name, shape in shapes if shape is not None]
    if not known:
        return 0
    digest = blake2b(digest_size=8)
    for name, shape in known:
        digest.update(_bytes_of(name, shape))
    return int.from_bytes(digest.digest(), "big", signed=True)


def _bytes_of(name: str, shape: TopicShape) -> bytes:
    return b"%b%d %d %b" % (
        shape.topic_id.bytes,
        shape.partition_count,
        len(name),
        name.encode("utf-8", "surrogatepass"),
    )
