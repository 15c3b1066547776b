"""Where requests wait for something to happen: long polls, parked under the keys that may wake them.

One future a waiting request, one timer, no task of its own. Whoever makes something happen calls `wake(key)`;
every request parked under the key then looks again and, if it is not satisfied, comes back.

A request with many keys does not come and go for each waking: a `Watch` stays parked until the request is answered, and
says which of its keys were woken. So a waking costs as much as what it woke, however many keys there are beside it.

Bound: `MAX_WATCHED` keys of all watches together; at the bound `has_room` says so, and a request does without waiting.
Who waits once waits under few keys, and the number of connections bounds how many do.

Who looks in one turn of the loop and parks in a later one may miss what happened in between: `wake_count` says whether
anything did.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["Follower", "WaitingRoom", "Watch"]

#: of all watches, half a kilobyte each with what a fetch knows of the partition
MAX_WATCHED = 100_000
#: keys that a watch leaves before others get their turn
LEAVE_STEP = 1_000


class Watch:
    """A request that stays parked under its keys, and is told which of them were woken. Made by `WaitingRoom.watch`."""

    __slots__ = ("_happened", "_is_time_up", "_news", "keys")

    def __init__(self) -> None:
        self.keys: list[Hashable] = []
        #: what was woken since it was last asked for, in that order and once each
        self._happened: dict[Hashable, None] = {}
        self._is_time_up = False
        self._news: asyncio.Future[None] | None = None

    async def wait(self) -> tuple[Hashable, ...]:
        """The keys that were woken since the last call, as soon as there is one. None of them: the time is up."""
        if not self._happened and not self._is_time_up:
            self._news = asyncio.get_running_loop().create_future()
            try:
                await self._news
            finally:
                self._news = None
        happened = tuple(self._happened)
        self._happened.clear()
        return happened

    def woken(self, key: Hashable) -> None:
        self._happened[key] = None
        self._tell()

    def time_is_up(self) -> None:
        self._is_time_up = True
        self._tell()

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)


class Follower(Protocol):
    def woken(self) -> None:
        """It must not begin or end to follow by this."""


class WaitingRoom:
    def __init__(self) -> None:
        #: every waiting future stands under all of its keys, and under no other; who came first stands first
        self._parked: dict[Hashable, dict[asyncio.Future[bool], None]] = {}
        #: every watch stands under all of its keys until it has left
        self._watches: dict[Hashable, dict[Watch, None]] = {}
        #: what watches that are over still stand under
        self._leaving: deque[tuple[Watch, Iterator[Hashable]]] = deque()
        self._watched = 0
        self._count = 0
        #: what else is to be told when a key is woken
        self._followers: dict[Hashable, dict[Follower, None]] = {}
        #: how often anybody was woken, or would have been
        self.wake_count = 0

    def __len__(self) -> int:
        return self._count

    async def wait(self, keys: Iterable[Hashable], timeout_s: float) -> bool:
        """True when a key was woken, False when the time ran out."""
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[bool] = loop.create_future()
        keys = tuple(keys)
        for key in keys:
            self._parked.setdefault(key, {})[woken] = None
        timer = loop.call_later(timeout_s, _settle, woken, False)
        self._count += 1
        try:
            return await woken
        finally:
            self._count -= 1
            timer.cancel()
            self._leave(keys, woken)

    def _leave(self, keys: tuple[Hashable, ...], woken: asyncio.Future[bool]) -> None:
        for key in keys:
            waiting = self._parked[key]
            waiting.pop(woken, None)
            if not waiting:
                del self._parked[key]

    def has_room(self, key_count: int) -> bool:
        """Whether one more watch may have so many keys."""
        return self._watched + key_count <= MAX_WATCHED

    @contextmanager
    def watch(self, timeout_s: float) -> Iterator[Watch]:
        """Parks under the keys that are given to `park`, until the end of the ``with``."""
        watch = Watch()
        self._count += 1
        timer = asyncio.get_running_loop().call_later(timeout_s, watch.time_is_up)
        try:
            yield watch
        finally:
            timer.cancel()
            self._count -= 1
            self._leaving.append((watch, iter(watch.keys)))
            if len(self._leaving) == 1:
                self._leave_some()

    def park(self, watch: Watch, key: Hashable) -> None:
        """The watch is told whenever ``key`` is woken from now on."""
        watch.keys.append(key)
        self._watches.setdefault(key, {})[watch] = None
        self._watched += 1

    def _leave_some(self) -> None:
        """Takes what is over out, so many keys a turn of the loop."""
        for _ in range(LEAVE_STEP):
            watch, keys = self._leaving[0]
            for key in keys:
                self._watched -= 1
                watches = self._watches.get(key, {})
                watches.pop(watch, None)
                if not watches:
                    self._watches.pop(key, None)
                break
            else:
                self._leaving.popleft()
                if not self._leaving:
                    return
        asyncio.get_running_loop().call_soon(self._leave_some)

    def wake(self, key: Hashable) -> None:
        self.wake_count += 1
        for watch in self._watches.get(key, ()):
            watch.woken(key)
        for woken in self._parked.get(key, ()):
            _settle(woken, True)
        for follower in self._followers.get(key, ()):
            follower.woken()

    def follow(self, key: Hashable, follower: Follower) -> None:
        """From now on `wake(key)` tells the follower, too."""
        self._followers.setdefault(key, {})[follower] = None

    def unfollow(self, key: Hashable, follower: Follower) -> None:
        followers = self._followers.get(key, {})
        followers.pop(follower, None)
        if not followers:
            self._followers.pop(key, None)

    def wake_all(self) -> None:
        """Sends everybody home, as if each had been woken: the broker is stopping."""
        for key in (*self._parked, *self._watches):
            self.wake(key)


def _settle(future: asyncio.Future[bool], outcome: bool) -> None:
    if not future.done():
        future.set_result(outcome)
