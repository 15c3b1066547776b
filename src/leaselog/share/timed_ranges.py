"""Ranges of offsets by the time at which something may end in them, a lease or a wait: a heap, invalidated lazily.

An entry says "somewhere in this range a lease may end at this time". Acknowledged or renewed records leave their
entry behind; whoever pops it looks at the records themselves. The owner bounds the garbage by rebuilding.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

__all__ = ["TimedRanges"]

#: when more than this many are due, and more than this part of the heap, sorting is cheaper than popping the rest
_MANY = 16

#: of all that have had none; never changed
NONE_YET: list[tuple[int, int, int]] = []


class TimedRanges:
    __slots__ = ("heap",)

    def __init__(self) -> None:
        #: to be looked at; the first is the earliest
        self.heap = NONE_YET

    def push(self, deadline_ms: int, start: int, end: int) -> None:
        if self.heap is NONE_YET:
            self.heap = []
        heappush(self.heap, (deadline_ms, start, end))

    def next_ms(self, start: int) -> int | None:
        """The earliest time at which something may end. Entries wholly below ``start`` go."""
        heap = self.heap
        while heap and heap[0][2] <= start:
            heappop(heap)
        return heap[0][0] if heap else None

    def pop_due(self, now_ms: int) -> list[tuple[int, int]]:
        """The ranges in which something may have ended by now, ascending and disjoint."""
        heap = self.heap
        if not heap or heap[0][0] > now_ms:
            return []
        due: list[tuple[int, int]] = []
        while heap and heap[0][0] <= now_ms:
            if len(due) > _MANY and len(due) > len(heap) // _MANY:
                due += [(start, end) for deadline_ms, start, end in heap if deadline_ms <= now_ms]
                self.rebuild([entry for entry in heap if entry[0] > now_ms])
                break
            _, start, end = heappop(heap)
            due.append((start, end))
        return _united(due) if len(due) > 1 else due

    def rebuild(self, entries: Iterable[tuple[int, int, int]]) -> None:
        """Start over with what is really leased, or really waits."""
        self.heap = list(entries)
        heapify(self.heap)


def _united(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    ranges.sort()
    united = [ranges[0]]
    for start, end in ranges:
        low, high = united[-1]
        if start > high:
            united.append((start, end))
        elif end > high:
            united[-1] = low, end
    return united
