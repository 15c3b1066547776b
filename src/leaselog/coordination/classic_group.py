"""A classic consumer group: its members, its generation, and what they can agree on.

    Empty ──join──▶ PreparingRebalance ──all rejoined or time is up──▶ CompletingRebalance
      ▲                │        ▲                                             │
      └──nobody left───┘        └────── someone joins, leaves, expires ───┐   leader syncs
                                                                          │   │
                                                                          Stable

This file keeps the books and holds no policy: who is in, who waits for what, which protocol wins. When to do what
is ``classic_rebalance``. Dead is not a state anything is ever in: an unknown group is described as Dead.

Nobody changes a group but by way of a draft, which the group adopts when the turn that made it is carried out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, MutableMapping
from enum import Enum
from typing import Any, NamedTuple

from leaselog.coordination.group_commands import (
    DescribedGroup,
    DescribedMember,
    JoinedMember,
    ListedGroup,
    Token,
)
from leaselog.coordination.group_facts import GroupMetadata, Protocol, StoredMember
from leaselog.coordination.layer import Layer
from leaselog.model import BrokenInvariant, ErrorCode, GroupId, MemberId, Refused

__all__ = ["CONSUMER_PROTOCOL_TYPE", "ClassicGroup", "ClassicMember", "GroupState"]

#: the protocol type of consumers, whose metadata names topics
CONSUMER_PROTOCOL_TYPE = "consumer"


class GroupState(Enum):
    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class ClassicMember(NamedTuple):
    member_id: MemberId
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    #: in the order the member prefers them
    protocols: tuple[Protocol, ...]
    assignment: bytes = b""
    #: the join it waits in, if any
    joining: Token | None = None
    #: the sync it waits in, if any
    syncing: Token | None = None
    #: it has not seen an answer to its first join, so it cannot heartbeat yet
    is_new: bool = True

    def metadata(self, protocol: str | None) -> Protocol:
        for known in self.protocols:
            if known.name == protocol:
                return known
        raise BrokenInvariant(f"member {self.member_id} does not know its group's protocol {protocol}")

    def has_same_protocols(self, protocols: tuple[Protocol, ...]) -> bool:
        return [(p.name, p.metadata) for p in self.protocols] == [(p.name, p.metadata) for p in protocols]


class ClassicGroup:
    TYPE = "classic"

    def __init__(self, group_id: GroupId, now_ms: int) -> None:
        self.group_id = group_id
        self.state = GroupState.EMPTY
        self.previous_state = GroupState.EMPTY
        self.since_ms = now_ms
        #: None until somebody joins: a simple group, there for its offsets alone
        self.protocol_type: str | None = None
        self.generation = 0
        self.protocol: str | None = None
        self.leader: MemberId | None = None
        self.members: MutableMapping[MemberId, ClassicMember] = {}
        #: members that own a group.instance.id; every value is a key of ``members``
        self.static_members: MutableMapping[str, MemberId] = {}
        #: how many members know a protocol
        self._support: MutableMapping[str, int] = {}
        #: ids given out whose owners have not come back with them yet
        self.pending_joins: set[MemberId] = set()
        #: members of this generation that have not synced; they are dropped if they never do
        self.pending_syncs: set[MemberId] = set()
        #: None when the members do not say, or cannot be understood
        self.subscribed: frozenset[str] | None = None
        #: how much longer the first rebalance may be put off; only in the first rebalance after Empty
        self.initial_delay_left_ms = 0
        self.has_joiner_since_delay = False

    def draft(self) -> ClassicGroup:
        """The group for one turn to change. Costs what is changed, and the ids that are awaited."""
        draft = object.__new__(ClassicGroup)
        draft.__dict__ |= self.__dict__
        draft.members = Layer(self.members)
        draft.static_members = Layer(self.static_members)
        draft._support = Layer(self._support)
        draft.pending_joins = set(self.pending_joins)
        draft.pending_syncs = set(self.pending_syncs)
        return draft

    def adopt(self, draft: ClassicGroup) -> None:
        """Becomes what its draft is: the turn is carried out."""
        tables: dict[str, Any] = {}
        for name in ("members", "static_members", "_support"):
            tables[name] = getattr(self, name)
            getattr(draft, name).merge_into(tables[name])
        self.__dict__ |= draft.__dict__ | tables

    @classmethod
    def restored(cls, group_id: GroupId, stored: GroupMetadata, now_ms: int) -> ClassicGroup:
        """The group as its last record has it. Nobody waits for anything, and no deadline runs yet."""
        group = cls(group_id, now_ms)
        group.since_ms = stored.since_ms
        group.protocol_type = stored.protocol_type or None
        group.generation = stored.generation
        for member in stored.members:
            group._enlist(_restored_member(member))
        known = stored.leader if stored.leader in group.members else None
        group.leader = known or next(iter(group.members), None)
        if group.members:
            group.state, group.protocol = GroupState.STABLE, stored.protocol
        group.subscribed = group._subscribed_topics()
        return group

    # Who is in

    def add(self, member: ClassicMember, protocol_type: str) -> None:
        if not self.members:
            self.protocol_type = protocol_type
        self._enlist(member)
        self.leader = self.leader or member.member_id
        self.pending_joins.discard(member.member_id)

    def _enlist(self, member: ClassicMember) -> None:
        if member.member_id in self.members:
            raise BrokenInvariant(f"member {member.member_id} joins {self.group_id} twice")
        self.members[member.member_id] = member
        self._count(member.protocols, 1)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id

    def _count(self, protocols: Iterable[Protocol], change: int) -> None:
        for name in {p.name for p in protocols}:
            left = self._support.get(name, 0) + change
            if left:
                self._support[name] = left
            else:
                del self._support[name]

    def remove(self, member_id: MemberId) -> ClassicMember | None:
        """Forget the member, or the id given to a member to be. The first who is left leads if it led."""
        self.pending_joins.discard(member_id)
        self.pending_syncs.discard(member_id)
        member = self.members.pop(member_id, None)
        if member is None:
            return None
        self._count(member.protocols, -1)
        if member.instance_id is not None and self.static_members.get(member.instance_id) == member_id:
            del self.static_members[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        return member

    def replace_static(self, instance_id: str, new_id: MemberId) -> ClassicMember:
        """Give the instance's place, assignment and leadership to a new member id; returns that member.

        What the old id waited for must have been answered before.
        """
        old_id = self.static_members[instance_id]
        before = self.members.pop(old_id)
        self._count(before.protocols, -1)
        member = before._replace(member_id=new_id)
        self._enlist(member)
        if self.leader == old_id:
            self.leader = new_id
        if old_id in self.pending_syncs:
            self.pending_syncs.remove(old_id)
            self.pending_syncs.add(new_id)
        return member

    def put(self, member: ClassicMember) -> ClassicMember:
        """In the place of the member of its id, as it has become."""
        before = self.members[member.member_id]
        if member.protocols is not before.protocols:
            self._count(before.protocols, -1)
            self._count(member.protocols, 1)
        self.members[member.member_id] = member
        return member

    def refusal(self, member_id: MemberId, instance_id: str | None) -> Refused | None:
        """Why whoever names these ids is no member, None if it is one."""
        if instance_id is not None:
            owner = self.static_members.get(instance_id)
            if owner is None:
                return Refused(ErrorCode.UNKNOWN_MEMBER_ID)
            if owner != member_id:
                return Refused(ErrorCode.FENCED_INSTANCE_ID)
        return None if member_id in self.members else Refused(ErrorCode.UNKNOWN_MEMBER_ID)

    def refusal_of_generation(
        self, member_id: MemberId, instance_id: str | None, generation: int
    ) -> Refused | None:
        refused = self.refusal(member_id, instance_id)
        if refused is None and generation != self.generation:
            return Refused(ErrorCode.ILLEGAL_GENERATION)
        return refused

    # What they can agree on

    def supports(self, protocol_type: str, protocols: tuple[Protocol, ...]) -> bool:
        """Whether someone with these protocols leaves the group one that all members know."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type and protocols)
        if self.protocol_type != protocol_type:
            return False
        return any(self._support.get(p.name) == len(self.members) for p in protocols)

    def preferred_protocol(self) -> str:
        """Each member votes for the first of its protocols that all know; most votes win."""
        shared = {name for name, count in self._support.items() if count == len(self.members)}
        votes = Counter(next(p.name for p in m.protocols if p.name in shared) for m in self.members.values())
        return votes.most_common(1)[0][0]

    def is_subscribed_to(self, topic: str) -> bool:
        """Unknown counts as yes for consumers: an offset wrongly kept does less harm than one wrongly lost."""
        return self.uses_consumer_protocol if self.subscribed is None else topic in self.subscribed

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    # Where it stands

    def enter(self, state: GroupState, now_ms: int) -> None:
        self.previous_state, self.state, self.since_ms = self.state, state, now_ms

    @property
    def is_active(self) -> bool:
        """Members have what they need to work, or wait only for its assignment."""
        return self.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE)

    @property
    def is_first_rebalance(self) -> bool:
        return self.state is GroupState.PREPARING_REBALANCE and self.previous_state is GroupState.EMPTY

    @property
    def has_all_joined(self) -> bool:
        return not self.pending_joins and all(m.joining is not None for m in self.members.values())

    @property
    def joining_count(self) -> int:
        return sum(m.joining is not None for m in self.members.values())

    @property
    def rebalance_timeout_ms(self) -> int:
        """The patience of the most patient member."""
        return max((m.rebalance_timeout_ms for m in self.members.values()), default=0)

    def elect_among_joined(self) -> bool:
        """Make sure that the leader is one who has joined; False if nobody has."""
        if self.leader is None:
            return False
        if self.members[self.leader].joining is None:
            joined = (m.member_id for m in self.members.values() if m.joining is not None)
            self.leader = next(joined, None) or self.leader
        return self.members[self.leader].joining is not None

    def begin_generation(self, now_ms: int) -> None:
        """Count the generation up; the group is Empty after it, or has a protocol and awaits its assignment."""
        self.generation += 1
        self.pending_syncs.clear()
        self.protocol = self.preferred_protocol() if self.members else None
        self.subscribed = self._subscribed_topics()
        self.enter(GroupState.COMPLETING_REBALANCE if self.members else GroupState.EMPTY, now_ms)

    def _subscribed_topics(self) -> frozenset[str] | None:
        if not self.uses_consumer_protocol:
            return None
        topics: frozenset[str] = frozenset()
        for member in self.members.values():
            named = member.metadata(self.protocol).topics
            if named is None:
                return None
            topics |= named
        return topics

    # What others get to see

    def stored(self, assignments: Mapping[MemberId, bytes]) -> GroupMetadata:
        return GroupMetadata(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol,
            leader=self.leader,
            since_ms=self.since_ms,
            members=tuple(self._stored_member(m, assignments) for m in self.members.values()),
        )

    def _stored_member(self, member: ClassicMember, assignments: Mapping[MemberId, bytes]) -> StoredMember:
        return StoredMember(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            member.rebalance_timeout_ms,
            member.session_timeout_ms,
            member.metadata(self.protocol),
            assignments.get(member.member_id, b""),
        )

    def assignments(self) -> dict[MemberId, bytes]:
        return {m.member_id: m.assignment for m in self.members.values()}

    def joined_members(self) -> tuple[JoinedMember, ...]:
        return tuple(
            JoinedMember(m.member_id, m.instance_id, m.metadata(self.protocol).metadata)
            for m in self.members.values()
        )

    def listed(self) -> ListedGroup:
        return ListedGroup(self.group_id, self.state.value, self.TYPE, self.protocol_type or "")

    def described(self) -> DescribedGroup:
        """Kafka shows protocol and metadata of a stable group only: in between they may be about to change."""
        protocol = self.protocol if self.state is GroupState.STABLE else None
        members = (
            DescribedMember(
                m.member_id,
                m.instance_id,
                m.client_id,
                m.client_host,
                b"" if protocol is None else m.metadata(protocol).metadata,
                m.assignment,
            )
            for m in self.members.values()
        )
        return DescribedGroup(
            self.group_id, self.state.value, self.protocol_type or "", protocol or "", tuple(members)
        )

    def check(self) -> None:
        """Raise ``BrokenInvariant`` unless the books agree with each other."""
        owners = {m.instance_id: m.member_id for m in self.members.values() if m.instance_id is not None}
        problems = {
            "static members": owners != self.static_members,
            "pending joins are no members": bool(self.pending_joins & self.members.keys()),
            "pending syncs are members": not self.pending_syncs <= self.members.keys(),
            "a leader exactly when there are members": (self.leader in self.members) != bool(self.members),
            "empty means no members": self.state is GroupState.EMPTY and bool(self.members),
            "active means members and a protocol": self.is_active and not (self.members and self.protocol),
            "nobody waits to join an active group": self.is_active and self.joining_count > 0,
            "syncs wait only for a leader": self.state is not GroupState.COMPLETING_REBALANCE
            and any(m.syncing is not None for m in self.members.values()),
        }
        broken = [rule for rule, is_broken in problems.items() if is_broken]
        if broken:
            raise BrokenInvariant(f"group {self.group_id} in {self.state}: {'; '.join(broken)}")


def _restored_member(stored: StoredMember) -> ClassicMember:
    return ClassicMember(
        stored.member_id,
        stored.instance_id,
        stored.client_id,
        stored.client_host,
        stored.rebalance_timeout_ms,
        stored.session_timeout_ms,
        (stored.subscription,),
        stored.assignment,
        is_new=False,
    )
