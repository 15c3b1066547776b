"""Changing a share group's balanced assignment when members come or go: what `share_assignor` would balance anew.

A group that was balanced needs little to be so again: what those have left who went goes to those who have least, and
who has come takes from those who have most, until nobody has two more than anybody else. So few members get other
targets, however many there are. It holds as long as everybody wants the same topics, these have the partitions they
had, and a partition is shared by as many as before; else there is nothing to go on from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import islice

from leaselog.coordination.share_group_facts import Assignment, PartitionKey
from leaselog.model import MemberId, TopicId

__all__ = ["readjust"]

#: a partition of a topic

NOTHING: Assignment = {}
#: members asked in vain whether they can have a partition: beyond it, all is balanced anew
TRIES = 16


def readjust(
    members: Collection[MemberId],
    places: int,
    targets: Mapping[MemberId, Assignment],
    freed: Iterable[Assignment],
) -> dict[MemberId, Assignment] | None:
    """The targets that change. Of ``members`` those are new that have none; ``freed`` had those who are gone.

    None if that is not how a balanced group has come to be what it is: so many partitions are there in all, and each
    has as many members as it takes to keep everybody busy.
    """
    book = _Book(members, targets)
    loose = [place for target in freed for place in _places(target)]
    if not places or book.slots + len(loose) != -(-len(members) // places) * places:
        return None
    if not all(book.give(place) for place in loose):
        return None
    while book.most - book.least > 1:
        if not book.level():
            return None
    return book.changed()


class _Book:
    """Who has how many; of those that are touched, which."""

    def __init__(self, members: Collection[MemberId], targets: Mapping[MemberId, Assignment]) -> None:
        self._targets = targets
        self._member_count = len(members)
        self._by_size: dict[int, dict[MemberId, None]] = {}
        self.slots = 0
        for member in members:
            size = 0
            for partitions in targets.get(member, NOTHING).values():
                size += len(partitions)
            self._by_size.setdefault(size, {})[member] = None
            self.slots += size
        self._held: dict[MemberId, dict[PartitionKey, None]] = {
            member: {} for member in members if member not in targets
        }

    @property
    def most(self) -> int:
        return max(self._by_size)

    @property
    def least(self) -> int:
        return min(self._by_size)

    def give(self, place: PartitionKey) -> bool:
        """To one of those who have least, of those who do not have it."""
        tries = 0
        for size in sorted(self._by_size):
            for member in self._by_size[size]:
                if place not in self._of(member):
                    self._of(member)[place] = None
                    self._resize(member, size, size + 1)
                    self.slots += 1
                    return True
                tries += 1
                if tries == TRIES:
                    return False
        return False

    def level(self) -> bool:
        """From one of those who have most to one of those who have least, until one has what is fair, or one of it.

        False if it cannot be.
        """
        most, least = self.most, self.least
        giver, taker = next(iter(self._by_size[most])), next(iter(self._by_size[least]))
        fair, rest = divmod(self.slots, self._member_count)
        wanted = max(1, min(most - fair - (rest > 0), fair - least))
        theirs, mine = self._of(taker), self._of(giver)
        moved = list(islice((place for place in reversed(mine) if place not in theirs), wanted))
        for place in moved:
            del mine[place]
        theirs.update(dict.fromkeys(moved))
        self._resize(giver, most, most - len(moved))
        self._resize(taker, least, least + len(moved))
        return bool(moved)

    def changed(self) -> dict[MemberId, Assignment]:
        after = {member: _assignment(places) for member, places in self._held.items()}
        return {member: target for member, target in after.items() if self._targets.get(member) != target}

    def _of(self, member: MemberId) -> dict[PartitionKey, None]:
        held = self._held.get(member)
        if held is None:
            held = self._held[member] = dict.fromkeys(_places(self._targets[member]))
        return held

    def _resize(self, member: MemberId, before: int, after: int) -> None:
        sized = self._by_size[before]
        del sized[member]
        if not sized:
            del self._by_size[before]
        self._by_size.setdefault(after, {})[member] = None


def _places(target: Assignment) -> list[PartitionKey]:
    return [(topic, i) for topic in sorted(target, key=str) for i in sorted(target[topic])]


def _assignment(places: Iterable[PartitionKey]) -> Assignment:
    by_topic: dict[TopicId, list[int]] = {}
    for topic, i in places:
        by_topic.setdefault(topic, []).append(i)
    return {topic: frozenset(by_topic[topic]) for topic in sorted(by_topic, key=str)}
