"""Who of a consumer group is to have which partitions: Kafka's server-side assignors, ``uniform`` and ``range``.

Uniform: members get equally many, give or take one, as far as what they want allows, and keep what they have as far as
that allows. Range: of each topic, members in order get neighbouring partitions, so that topics with as many partitions
are cut the same way.

Pure functions of what is wanted, what there is and what was; the same for the same arguments.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Collection, Mapping, Sequence

from leaselog.coordination.share_group_facts import Assignment, PartitionKey
from leaselog.model import MemberId, TopicId

__all__ = ["ASSIGNORS", "Wanted", "assign_range", "assign_uniform"]

#: the topics that each member wants
Wanted = Mapping[MemberId, frozenset[TopicId]]
Held = dict[MemberId, set[PartitionKey]]

NOTHING: Assignment = {}


def assign_range(
    wanted: Wanted,
    counts: Mapping[TopicId, int],
    before: Mapping[MemberId, Assignment],
    order: Sequence[MemberId],
) -> dict[MemberId, Assignment]:
    """Of each topic, the members of ``order`` that want it get ranges, the first ones those that are longer by one."""
    got: dict[MemberId, dict[TopicId, frozenset[int]]] = {member: {} for member in wanted}
    for topic in sorted(counts):
        sharers = [member for member in order if topic in wanted[member]]
        if not sharers:
            continue
        least, longer = divmod(counts[topic], len(sharers))
        at = 0
        for place, member in enumerate(sharers):
            size = least + (place < longer)
            if size:
                got[member][topic] = frozenset(range(at, at + size))
            at += size
    return dict(got)


def assign_uniform(
    wanted: Wanted,
    counts: Mapping[TopicId, int],
    before: Mapping[MemberId, Assignment],
    order: Sequence[MemberId],
) -> dict[MemberId, Assignment]:
    if len(set(wanted.values())) == 1:
        topics = next(iter(wanted.values()))
        places = [(topic, i) for topic in sorted(topics & counts.keys()) for i in range(counts[topic])]
        return _by_member(_alike(order, places, before))
    return _by_member(_each_its_own(order, wanted, counts, before))


ASSIGNORS: Mapping[str, Callable[..., dict[MemberId, Assignment]]] = {
    "uniform": assign_uniform,
    "range": assign_range,
}


def _alike(
    order: Sequence[MemberId], places: Sequence[PartitionKey], before: Mapping[MemberId, Assignment]
) -> Held:
    """Everybody wants the same: who has too many gives the last ones away, who has too few takes what is free."""
    least, longer = divmod(len(places), len(order))
    free = dict.fromkeys(places)
    got: Held = {}
    for member in order:
        kept = [place for place in _places(before.get(member, NOTHING)) if place in free]
        size = least
        if len(kept) > least and longer:
            size, longer = least + 1, longer - 1
        got[member] = set(kept[:size])
        for place in kept[:size]:
            del free[place]
    left = iter(free)
    for member in order:
        got[member].update(next(left) for _ in range(least - len(got[member])))
    for member in order:
        if not longer:
            break
        if len(got[member]) == least:
            got[member].add(next(left))
            longer -= 1
    return got


def _each_its_own(
    order: Sequence[MemberId],
    wanted: Wanted,
    counts: Mapping[TopicId, int],
    before: Mapping[MemberId, Assignment],
) -> Held:
    """Members want different topics: what is free goes to who has least of those that want it, and then partitions
    move from who has most to who has least, one by one, as long as that makes them more alike."""
    rank = {member: at for at, member in enumerate(order)}
    got: Held = {member: set() for member in order}
    owner: dict[PartitionKey, MemberId] = {}
    for member in order:
        for topic, i in _places(before.get(member, NOTHING)):
            if topic in wanted[member] and i < counts.get(topic, 0) and (topic, i) not in owner:
                owner[topic, i] = member
                got[member].add((topic, i))
    sharers = {topic: [member for member in order if topic in wanted[member]] for topic in counts}

    def load(member: MemberId) -> tuple[int, int]:
        return len(got[member]), rank[member]

    places = [(t, i) for t in sorted(counts, key=lambda t: (len(sharers[t]), t)) for i in range(counts[t])]
    for place in places:
        if place not in owner and sharers[place[0]]:
            taker = min(sharers[place[0]], key=load)
            owner[place] = taker
            got[taker].add(place)
    for _ in range(len(places)):
        moved = False
        for place in places:
            giver = owner.get(place)
            if giver is None:
                continue
            taker = min(sharers[place[0]], key=load)
            if len(got[giver]) > len(got[taker]) + 1:
                got[giver].discard(place)
                got[taker].add(place)
                owner[place] = taker
                moved = True
        if not moved:
            break
    return got


def _places(assignment: Assignment) -> list[PartitionKey]:
    return [(topic, i) for topic in sorted(assignment) for i in sorted(assignment[topic])]


def _by_member(held: Mapping[MemberId, Collection[PartitionKey]]) -> dict[MemberId, Assignment]:
    found: dict[MemberId, Assignment] = {}
    for member, places in held.items():
        by_topic: dict[TopicId, list[int]] = {}
        for topic, i in places:
            insort(by_topic.setdefault(topic, []), i)
        found[member] = {topic: frozenset(by_topic[topic]) for topic in sorted(by_topic)}
    return found
