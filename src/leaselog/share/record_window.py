"""The window with its books: the runs, where records wait, when leases end, and how many are in which state.

The one place where a record changes. Every change goes through ``rewrite``, ``append`` or ``trim``, which check it
against the table of legal moves and keep the books, so no rule above has to remember to.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

from leaselog.model import BrokenInvariant, MemberId
from leaselog.share.acknowledging import is_hole
from leaselog.share.available import Available, Taker
from leaselog.share.dead_letters import LIMIT_REACHED, NO_RECORD
from leaselog.share.inflight import Cell, InFlight, Run
from leaselog.share.record_state import TERMINAL, RecordState, is_legal
from leaselog.share.timed_ranges import TimedRanges

__all__ = ["HOLE", "NEVER", "UNREAD", "RecordWindow", "is_acquirable"]

K = TypeVar("K", bound=Hashable)

#: looked up once: they are compared with at every step
_AVAILABLE, _ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED

#: no record at this offset of the log
HOLE = Cell(RecordState.ARCHIVED, 0)
#: in the window, never delivered as far as is known
UNREAD = Cell(_AVAILABLE, 0)

#: a time that does not come
NEVER = sys.maxsize
#: below this many stale entries a heap is not worth rebuilding
_SLACK = 64
#: a rewrite takes about so many runs at a time
_BLOCK = 256


def is_acquirable(cell: Cell) -> bool:
    """May a member take this record now? A rule that holds records back (a time, another record) belongs here."""
    return cell.state is _AVAILABLE and cell.write is None and cell.deadline_ms is None


class _Once(dict[Cell, Cell]):
    __slots__ = ("_decide",)

    def __init__(self, decide: Callable[[Cell], Cell]) -> None:
        self._decide = decide

    def __missing__(self, cell: Cell) -> Cell:
        new = self[cell] = self._decide(cell)
        return new


def _once(decide: Callable[[Cell], Cell]) -> Callable[[Cell], Cell]:
    """The same decision, made once for all that are alike, so that they go on sharing one cell.

    ``functools.cache`` takes longer to set up than most commands take.
    """
    return _Once(decide).__getitem__


class RecordWindow:
    __slots__ = (
        "_available",
        "_counts",
        "_held",
        "_lease_ends",
        "_runs",
        "_waits",
        "accepted_count",
        "became_available",
        "end",
        "failed_count",
        "first_end_ms",
        "given_up_count",
        "hole_count",
        "pending_complete_count",
        "push_count",
        "start",
        "waiting_count",
    )

    def __init__(self, start: int) -> None:
        self._runs = InFlight(start)
        #: as the runs have them, for others to read
        self.start = self.end = start
        self._available = Available(self._runs, is_acquirable)
        self._lease_ends = TimedRanges()
        #: the same of AVAILABLE records that are held back
        self._waits = TimedRanges()
        #: no lease and no wait ends before: a bound that costs nothing to look at
        self.first_end_ms = NEVER
        #: entries that came into the heaps since their garbage was last looked at
        self.push_count = 0
        #: records of the window by state
        self._counts = [0] * len(RecordState)
        #: ACQUIRED records by member; no zeros
        self._held: dict[MemberId, int] = {}
        #: offsets of the window without a record
        self.hole_count = 0
        #: records that a write in flight is to make terminal
        self.pending_complete_count = 0
        #: records that members have accepted, since the window was made
        self.accepted_count = 0
        #: records that were rejected or used up their deliveries; not what turned out to be no record
        self.failed_count = 0
        #: of those, the ones that had all their deliveries and become no dead letter
        self.given_up_count = 0
        #: AVAILABLE records that are held back until a time
        self.waiting_count = 0
        #: set whenever a record becomes acquirable; whoever wakes the fetchers clears it
        self.became_available = False

    @property
    def run_count(self) -> int:
        return self._runs.run_count

    @property
    def in_flight(self) -> int:
        """The size of the window that counts against its bound: all but what the log does not have."""
        return self.end - self.start - self.hole_count

    @property
    def complete_count(self) -> int:
        """Records of the window that are through, acknowledged or archived (and holes, which nobody waits for)."""
        return self._counts[RecordState.ACKNOWLEDGED] + self._counts[RecordState.ARCHIVED]

    def count(self, state: RecordState) -> int:
        return self._counts[state]

    def held_by(self, member: MemberId) -> int:
        return self._held.get(member, 0)

    def is_owed_by(self, member: MemberId) -> bool:
        """Has the member records of which it has not said what becomes of them? Walks the window if it has any."""
        return member in self._held and any(
            cell.holder == member and cell.write is None for _, _, cell in self._runs
        )

    def members(self) -> tuple[MemberId, ...]:
        return tuple(self._held)

    def runs(self, start: int, end: int) -> list[Run]:
        """The runs of the part of ``[start, end)`` that lies in the window."""
        if start < self.start:
            start = self.start
        if end > self.end:
            end = self.end
        return self._runs.runs(start, end)

    def first_available(self) -> int | None:
        return self._available.first() if self._available.heap else None

    def take_available(self, start: int, end: int) -> Taker:
        return self._available.take(start, end)

    def rewrite(self, start: int, end: int, decide: Callable[[Cell], Cell]) -> list[Run]:
        """Let ``decide`` say what becomes of each run in the range, and get those that changed, as they are now.

        It sees nothing but the cell, so it is asked once for all that are alike, and they go on sharing one.
        """
        at = start if start > self.start else self.start
        if end > self.end:
            end = self.end
        if at >= end:
            return []
        runs = self._runs
        (low, high, old), chunk, index = runs.place(at)
        if low == at and high == end:  # mostly it is one run
            new = decide(old)
            if new is old or new == old:
                return []
            self._change(at, end, old, new)
            if not runs.set_alone(chunk, index, new):
                runs.splice(at, end, [(at, new)])
            return [(at, end, new)]
        changed: list[Run] = []
        while at < end:
            at = self._rewrite_block(at, end, decide, changed)
        return changed

    def rewrite_each(
        self, stretches: Iterable[tuple[int, int, K]], decide: Callable[[K], Callable[[Cell], Cell]]
    ) -> list[tuple[K, Run]]:
        """The same of many stretches, ascending, each with a kind that says what becomes of it.

        The runs that changed, with their kinds. Thousands of short stretches side by side cost what their records do,
        and not a change of the window each.
        """
        deciding: dict[K, Callable[[Cell], Cell]] = {}
        changed: list[tuple[K, Run]] = []
        pieces: list[tuple[int, Cell]] = []
        old, at = UNREAD, self.start
        for start, end, kind in stretches:
            start, end = max(start, self.start), min(end, self.end)
            if start != at and pieces:
                self._put(pieces, at, old)
                pieces = []
            new_of = deciding.get(kind)
            if new_of is None:
                new_of = deciding[kind] = _once(decide(kind))
            for low, high, old in self._runs.runs(start, end):
                new = new_of(old)
                pieces.append((low, new))
                if new is not old and new != old:
                    self._change(low, high, old, new)
                    changed.append((kind, (low, high, new)))
            at = end
        if pieces:
            self._put(pieces, at, old)
        return changed

    def _put(self, pieces: list[tuple[int, Cell]], end: int, last: Cell) -> None:
        """New runs up to an offset, in front of which there was this cell."""
        self._runs.splice(pieces[0][0], end, pieces)
        if end < self.end and is_acquirable(last):
            self._available.push(end)  # the rest of a run that was cut in two
            self.push_count += 1

    def rewrite_blocks(self, start: int, end: int, decide: Callable[[Cell], Cell]) -> Iterator[list[Run]]:
        """The same, a few hundred runs at a time: what is made for them is still in the cache when it is used.

        To be walked to its end; what has been walked over is done.
        """
        at, end = max(start, self.start), min(end, self.end)
        while at < end:
            changed: list[Run] = []
            at = self._rewrite_block(at, end, decide, changed)
            yield changed

    def _rewrite_block(self, start: int, end: int, decide: Callable[[Cell], Cell], changed: list[Run]) -> int:
        """The first runs of the range, up to the offset that is returned."""
        pieces: list[tuple[int, Cell]] = []
        decide = _once(decide)
        old = UNREAD
        for low, high, old in self._runs.runs(start, end, at_least=_BLOCK):
            new = decide(old)
            pieces.append((low, new))
            if new is not old and new != old:
                self._change(low, high, old, new)
                changed.append((low, high, new))
        if changed:
            self._put(pieces, high, old)
        return high

    def append(self, end: int, cell: Cell) -> None:
        """Take the records from the window's end up to ``end`` in."""
        start = self.end
        if end <= start:
            return
        self._runs.append(end, cell)
        self.end = end
        self._enter(end - start, cell)
        if cell.state is _AVAILABLE:
            self._now_available(start, end, cell)

    def take_in(self, end: int, cell: Cell) -> None:
        """Append records that were never delivered, and make at once of them what ``rewrite`` would."""
        if cell is not UNREAD and not is_legal(UNREAD.state, cell.state):
            raise BrokenInvariant(f"{end - self.end} new records would become {cell}")
        self.append(end, cell)

    def trim(self, start: int) -> None:
        """Forget all records below ``start``, whatever their state."""
        for low, high, cell in self.runs(self.start, start):
            self._leave(high - low, cell)
        self._runs.trim(max(start, self.start))
        self.start, self.end = self._runs.start, self._runs.end
        if self.start < self.end and is_acquirable(self._runs.first()):
            self._available.push(self.start)
            self.push_count += 1

    def advance(self) -> None:
        """Move the start over what is terminal and known to be safe: no write about it is in flight."""
        runs = self._runs
        while self.start < self.end:
            cell = runs.first()
            if cell.state not in TERMINAL or cell.write is not None:
                return
            self._leave(runs.drop_first(), cell)
            self.start = runs.start

    def lease(self, start: int, end: int, deadline_ms: int) -> None:
        """Leases in this range end at that time; say so after every rewrite that gave any."""
        self._lease_ends.push(deadline_ms, start, end)
        self._pushed(deadline_ms)

    def next_deadline_ms(self) -> int | None:
        """When the first lease may end, or the first wait."""
        lease_ms = self._lease_ends.next_ms(self.start)
        if not self._waits.heap:
            return lease_ms
        wait_ms = self.next_due_ms()
        if wait_ms is None:
            return lease_ms
        return wait_ms if lease_ms is None else min(lease_ms, wait_ms)

    def next_due_ms(self) -> int | None:
        """When the first wait may end."""
        return self._waits.next_ms(self.start)

    def pop_due(self, now_ms: int) -> list[tuple[int, int]]:
        """Where leases may have ended."""
        due = self._lease_ends.pop_due(now_ms)
        self._look_for_first_end()
        return due

    def end_waits(self, now_ms: int) -> None:
        """What was held back until now is to be had."""
        due = self._waits.pop_due(now_ms)
        self._look_for_first_end()
        if not due:
            return

        def decide(cell: Cell) -> Cell:
            if cell.state is not _AVAILABLE or cell.deadline_ms is None or cell.deadline_ms > now_ms:
                return cell
            return Cell(_AVAILABLE, cell.delivery_count)

        for low, high in due:
            for _ in self.rewrite_blocks(low, high, decide):
                pass

    def bound_garbage(self) -> None:
        """Once a command, but done when enough has come in: stale entries do not come to outnumber the runs by much."""
        if self.push_count < _SLACK:
            return
        self.push_count = 0
        bound = 2 * self._runs.run_count + _SLACK
        if len(self._available.heap) > bound:
            self._available.rebuild(low for low, _, cell in self._runs if is_acquirable(cell))
        if len(self._lease_ends.heap) > bound:
            self._lease_ends.rebuild(
                (cell.deadline_ms, low, high)
                for low, high, cell in self._runs
                if cell.state is _ACQUIRED and cell.deadline_ms is not None
            )
        if len(self._waits.heap) > bound:
            self._waits.rebuild(
                (cell.deadline_ms, low, high)
                for low, high, cell in self._runs
                if cell.state is _AVAILABLE and cell.deadline_ms is not None
            )
        self._look_for_first_end()

    def _pushed(self, end_ms: int) -> None:
        self.push_count += 1
        if end_ms < self.first_end_ms:
            self.first_end_ms = end_ms

    def _look_for_first_end(self) -> None:
        leases, waits = self._lease_ends.heap, self._waits.heap
        self.first_end_ms = min(leases[0][0] if leases else NEVER, waits[0][0] if waits else NEVER)

    def _now_available(self, start: int, end: int, cell: Cell) -> None:
        """To be had, at once or later."""
        if cell.deadline_ms is not None:
            self._waits.push(cell.deadline_ms, start, end)
            self._pushed(cell.deadline_ms)
        elif cell.write is None:  # is_acquirable, without the call
            self._available.push(start)
            self.push_count += 1
            self.became_available = True

    def _change(self, start: int, end: int, old: Cell, new: Cell) -> None:
        """The books of a run that becomes another."""
        count, before, after = end - start, old.state, new.state
        if before is not after:
            if not is_legal(before, after):
                raise BrokenInvariant(f"{count} records would go from {old} to {new}")
            if before is _ACQUIRED:
                self._finish(count, after, new.cause)
        elif before is _ACQUIRED and new.holder == old.holder and new.deadline_ms is not None:
            # leased as it was: it can differ in what its write is to make of it, and in when the lease ends
            self.pending_complete_count += count * ((new.target in TERMINAL) - (old.target in TERMINAL))
            return
        self._leave(count, old)
        self._enter(count, new)
        if after is _AVAILABLE:
            self._now_available(start, end, new)

    def _finish(self, count: int, state: RecordState, cause: str | None) -> None:
        """Leased records are not leased any more. Whatever becomes of a dead letter, its record failed now."""
        if state is RecordState.ACKNOWLEDGED:
            self.accepted_count += count
        elif state is not _AVAILABLE and cause is not NO_RECORD:
            self.failed_count += count
            if state is RecordState.ARCHIVED and cause is LIMIT_REACHED:
                self.given_up_count += count

    def _enter(self, count: int, cell: Cell) -> None:
        state, delivery_count, holder, deadline_ms, _, target, _, _ = cell
        self._counts[state] += count
        if state is _ACQUIRED:
            if holder is None or deadline_ms is None:
                raise BrokenInvariant(f"{cell} is leased to nobody or for ever")
            self._held[holder] = self._held.get(holder, 0) + count
            if target in TERMINAL:
                self.pending_complete_count += count
        elif deadline_ms is not None:
            self.waiting_count += count
        elif not delivery_count and is_hole(cell):
            self.hole_count += count

    def _leave(self, count: int, cell: Cell) -> None:
        state, delivery_count, holder, deadline_ms, _, target, _, _ = cell
        self._counts[state] -= count
        if state is _ACQUIRED and holder is not None:
            left = self._held[holder] - count
            if left:
                self._held[holder] = left
            else:
                del self._held[holder]
            if target in TERMINAL:
                self.pending_complete_count -= count
        elif deadline_ms is not None:
            self.waiting_count -= count
        elif not delivery_count and is_hole(cell):
            self.hole_count -= count

    def verify(self) -> None:
        """Count everything again. For tests: it walks the whole window."""
        counts, held, holes, pending = [0] * len(RecordState), dict[MemberId, int](), 0, 0
        waiting, first_due_ms, told_ms, first_end_ms = 0, None, self.next_due_ms(), NEVER
        at, before, first = self._runs.start, None, None
        for low, high, cell in self._runs:
            if low != at or high <= low or cell == before:
                raise BrokenInvariant(f"run [{low}, {high}) {cell} after {at} {before}")
            counts[cell.state] += high - low
            if cell.holder is not None:
                held[cell.holder] = held.get(cell.holder, 0) + high - low
            holes += (high - low) * is_hole(cell)
            pending += (high - low) * (cell.target in TERMINAL and cell.state is _ACQUIRED)
            first = low if first is None and is_acquirable(cell) else first
            if cell.deadline_ms is not None and cell.write is None:
                first_end_ms = min(cell.deadline_ms, first_end_ms)
            if cell.state is _AVAILABLE and cell.deadline_ms is not None:
                waiting += high - low
                first_due_ms = min(cell.deadline_ms, first_due_ms or cell.deadline_ms)
            at, before = high, cell
        if first_end_ms < self.first_end_ms:
            raise BrokenInvariant(f"something ends at {first_end_ms}, before {self.first_end_ms}")
        if (self.start, self.end) != (self._runs.start, self._runs.end):
            raise BrokenInvariant(f"[{self.start}, {self.end}) is not [{self._runs.start}, {self._runs.end})")
        books = (self.end, self._counts, self._held, self.hole_count, self.pending_complete_count)
        if (at, counts, held, holes, pending) != books or first != self.first_available():
            raise BrokenInvariant(
                f"books {books} {self.first_available()} are not {counts} {held} {holes} {first}"
            )
        is_told = first_due_ms is None or (told_ms is not None and told_ms <= first_due_ms)
        if waiting != self.waiting_count or not is_told:
            raise BrokenInvariant(
                f"{self.waiting_count} wait until {told_ms}, and are {waiting} until {first_due_ms}"
            )
