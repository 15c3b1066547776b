"""When something happens if nothing else does: one deadline a key, moved often, due rarely.

A heartbeat moves its member's deadline; a heap that took each move would be heartbeats deep. So a later
deadline only goes into the table, and the heap learns of it when the old one comes up.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

__all__ = ["DeadlineMoves", "Deadlines"]

K = TypeVar("K")

#: below this many stale entries the heap is not worth rebuilding
_SLACK = 64


class DeadlineMoves(Generic[K]):
    """What a turn wants of the deadlines, in its order; they move when it is carried out."""

    def __init__(self) -> None:
        #: None where there is to be none
        self.made: list[tuple[K, int | None]] = []

    def set(self, key: K, deadline_ms: int) -> None:
        self.made.append((key, deadline_ms))

    def cancel(self, key: K) -> None:
        self.made.append((key, None))


class Deadlines(Generic[K]):
    def __init__(self) -> None:
        self._due_ms: dict[K, int] = {}
        #: the heap's earliest entry of each key; never later than the key's deadline
        self._known_ms: dict[K, int] = {}
        self._heap: list[tuple[int, int, K]] = []
        self._pushes = 0

    def __len__(self) -> int:
        return len(self._due_ms)

    def __contains__(self, key: K) -> bool:
        return key in self._due_ms

    def set(self, key: K, deadline_ms: int) -> None:
        self._due_ms[key] = deadline_ms
        known = self._known_ms.get(key)
        if known is None or deadline_ms < known:
            self._push(key, deadline_ms)

    def cancel(self, key: K) -> None:
        self._due_ms.pop(key, None)

    def move(self, moves: Iterable[tuple[K, int | None]]) -> None:
        for key, deadline_ms in moves:
            if deadline_ms is None:
                self.cancel(key)
            else:
                self.set(key, deadline_ms)

    def next(self) -> int | None:
        """The earliest deadline, None without any."""
        self._settle()
        return self._heap[0][0] if self._heap else None

    def due(self, now_ms: int) -> K | None:
        """A key whose deadline has come, the earliest first; the same one until it is moved."""
        self._settle()
        return self._heap[0][2] if self._heap and self._heap[0][0] <= now_ms else None

    def _push(self, key: K, deadline_ms: int) -> None:
        if len(self._heap) > 2 * len(self._due_ms) + _SLACK:
            self._rebuild()
            return
        self._pushes += 1  # keys need no order
        self._known_ms[key] = deadline_ms
        heappush(self._heap, (deadline_ms, self._pushes, key))

    def _rebuild(self) -> None:
        self._known_ms = dict(self._due_ms)
        self._heap = [(due, i, key) for i, (key, due) in enumerate(self._due_ms.items())]
        self._pushes = len(self._heap)
        heapify(self._heap)

    def _settle(self) -> None:
        """Leave a true deadline on top of the heap."""
        while self._heap:
            at_ms, _, key = self._heap[0]
            if self._known_ms.get(key) != at_ms:  # a stale entry: an earlier one took its place
                heappop(self._heap)
                continue
            due = self._due_ms.get(key)
            if due == at_ms:
                return
            heappop(self._heap)
            del self._known_ms[key]
            if due is not None:
                self._push(key, due)
