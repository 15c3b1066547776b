"""Turns of the loop: how long a piece of work may keep everybody else waiting, and who goes next.

All of a broker runs on one loop, so a piece of work that could be long asks `is_spent` between its steps. When a
millisecond is gone it steps back: a coroutine with ``await turns.step_back()``, a callback by queueing what is left of
it with ``turns.queue``. Who steps back goes on when everybody who stepped back before it has, and each turn of the
loop looks at the sockets first. Work in steps of its own (a generator of a pure room) is carried by `walk`.

While anybody is queued, whoever comes is queued, too, and whoever is new goes before those who had a turn already, for
a tenth of a millisecond: most of what comes is a request or two, and a crowd that always has more to do does not keep
it waiting. Of those who had a turn one goes on in each turn of the loop, so nobody waits for ever.

What runs is measured piece by piece between `begin` and `end`; coroutines are by `measured`. A piece is the work's
part of one turn. That costs two looks at the clock and a comparison; anything more is paid by pieces over the budget
alone. Pieces that follow each other closely share one budget, as the loop may not have looked around between them.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterable
from itertools import islice
from typing import Any, TypeVar

from leaselog.broker.runtime.plain_histogram import PlainHistogram
from leaselog.broker.runtime.structured_log import StructuredLog

__all__ = ["BUDGET_S", "WARN_S", "Measured", "Turns", "Walk"]

T = TypeVar("T")

BUDGET_S = 0.001
#: of what one request asks of many: enough that they share a sync
CROWD = 64
#: of somebody new, while others are queued
NEWCOMERS_S = 0.0001
#: with so much between two pieces, the loop has looked at its sockets
GAP_S = 0.0001
WARN_S = 0.05
#: whoever is slow once is slow again: one line for a kind of work in so long
WARNING_PAUSE_S = 60.0
LONG_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

log = StructuredLog("turns")


class Turns:
    def __init__(self, clock: Callable[[], float]) -> None:
        """``clock`` counts seconds from anywhere, and is cheap."""
        self.clock = clock
        #: of pieces that took longer than the budget, by kind of work; bounded, as kinds are names in the code
        self.long: dict[str, PlainHistogram] = {}
        #: the longest piece of each kind that ever was over the budget, in seconds
        self.longest: dict[str, float] = {}
        #: when the turn is spent; to be compared with what `begin` gave
        self.spent_s = -math.inf
        #: when the last piece was over
        self._ended_s = -math.inf
        #: who had no turn yet; first come, first served
        self._new: deque[Callable[[], object]] = deque()
        #: who stepped back, and whether it goes on within the call; first come, first served
        self._queue: deque[tuple[Callable[[], object], bool]] = deque()
        self._is_scheduled = False
        #: by kind: when it was last warned of, and how many warnings were kept back since
        self._warned: dict[str, tuple[float, int]] = {}

    # -- the budget -----------------------------------------------------------------------------------------

    def is_spent(self) -> bool:
        """Whether work that can go on later should step back now."""
        return self.clock() >= self.spent_s

    def queue(self, work: Callable[[], object], *, is_new: bool = False) -> None:
        """Calls ``work`` in a later turn, after everybody who is queued already and as new as this."""
        if is_new:
            self._new.append(work)
        else:
            self._queue.append((work, True))
        self._schedule()

    async def step_back(self) -> None:
        """Returns in a later turn, after everybody who is queued already, with a new budget."""
        turn = asyncio.get_running_loop().create_future()
        self._queue.append((lambda: _settle(turn), False))
        self._schedule()
        await turn
        self.spent_s = self.clock() + BUDGET_S

    def start(self, steps: Generator[object, None, T]) -> T | Walk[T]:
        """Takes steps until the turn is spent: what the generator returns, or who takes the rest of them."""
        while True:
            try:
                next(steps)
            except StopIteration as end:
                told: T = end.value
                return told
            if self.is_spent():
                return self.walk(steps)

    def walk(self, steps: Generator[object, None, T]) -> Walk[T]:
        """Takes all the steps, as many in a turn as fit; what the generator returns."""
        return Walk(self, steps)

    async def each(self, items: Iterable[T]) -> AsyncIterator[T]:
        """The items one after the other; between two of them others have their turn, if this one's is spent."""
        for item in items:
            yield item
            if self.is_spent():
                await self.step_back()

    async def gather(self, asked: Iterable[Awaitable[T]]) -> list[T]:
        """What comes of all of them, in their order; so many are under way at a time."""
        told: list[T] = []
        rest = iter(asked)
        while crowd := tuple(islice(rest, CROWD)):
            told += await asyncio.gather(*crowd)
            if self.is_spent():
                await self.step_back()
        return told

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        """One turn for those who are queued: at least one of each kind goes on."""
        now_s = self.clock()
        end_s = now_s + BUDGET_S
        try:
            for _ in range(len(self._new)):
                self.spent_s = now_s + NEWCOMERS_S
                self._new.popleft()()
                now_s = self.clock()
                if now_s >= end_s:
                    break
            self.spent_s = max(end_s, now_s + NEWCOMERS_S)
            for _ in range(len(self._queue)):
                work, goes_on_here = self._queue.popleft()
                work()
                if not goes_on_here or self.is_spent():
                    break  # a coroutine goes on in the loop's next turn, and what it will take nobody knows
        finally:
            self._is_scheduled = False
            self._ended_s = self.clock()
            if self._queue or self._new:
                self._schedule()

    # -- measuring ------------------------------------------------------------------------------------------

    def begin(self) -> float:
        """A piece of work begins: when, for `end`."""
        now_s = self.clock()
        if now_s - self._ended_s > GAP_S and not self._is_scheduled:
            self.spent_s = now_s + BUDGET_S
        return now_s

    def end(self, work: str, began_s: float) -> float:
        """The piece is over: how long it took. ``work`` is the name of an API, or of the function."""
        now_s = self._ended_s = self.clock()
        took_s = now_s - began_s
        if took_s > BUDGET_S:
            self._note(work, took_s)
        return took_s

    def measured(self, work: str, coroutine: Coroutine[Any, Any, T]) -> Measured[T]:
        """The same coroutine; each of its steps is a piece of ``work``."""
        return Measured(self, work, coroutine)

    def _note(self, work: str, seconds: float) -> None:
        if work not in self.long:
            self.long[work] = PlainHistogram(LONG_SECONDS)
            self.longest[work] = 0.0
        self.long[work].observe(seconds)
        self.longest[work] = max(self.longest[work], seconds)
        if seconds > WARN_S:
            self._warn(work, seconds)

    def _warn(self, work: str, seconds: float) -> None:
        told_s, untold = self._warned.get(work, (-WARNING_PAUSE_S, 0))
        if self._ended_s - told_s < WARNING_PAUSE_S:
            self._warned[work] = (told_s, untold + 1)
            return
        self._warned[work] = (self._ended_s, 0)
        more = {"untold_before": untold} if untold else {}
        log.warning("one piece of work kept all else waiting", work=work, seconds=round(seconds, 3), **more)


def _settle(turn: asyncio.Future[None]) -> None:
    if not turn.done():  # it may have been cancelled
        turn.set_result(None)


class Walk(Coroutine[Any, Any, T]):
    """Steps that are still to be taken.

    A generator inside: whoever is to await it may be cancelled, or die, before the first step. A coroutine would
    complain of never having been awaited then.
    """

    __slots__ = ("_going",)

    def __init__(self, turns: Turns, steps: Generator[object, None, T]) -> None:
        self._going = _walk(turns, steps)

    def send(self, value: Any) -> Any:
        return self._going.send(value)

    def throw(self, *thrown: Any) -> Any:
        return self._going.throw(*thrown)

    def close(self) -> None:
        self._going.close()

    def __await__(self) -> Generator[Any, Any, T]:
        return self._going


def _walk(turns: Turns, steps: Generator[object, None, T]) -> Generator[Any, Any, T]:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            told: T = end.value
            return told
        if turns.is_spent():
            yield from turns.step_back().__await__()


class Measured(Coroutine[Any, Any, T]):
    """A coroutine whose every step is told to `Turns`."""

    __slots__ = ("_coroutine", "_turns", "_work", "seconds")

    def __init__(self, turns: Turns, work: str, coroutine: Coroutine[Any, Any, T]) -> None:
        self._turns = turns
        self._work = work
        self._coroutine = coroutine
        #: that its steps took so far
        self.seconds = 0.0

    def send(self, value: Any) -> Any:
        began_s = self._turns.begin()
        try:
            return self._coroutine.send(value)
        finally:
            self.seconds += self._turns.end(self._work, began_s)

    def throw(self, *thrown: Any) -> Any:
        began_s = self._turns.begin()
        try:
            return self._coroutine.throw(*thrown)
        finally:
            self.seconds += self._turns.end(self._work, began_s)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, T]:
        return self._coroutine.__await__()

    def __repr__(self) -> str:
        return f"<{self._work}: {self._coroutine!r}>"
