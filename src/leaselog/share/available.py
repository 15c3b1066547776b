"""Where records wait to be acquired: a heap of the first offsets of acquirable runs, invalidated lazily.

The first offset of every acquirable run is in the heap. An offset in the heap may be stale (acquired, merged into the
run before it, gone); it is dropped when it comes to the top. So the first acquirable record is found in O(log runs),
however many records are leased or done before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush

from leaselog.share.inflight import Cell, InFlight, Run

__all__ = ["Available"]

#: of all that have had none; never changed
NONE_YET: list[int] = []


class Available:
    __slots__ = ("_is_acquirable", "_window", "heap")

    def __init__(self, window: InFlight, is_acquirable: Callable[[Cell], bool]) -> None:
        #: to be looked at
        self.heap = NONE_YET
        self._window = window
        self._is_acquirable = is_acquirable

    def push(self, start: int) -> None:
        if self.heap is NONE_YET:
            self.heap = []
        heappush(self.heap, start)

    def first(self) -> int | None:
        """The first acquirable offset of the window."""
        while self.heap:
            if self._run(self.heap[0]) is not None:
                return self.heap[0]
            heappop(self.heap)
        return None

    def take(self, start: int, end: int) -> Taker:
        """Acquirable runs that touch ``[start, end)``, ascending. Close the taker before the window changes."""
        return Taker(self, start, end)

    def rebuild(self, starts: Iterable[int]) -> None:
        self.heap = list(starts)
        heapify(self.heap)

    def _run(self, start: int) -> Run | None:
        if not self._window.start <= start < self._window.end:
            return None
        run = self._window.run_at(start)
        return run if run[0] == start and self._is_acquirable(run[2]) else None

    def _pop(self, end: int) -> Run | None:
        while self.heap and self.heap[0] < end:
            run = self._run(heappop(self.heap))
            if run is not None:
                # a second entry of the same run would hand it out twice
                while self.heap and self.heap[0] == run[0]:
                    heappop(self.heap)
                return run
        return None


class Taker:
    """Walks the heap without losing what it passes: on exit every run looked at goes back, but those that are taken."""

    __slots__ = ("_available", "_end", "_seen", "_start")

    def __init__(self, available: Available, start: int, end: int) -> None:
        self._available = available
        self._start = start
        self._end = end
        self._seen: list[int] = []

    def __enter__(self) -> Taker:
        return self

    def __exit__(self, *_: object) -> None:
        for start in self._seen:
            self._available.push(start)

    def next(self) -> Run | None:
        """The next acquirable run, clipped to the range."""
        while (run := self._available._pop(self._end)) is not None:
            self._seen.append(run[0])
            if run[1] > self._start:
                return max(run[0], self._start), min(run[1], self._end), run[2]
        return None

    def taken(self) -> None:
        """The last run will be handed out, at least its head. Whoever does that says where the rest of it begins."""
        if self._seen[-1] >= self._start:
            self._seen.pop()
