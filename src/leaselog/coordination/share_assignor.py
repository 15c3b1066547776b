"""Who of a share group works on which partitions: Kafka's ``simple`` assignor.

A partition may have several members, so nobody need be idle: with fewer partitions than members each partition is
shared by ``ceil(members / partitions)`` of them, with more each belongs to one. Members get equally many, give or
take one. Balance goes before staying; within that, members keep what they have. Members that do not all want the
same topics are balanced topic by topic.

Kafka's may leave a partition without a member when the members that have room hold it already. Here none is left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from leaselog.coordination.share_group_facts import Assignment, PartitionKey
from leaselog.model import MemberId, TopicId

__all__ = ["SIMPLE", "assign"]

#: what it is called in answers
SIMPLE = "simple"

#: a partition of a topic
Held = dict[MemberId, set[PartitionKey]]


def assign(
    wanted: Mapping[MemberId, frozenset[TopicId]],
    available: Mapping[TopicId, frozenset[int]],
    current: Mapping[MemberId, Assignment],
) -> dict[MemberId, Assignment]:
    """What each member of ``wanted`` is to work on, of the partitions ``available``, given what they have."""
    members = sorted(wanted)
    held: Held = {member: _places(current.get(member, {})) for member in members}
    got: Held = {member: set() for member in members}
    for sharers, topics in _balanced_together(members, wanted):
        places = [(topic, i) for topic in sorted(topics, key=str) for i in sorted(available.get(topic, ()))]
        if places:
            for member, share in _balance(sharers, places, held).items():
                got[member] |= share
    return {member: _assignment(places) for member, places in got.items()}


def _balanced_together(
    members: Sequence[MemberId], wanted: Mapping[MemberId, frozenset[TopicId]]
) -> Iterable[tuple[Sequence[MemberId], Iterable[TopicId]]]:
    """All at once if everybody wants the same, else topic by topic."""
    if len(set(wanted.values())) == 1:
        return [(members, wanted[members[0]])]
    topics = sorted({topic for topics in wanted.values() for topic in topics}, key=str)
    return [([m for m in members if topic in wanted[m]], [topic]) for topic in topics]


def _balance(members: Sequence[MemberId], places: Sequence[PartitionKey], held: Held) -> Held:
    sharing = -(-len(members) // len(places))
    slots = sharing * len(places)
    rank = {place: i for i, place in enumerate(places)}
    kept = {member: sorted(held[member] & rank.keys(), key=rank.__getitem__) for member in members}
    room = _rooms(members, slots, kept)
    got = {member: set(kept[member][: room[member]]) for member in members}
    holders: dict[PartitionKey, list[MemberId]] = {place: [] for place in places}
    for member in members:
        for place in got[member]:
            holders[place].append(member)
    for place, sharers in holders.items():
        for member in sharers[sharing:]:
            got[member].discard(place)
        del sharers[sharing:]
    for member in members:
        room[member] -= len(got[member])
    _fill(members, holders, got, room, sharing)
    return got


def _rooms(
    members: Sequence[MemberId], slots: int, kept: Mapping[MemberId, Sequence[PartitionKey]]
) -> dict[MemberId, int]:
    """How many each is to have. One more than others have those who had more before; else they lie apart."""
    count, least = len(members), slots // len(members)
    has_more = [_up(slots * (i + 1), count) - _up(slots * i, count) > least for i in range(count)]
    order = sorted(range(count), key=lambda i: (len(kept[members[i]]) <= least, not has_more[i]))
    more = set(order[: slots % count])
    return {member: least + (i in more) for i, member in enumerate(members)}


def _fill(
    members: Sequence[MemberId],
    holders: Mapping[PartitionKey, list[MemberId]],
    got: Held,
    room: dict[MemberId, int],
    sharing: int,
) -> None:
    """Hands what has too few members to those who have room, in turns."""
    turn = deque(member for member in members if room[member] > 0)
    for place, sharers in holders.items():
        for _ in range(len(turn)):
            if len(sharers) >= sharing:
                break
            member = turn.popleft()
            if place not in got[member]:
                got[member].add(place)
                sharers.append(member)
                room[member] -= 1
            if room[member] > 0:
                turn.append(member)
        if not sharers:
            least = min(members, key=lambda member: len(got[member]))
            got[least].add(place)
            sharers.append(least)


def _up(a: int, b: int) -> int:
    return -(-a // b)


def _places(assignment: Assignment) -> set[PartitionKey]:
    return {(topic, i) for topic, partitions in assignment.items() for i in partitions}


def _assignment(places: set[PartitionKey]) -> Assignment:
    by_topic: dict[TopicId, list[int]] = {}
    for topic, i in places:
        by_topic.setdefault(topic, []).append(i)
    return {topic: frozenset(by_topic[topic]) for topic in sorted(by_topic, key=str)}
