"""When leases end: a heap of (deadline, range), invalidated lazily.

An entry says "somewhere in this range a lease may end at this time". Acknowledged or renewed records leave their
entry behind; whoever pops it looks at the records themselves. The owner bounds the garbage by rebuilding.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

__all__ = ["Deadlines"]


class Deadlines:
    __slots__ = ("_heap",)

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, deadline_ms: int, start: int, end: int) -> None:
        heappush(self._heap, (deadline_ms, start, end))

    def next_ms(self, start: int) -> int | None:
        """The earliest time at which a lease may end. Entries wholly below ``start`` go."""
        heap = self._heap
        while heap and heap[0][2] <= start:
            heappop(heap)
        return heap[0][0] if heap else None

    def pop_due(self, now_ms: int) -> tuple[int, int] | None:
        """A range in which leases may have ended by now; None when there is no more."""
        if self._heap and self._heap[0][0] <= now_ms:
            _, start, end = heappop(self._heap)
            return start, end
        return None

    def rebuild(self, entries: Iterable[tuple[int, int, int]]) -> None:
        """Start over with what is really leased."""
        self._heap = list(entries)
        heapify(self._heap)
