"""Where requests wait for something to happen: long polls, parked under the keys that may wake them.

One future a waiting request, one timer, no task of its own. Whoever makes something happen calls `wake(key)`;
every request parked under the key then looks again and, if it is not satisfied, comes back. Nothing is bounded
here because the number of connections is: each can wait for one request only.

Who looks in one turn of the loop and parks in a later one may miss what happened in between: `wake_count` says whether
anything did.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterable

__all__ = ["WaitingRoom"]


class WaitingRoom:
    def __init__(self) -> None:
        #: every waiting future stands under all of its keys, and under no other; who came first is woken first
        self._parked: dict[Hashable, dict[asyncio.Future[bool], None]] = {}
        self._count = 0
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
            for key in keys:
                waiting = self._parked[key]
                waiting.pop(woken, None)
                if not waiting:
                    del self._parked[key]

    def wake(self, key: Hashable) -> None:
        self.wake_count += 1
        for woken in self._parked.get(key, ()):
            _settle(woken, True)

    def wake_all(self) -> None:
        """Sends everybody home, as if each had been woken: the broker is stopping."""
        for key in tuple(self._parked):
            self.wake(key)


def _settle(future: asyncio.Future[bool], outcome: bool) -> None:
    if not future.done():
        future.set_result(outcome)
