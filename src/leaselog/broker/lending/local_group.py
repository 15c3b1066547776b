"""What this node has of one share group: the owners of its share partitions, and the sessions that fetch from them.

Nobody looks at partitions to learn whether something has happened at them: where something happens is noted here, once,
and a session that looks again looks at what was noted since. So a wake costs what has changed, however many partitions
a session has and however many sessions a partition.

Where the first who looks takes all there is, waking everybody is in vain for all but one: of those who fetch from a
partition whoever has waited longest is woken. Who was woken so must pass on, after its look, what is left. What is
passed on is for those who waited when it happened: who came later has looked for itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from leaselog.broker.records.waiting_room import WaitingRoom
from leaselog.model import MemberId
from leaselog.share import Limits, TopicIdPartition

__all__ = ["LocalGroup", "Waiter", "Waking"]


class Line(Protocol):
    """A session that fetches from owners of the group."""

    #: its request that waits now
    waiter: Waiter | None

    def has(self, owner: Any) -> bool: ...

    def owner_ended(self, owner: Any) -> None: ...


class GroupOwner(Hashable, Protocol):
    """An owner, as its group knows it."""

    at: TopicIdPartition
    #: the sessions that fetch from it, and when something last happened there, as the group counts: it keeps both
    lines: tuple[Any, ...]
    news_at: int

    def can_give(self) -> bool: ...


OwnerT = TypeVar("OwnerT", bound=GroupOwner)
LineT = TypeVar("LineT", bound=Line)


class Waking(NamedTuple):
    """Why one request alone was woken."""

    owner: GroupOwner
    #: it is for those who had begun to wait by then, and goes no further
    last_number: int


class Waiter(Hashable, Protocol):
    """A request that waits."""

    #: what it has to pass on when it has looked; None if everybody was woken, or nobody
    waking: Waking | None

    @property
    def line(self) -> Line: ...


class LocalGroup(Generic[OwnerT, LineT]):
    __slots__ = (
        "_all_changed_at",
        "_last_number",
        "_limits",
        "_news",
        "_room",
        "_waiting",
        "lines",
        "news_count",
        "owners",
    )

    def __init__(self, room: WaitingRoom) -> None:
        self.owners: dict[TopicIdPartition, OwnerT] = {}
        #: by member, of sessions that are there
        self.lines: dict[MemberId, LineT] = {}
        #: how often something has happened
        self.news_count = 0
        self._room = room
        #: where, the latest last; each owner once
        self._news: dict[OwnerT, None] = {}
        #: when something happened to all of them
        self._all_changed_at = 0
        #: requests that nobody has woken, with the numbers they began to wait as; who came first stands first
        self._waiting: dict[Waiter, int] = {}
        self._last_number = 0
        self._limits: Limits | None = None

    def shared(self, limits: Limits) -> Limits:
        """The same as a group's other owners have, so that there is one of them and not thousands."""
        if limits != self._limits:
            self._limits = limits
        return self._limits

    # -- what happens ---------------------------------------------------------------------------------------

    def something_to_have(self, owner: OwnerT) -> None:
        """There may be: of those who wait for it, whoever has waited longest looks."""
        self._note(owner)
        if self._waiting:
            self.pass_on(Waking(owner, self._last_number))

    def changed(self, owner: OwnerT) -> None:
        """The owner is not what it was: everybody who waits for it looks."""
        self._note(owner)
        for line in owner.lines:
            self._wake(line.waiter)

    def all_changed(self) -> None:
        """Something that concerns all owners, as a config: everybody looks."""
        self.news_count += 1
        self._all_changed_at = self.news_count
        for waiter in list(self._waiting):
            self._wake(waiter)

    def has_ended(self, owner: OwnerT) -> None:
        """Whoever fetches from it looks for another one; who waits, looks now."""
        for line in owner.lines:
            line.owner_ended(owner)
            self._wake(line.waiter)
        owner.lines = ()
        self._news.pop(owner, None)
        if self.owners.get(owner.at) is owner:
            del self.owners[owner.at]

    def _note(self, owner: OwnerT) -> None:
        self.news_count += 1
        owner.news_at = self.news_count
        self._news.pop(owner, None)
        self._news[owner] = None

    # -- who looks again ------------------------------------------------------------------------------------

    def has_all_changed_since(self, count: int) -> bool:
        """Whether something has happened that concerns all owners since there was so much news."""
        return count < self._all_changed_at

    def news_since(self, count: int, among: dict[OwnerT, None]) -> Iterable[OwnerT]:
        """At which of these something has happened since there was so much news."""
        if self.has_all_changed_since(count):
            return among
        if self.news_count - count < len(among):
            return self._latest(count, among)
        return [owner for owner in among if owner.news_at > count]

    def _latest(self, count: int, among: dict[OwnerT, None]) -> Iterator[OwnerT]:
        for owner in reversed(self._news):
            if owner.news_at <= count:
                return
            if owner in among:
                yield owner

    # -- who waits ------------------------------------------------------------------------------------------

    @property
    def has_waiters(self) -> bool:
        return bool(self._waiting)

    async def wait(self, waiter: Waiter, timeout_s: float) -> None:
        """Until it is woken, or the time is up. One that was woken and is cancelled has to pass on, too."""
        line = waiter.line
        self._wake(line.waiter)  # the session has gone on without it
        self._last_number += 1
        self._waiting[waiter] = self._last_number
        waiter.waking, line.waiter = None, waiter
        try:
            await self._room.wait((waiter,), timeout_s)
        finally:
            self._waiting.pop(waiter, None)
            if line.waiter is waiter:
                line.waiter = None

    def pass_on(self, waking: Waking) -> None:
        """There is something left for the next of those who were waiting when it happened."""
        found = self._longest_waiting(*waking)
        if found is not None:
            found.waking = waking
            self._wake(found)

    def _longest_waiting(self, owner: GroupOwner, last_number: int) -> Waiter | None:
        """Looked for among the sessions of the owner or among those who wait, whichever are fewer."""
        waiting = self._waiting
        if len(owner.lines) > len(waiting):
            for waiter, number in waiting.items():
                if number > last_number:
                    return None
                if waiter.line.has(owner):
                    return waiter
            return None
        found, earliest = None, last_number + 1
        for line in owner.lines:
            number = 0 if line.waiter is None else waiting.get(line.waiter, 0)
            if 0 < number < earliest:
                found, earliest = line.waiter, number
        return found

    def _wake(self, waiter: Waiter | None) -> None:
        if waiter is not None:
            self._waiting.pop(waiter, None)
            self._room.wake(waiter)
