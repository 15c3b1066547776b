"""The window of a share partition as runs: neighbouring records that are alike in everything are one entry.

The runs tile ``[start, end)`` without holes and without two alike side by side, so a run is only its first offset and
its cell; it ends where the next begins. Cells are immutable and shared. The runs live in chunks of a few hundred, in
two parallel lists, under a list of the chunks' first offsets: a two-level tree. Finding is two bisections; a change
moves memory in one chunk only, whether the window holds ten runs or a million.

This is a data structure. It knows nothing of what a cell means.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from leaselog.model import MemberId
from leaselog.share.record_state import RecordState

__all__ = ["Cell", "InFlight", "Run"]

#: runs in a chunk after it was split; a chunk is split when it has twice as many
CHUNK = 256


class Cell(NamedTuple):
    """What is known of a record. A tuple, because cells are compared and made on the hottest path.

    While a write is in flight (``write`` is its token) the state is still the one before, and ``target`` the one
    that the write is to make durable. Of an ARCHIVING record the write may also be that of its dead letter.
    """

    state: RecordState
    delivery_count: int
    #: while ACQUIRED, and only then
    holder: MemberId | None = None
    #: while ACQUIRED the end of the lease; of an AVAILABLE record the time before which it is held back
    deadline_ms: int | None = None
    write: int | None = None
    target: RecordState | None = None
    #: while ARCHIVING or ARCHIVED is the state or the target: why it failed, if that is known; or that it is no record
    cause: str | None = None
    #: while AVAILABLE is the target: the deadline that it will have then
    due_ms: int | None = None


Run = tuple[int, int, Cell]

#: of all windows without runs, most of which stay so for long; never changed
NO_FIRSTS: list[int] = []
NO_STARTS: list[list[int]] = []
NO_CELLS: list[list[Cell]] = []


class InFlight:
    """The runs of ``[start, end)``."""

    __slots__ = ("_cells", "_firsts", "_starts", "end", "run_count", "start")

    def __init__(self, start: int) -> None:
        #: for others to read; equal when there are no runs
        self.start = self.end = start
        self.run_count = 0
        self._firsts, self._starts, self._cells = NO_FIRSTS, NO_STARTS, NO_CELLS

    def __iter__(self) -> Iterator[Run]:
        for chunk, starts in enumerate(self._starts):
            ends = [*starts[1:], self._chunk_end(chunk)]
            yield from zip(starts, ends, self._cells[chunk], strict=True)

    def first(self) -> Cell:
        """The cell at ``start``. The window must not be empty."""
        return self._cells[0][0]

    def drop_first(self) -> int:
        """Forget the first run, and get how many records that were. The window must not be empty."""
        before, starts = self.start, self._starts[0]
        if len(starts) > 1:
            del starts[0], self._cells[0][0]
            self.start = self._firsts[0] = starts[0]
        else:
            self.start = self._chunk_end(0)
            del self._firsts[0], self._starts[0], self._cells[0]
        self.run_count -= 1
        return self.start - before

    def run_at(self, offset: int) -> Run:
        """The run around an offset of the window."""
        return self.place(offset)[0]

    def place(self, offset: int) -> tuple[Run, int, int]:
        """The run around an offset of the window, and the chunk and the index at which it is until the next change."""
        chunk = bisect_right(self._firsts, offset) - 1
        starts = self._starts[chunk]
        index = bisect_right(starts, offset) - 1
        end = starts[index + 1] if index + 1 < len(starts) else self._chunk_end(chunk)
        return (starts[index], end, self._cells[chunk][index]), chunk, index

    def set_alone(self, chunk: int, index: int, cell: Cell) -> bool:
        """Give the run at a place another cell. False, and nothing done, if a neighbour is alike or out of sight.

        The commonest change by far; the others are for ``splice``.
        """
        starts, cells = self._starts[chunk], self._cells[chunk]
        if index + 1 < len(starts):
            if cells[index + 1] == cell:
                return False
        elif chunk + 1 < len(self._firsts):
            return False
        if index:
            if cells[index - 1] == cell:
                return False
        elif chunk:
            return False
        cells[index] = cell
        return True

    def runs(self, start: int, end: int, *, at_least: int = sys.maxsize) -> list[Run]:
        """The runs of ``[start, end)``, the outermost clipped to it. The range must lie in the window.

        With ``at_least`` it may stop at the end of a chunk when it has so many: for walks that go on from there.
        """
        if start >= end:
            return []
        chunk, index = self._find(start)
        starts = self._starts[chunk]
        run_end = starts[index + 1] if index + 1 < len(starts) else self._chunk_end(chunk)
        if run_end >= end:  # nearly always: what is asked for is alike
            return [(start, end, self._cells[chunk][index])]
        found: list[Run] = []
        at = start
        while at < end and len(found) < at_least:
            starts, cells = self._starts[chunk], self._cells[chunk]
            last = len(starts) - 1
            while at < end and index <= last:
                run_end = starts[index + 1] if index < last else self._chunk_end(chunk)
                if run_end > end:
                    run_end = end
                found.append((at, run_end, cells[index]))
                at = run_end
                index += 1
            chunk, index = chunk + 1, 0
        return found

    def splice(self, start: int, end: int, pieces: list[tuple[int, Cell]]) -> None:
        """Replace the runs of ``[start, end)``. Pieces are ``(first offset, cell)``, ascending, the first at start.

        Alike neighbours become one run, also across the borders of the range.
        """
        first_chunk, low = self._find(start)
        if self._starts[first_chunk][low] < start:
            low += 1
        last_chunk, high, rest = self._right_border(end)
        if rest is not None:
            pieces = [*pieces, (end, rest)]
        starts, cells = _merged(pieces, self._cell_before(first_chunk, low))
        if rest is None and self._has(last_chunk, high):
            tail = cells[-1] if cells else self._cell_before(first_chunk, low)
            if self._cells[last_chunk][high] == tail:
                high += 1
        self._replace(first_chunk, low, last_chunk, high, starts, cells)

    def append(self, end: int, cell: Cell) -> None:
        """Move the window's end up to ``end``; the new records are all alike."""
        if self._cells and self._cells[-1][-1] == cell:
            self.end = end
            return
        if self._starts is NO_STARTS:
            self._firsts, self._starts, self._cells = [], [], []
        if not self._starts or len(self._starts[-1]) >= CHUNK:
            self._firsts.append(self.end)
            self._starts.append([])
            self._cells.append([])
        self._starts[-1].append(self.end)
        self._cells[-1].append(cell)
        self.run_count += 1
        self.end = end

    def trim(self, start: int) -> None:
        """Forget everything below ``start``. At or past the end the window is empty, at ``start``."""
        if start >= self.end:
            self._firsts, self._starts, self._cells = NO_FIRSTS, NO_STARTS, NO_CELLS
            self.run_count, self.start, self.end = 0, start, start
            return
        if start <= self.start:
            return
        chunk, index = self._find(start)
        self.run_count -= sum(map(len, self._starts[:chunk])) + index
        del self._firsts[:chunk], self._starts[:chunk], self._cells[:chunk]
        del self._starts[0][:index], self._cells[0][:index]
        self._starts[0][0] = self._firsts[0] = self.start = start

    def _find(self, offset: int) -> tuple[int, int]:
        chunk = bisect_right(self._firsts, offset) - 1
        return chunk, bisect_right(self._starts[chunk], offset) - 1

    def _chunk_end(self, chunk: int) -> int:
        return self._firsts[chunk + 1] if chunk + 1 < len(self._firsts) else self.end

    def _has(self, chunk: int, index: int) -> bool:
        return index < len(self._starts[chunk])

    def _cell_before(self, chunk: int, index: int) -> Cell | None:
        if index:
            return self._cells[chunk][index - 1]
        return self._cells[chunk - 1][-1] if chunk else None

    def _right_border(self, end: int) -> tuple[int, int, Cell | None]:
        """Where the kept runs go on at ``end``, and the cell of a run that the border cuts in two."""
        if end >= self.end:
            return len(self._starts) - 1, len(self._starts[-1]), None
        chunk, index = self._find(end)
        if self._starts[chunk][index] == end:
            return chunk, index, None
        return chunk, index + 1, self._cells[chunk][index]

    def _replace(
        self, first: int, low: int, last: int, high: int, starts: list[int], cells: list[Cell]
    ) -> None:
        """Runs from (first, low) up to, not with, (last, high) go; these come in their place."""
        if first == last:
            self.run_count += len(starts) - (high - low)
            self._starts[first][low:high] = starts
            self._cells[first][low:high] = cells
        else:
            between = sum(map(len, self._starts[first + 1 : last]))
            self.run_count += len(starts) - (len(self._starts[first]) - low) - between - high
            # what is kept of the last chunk joins the first: then only one chunk needs balancing
            self._starts[first][low:] = [*starts, *self._starts[last][high:]]
            self._cells[first][low:] = [*cells, *self._cells[last][high:]]
            del self._firsts[first + 1 : last + 1]
            del self._starts[first + 1 : last + 1], self._cells[first + 1 : last + 1]
        self._balance(first)

    def _balance(self, chunk: int) -> None:
        starts, cells = self._starts[chunk], self._cells[chunk]
        if not starts:
            del self._firsts[chunk], self._starts[chunk], self._cells[chunk]
            return
        self._firsts[chunk] = starts[0]
        if len(starts) > 2 * CHUNK:
            cuts = range(0, len(starts), CHUNK)
            self._starts[chunk : chunk + 1] = [starts[at : at + CHUNK] for at in cuts]
            self._cells[chunk : chunk + 1] = [cells[at : at + CHUNK] for at in cuts]
            self._firsts[chunk : chunk + 1] = [starts[at] for at in cuts]
        elif chunk + 1 < len(self._starts) and len(starts) + len(self._starts[chunk + 1]) < CHUNK // 2:
            starts += self._starts[chunk + 1]
            cells += self._cells[chunk + 1]
            del self._firsts[chunk + 1], self._starts[chunk + 1], self._cells[chunk + 1]


def _merged(pieces: list[tuple[int, Cell]], before: Cell | None) -> tuple[list[int], list[Cell]]:
    starts: list[int] = []
    cells: list[Cell] = []
    for start, cell in pieces:
        if cell != before:
            starts.append(start)
            cells.append(cell)
            before = cell
    return starts, cells
