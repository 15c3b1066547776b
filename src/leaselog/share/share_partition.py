"""The share machine of one group and one partition: who holds which record, until when, how often delivered.

One door: ``handle(command, now_ms)``. No clock, no I/O, no waiting. A write in flight is a state: the records of an
acknowledgement stay leased, marked with the write's token, until ``Persisted`` comes back; then they become what was
written, or are leased again, or, when the lease ended meanwhile, available. Until a write about a record has ended,
the start offset does not pass it.

Leases end by the clock alone, and so does the waiting of records that are held back after a failure (AVAILABLE, with
a due time): every command first looks at what has ended by ``now_ms``. A lease's end and what is
found missing in the log stand even if writing them fails, as in Apache Kafka; an acknowledgement does not, nor does a
session's end, which is an acknowledgement that releases all that the member holds. Records below the start offset are
forgotten at once, leased or not: acknowledging them succeeds and changes nothing.

A record that ends as a dead letter is ARCHIVING first: that is made durable, then the letter is written, and only when
that has ended does it become ARCHIVED and let the start pass. A new leader that finds it ARCHIVING has the letter
written again, so there is at least one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from leaselog.model import BrokenInvariant, MemberId, Refused, Span
from leaselog.share.acknowledge_check import first_refusal
from leaselog.share.acknowledging import is_hole, segments
from leaselog.share.acquiring import chunks, gaps, outside
from leaselog.share.commands import (
    Acknowledge,
    AcknowledgementDetails,
    AcknowledgeType,
    Acquire,
    ChangeLimits,
    Command,
    DeadLettersEnded,
    Expire,
    Limits,
    MoveLogStart,
    Persisted,
    ReleaseMember,
    WriteToken,
)
from leaselog.share.counters import Counters
from leaselog.share.dead_letters import cause_from_count, fate_of, fate_of_last_delivery
from leaselog.share.effects import (
    Acknowledged,
    Acquired,
    AcquiredRange,
    Answer,
    DeadLetters,
    Effect,
    NoAnswer,
    Outcome,
    Persist,
    WakeFetchers,
    WriteDeadLetters,
)
from leaselog.share.inflight import Cell, Run
from leaselog.share.persisted_state import NO_START_OFFSET, StoredState
from leaselog.share.picking import pick
from leaselog.share.record_state import RecordState
from leaselog.share.record_window import HOLE, UNREAD, RecordWindow
from leaselog.share.retrying import EVEN_CHANCE, due_ms
from leaselog.share.writing import Writing

__all__ = ["SharePartition"]

#: the answer to most commands
_NO_ANSWER = NoAnswer()
#: commands kept for the story of a broken invariant
_STORY = 32
#: of all partitions that have never sent any, which are most; never changed
NO_LETTERS: dict[WriteToken, list[tuple[int, int]]] = {}


#: what a member says of records
_Said = tuple[AcknowledgeType, AcknowledgementDetails | None]


class SharePartition:
    """The records between the start offset and the end of what was read, and what is going on with each."""

    __slots__ = (
        "_chance",
        "_effects",
        "_letters",
        "_next_token",
        "_story",
        "_window",
        "_writes",
        "counters",
        "limits",
    )

    def __init__(self, start_offset: int, limits: Limits) -> None:
        self.limits = limits
        self.counters = Counters()
        self._window = RecordWindow(start_offset)
        self._next_token = 1
        #: where between shortest and longest the pauses of this command are
        self._chance = EVEN_CHANCE
        #: the ranges whose records a write in flight has marked
        self._writes: dict[WriteToken, list[tuple[int, int]]] = {}
        #: the same of dead letters on their way
        self._letters = NO_LETTERS
        self._effects: list[Effect] = []
        #: since nothing was going on: an idle partition keeps none of it
        self._story: list[tuple[int, Command]] = []

    @classmethod
    def from_state(
        cls, state: StoredState, *, log_start: int, reset_to: int, limits: Limits, now_ms: int = 0
    ) -> SharePartition:
        """What a new leader starts with. ``reset_to`` counts when the group never had a start offset.

        Offsets between the batches were leased or unread: they will be read and delivered again. Of records that
        were on their way to the dead-letter topic the first command, whatever it is, asks for the letters again. What
        waits goes on waiting, but no longer than anything may from now on: clocks jump.
        """
        start = reset_to if state.start_offset == NO_START_OFFSET else state.start_offset
        partition = cls(start, limits)
        window, latest_ms = partition._window, now_ms + limits.longest_wait_ms
        for span in state.spans:
            if span.end <= window.end:
                continue
            window.append(span.start, UNREAD)
            is_doomed = span.state is RecordState.ARCHIVING
            cause = cause_from_count(span.delivery_count, limits) if is_doomed else None
            due_ms = None if span.due_ms is None else min(span.due_ms, latest_ms)
            waits_until = _not_over(due_ms, now_ms)
            window.append(
                span.end, Cell(span.state, span.delivery_count, deadline_ms=waits_until, cause=cause)
            )
        window.trim(log_start)
        window.advance()
        if window.count(RecordState.ARCHIVING):
            partition._send([(window.start, window.end)])
        window.became_available = False
        return partition

    @property
    def start(self) -> int:
        """The share-partition start offset: every record below is through."""
        return self._window.start

    @property
    def end(self) -> int:
        """Records from here on have not been touched."""
        return self._window.end

    @property
    def next_fetch_offset(self) -> int:
        """Where to read for the next ``Acquire``."""
        first = self._window.first_available()
        return self.end if first is None else first

    @property
    def has_available(self) -> bool:
        """Is there something to deliver again, below ``end``?"""
        return self._window.first_available() is not None

    @property
    def is_full(self) -> bool:
        """The window has reached its bound: nothing new until its start moves."""
        return self._window.in_flight >= self.limits.max_record_locks

    @property
    def can_acquire(self) -> bool:
        return self.has_available or not self.is_full

    @property
    def next_deadline_ms(self) -> int | None:
        """When to send ``Expire`` if nothing else comes. May be early, is never late."""
        return self._window.next_deadline_ms()

    @property
    def first_end_ms(self) -> int:
        """No lease and no wait ends before; quicker to ask, and no later, than ``next_deadline_ms``."""
        return self._window.first_end_ms

    @property
    def waiting_count(self) -> int:
        """Of the AVAILABLE records, those that are held back until a time."""
        return self._window.waiting_count

    @property
    def delivery_complete_count(self) -> int:
        """Records of the window that are through or will be when the writes in flight succeed (KIP-1226)."""
        return self._window.complete_count + self._window.pending_complete_count

    @property
    def accepted_count(self) -> int:
        """Records whose acceptance is safe, since this leader began."""
        return self._window.accepted_count

    @property
    def failed_count(self) -> int:
        """Those that were rejected or have used up their deliveries: dead letters, where the group has such."""
        return self._window.failed_count

    @property
    def finished_counts(self) -> tuple[int, int, int]:
        """The accepted, the failed and those of them that were given up, for whoever asks after every command."""
        window = self._window
        return window.accepted_count, window.failed_count, window.given_up_count

    @property
    def run_count(self) -> int:
        return self._window.run_count

    @property
    def writes_in_flight(self) -> int:
        return len(self._writes)

    @property
    def held_members(self) -> tuple[MemberId, ...]:
        """Who has records leased."""
        return self._window.members()

    def holds_for(self, member: MemberId) -> bool:
        """Has the member records leased, acknowledged or not?"""
        return self._window.held_by(member) > 0

    def is_owed_by(self, member: MemberId) -> bool:
        """Has the member records leased that it has not acknowledged?"""
        return self._window.is_owed_by(member)

    def count(self, state: RecordState) -> int:
        """Records of the window in this state. A write in flight does not change it before it has succeeded."""
        return self._window.count(state)

    def lag(self, high_watermark: int) -> int:
        """Records that nobody has finished yet."""
        return max(0, high_watermark - self.start - self._window.complete_count)

    @property
    def has_dead_letters_on_their_way(self) -> bool:
        """Also such as are not asked for yet, because it is not durable that they are to be written."""
        if self._window.count(RecordState.ARCHIVING):
            return True
        return any(
            cell.target is RecordState.ARCHIVING
            for start, end in (marked for ranges in self._writes.values() for marked in ranges)
            for _, _, cell in self._window.runs(start, end)
        )

    def runs(self) -> list[Run]:
        """The window as it is, for describing and for tests."""
        return self._window.runs(self.start, self.end)

    def verify(self) -> None:
        """Raise BrokenInvariant unless the books agree with the records. Walks the whole window."""
        self._window.verify()

    def handle(self, command: Command, now_ms: int, chance: float = EVEN_CHANCE) -> Outcome:
        """Obey, and get the answer with what is to be done. A refused command has changed nothing.

        Leases and waits that have ended by now end first, whatever the command, so effects come with any answer.
        ``chance``, from 0 to 1, says how long the pauses are of what fails by this command.
        """
        window = self._window
        story = self._story
        story.append((now_ms, command))
        if len(story) >= 2 * _STORY:
            del story[:_STORY]
        self._chance = chance
        was_full = self.is_full
        try:
            if window.first_end_ms <= now_ms:
                window.end_waits(now_ms)
                self._expire(now_ms)
            answer = self._obey(command, now_ms)
            window.advance()
            window.bound_garbage()
        except BrokenInvariant as broken:
            before = "; ".join(f"{when} {what}" for when, what in story[-_STORY:])
            raise BrokenInvariant(f"{broken}. Before: {before}") from broken
        if window.start == window.end and not self._writes and not self._letters:
            story.clear()
        if window.became_available or (was_full and not self.is_full):
            self._effects.append(WakeFetchers())
            window.became_available = False
        if not self._effects:
            return Outcome(answer)
        effects, self._effects = tuple(self._effects), []
        return Outcome(answer, effects)

    def _obey(self, command: Command, now_ms: int) -> Answer:
        match command:
            case Acquire():
                return self._acquire(command, now_ms)
            case Acknowledge():
                return self._acknowledge(command, now_ms)
            case Persisted():
                self._settle(command, now_ms)
            case DeadLettersEnded():
                self._archive(command.token)
            case ReleaseMember():
                self._release_member(command.member, now_ms)
            case MoveLogStart():
                self._window.trim(command.offset)
            case ChangeLimits():
                self.limits = command.limits
            case Expire():
                pass
            case _:
                assert_never(command)
        return _NO_ANSWER

    # acquire ---------------------------------------------------------------------------------------------------------

    def _acquire(self, command: Acquire, now_ms: int) -> Acquired:
        if not command.batches or command.max_records <= 0:
            return Acquired()
        for low, high in gaps(command.fetch_offset, command.batches):
            self._window.rewrite(low, high, _missing)
        picked, fresh_end = pick(command, self._window, self.limits)
        if command.withheld:
            if fresh_end is not None:
                picked += self._take_in(command, fresh_end, UNREAD)
                fresh_end = None
            picked = self._without_withheld(picked, command.withheld)
        return self._hand_out(command, picked, fresh_end, now_ms + self.limits.lock_duration_ms)

    def _take_in(self, command: Acquire, end: int, cell: Cell) -> list[tuple[int, int]]:
        """Let the window grow to ``end``; the new records, which are as the cell says."""
        window, woken = self._window, self._window.became_available
        fresh: list[tuple[int, int]] = []
        if window.start == window.end and window.start < command.batches[0].start:
            window.trim(command.batches[0].start)
        for low, high, is_there in outside(window.end, end, command.batches):
            window.take_in(high, cell if is_there else HOLE)
            if is_there:
                fresh.append((low, high))
        window.became_available = woken  # what is taken with this very read wakes nobody
        return fresh

    def _without_withheld(
        self, picked: list[tuple[int, int]], withheld: tuple[Span, ...]
    ) -> list[tuple[int, int]]:
        """Archive what nobody is to get, as if it had been delivered and rejected."""
        writing = self._writing()
        kept: list[tuple[int, int]] = []
        for start, end in picked:
            for low, high, is_withheld in outside(start, end, withheld):
                if is_withheld:
                    gone = self._window.rewrite(low, high, lambda cell: _archived(cell, writing.token))
                    writing.add(gone)
                else:
                    kept.append((low, high))
        if self._write(writing) is not None:
            self._window.became_available = True  # whoever gets nothing for it should look again
        return kept

    def _hand_out(
        self, command: Acquire, picked: list[tuple[int, int]], fresh_end: int | None, deadline_ms: int
    ) -> Acquired:
        """Lease what was picked, and what is new up to that end."""
        window = self._window
        leased: list[Run] = []

        def delivered(cell: Cell) -> Cell:
            return Cell(RecordState.ACQUIRED, cell.delivery_count + 1, command.member, deadline_ms)

        for start, end in picked:
            leased += window.rewrite(start, end, delivered)
            window.lease(start, end, deadline_ms)
        if fresh_end is not None:
            first_time = delivered(UNREAD)
            for start, end in self._take_in(command, fresh_end, first_time):
                leased.append((start, end, first_time))
                window.lease(start, end, deadline_ms)
        ranges: list[AcquiredRange] = []
        record_count = 0
        for start, end, cell in _joined(leased):
            record_count += end - start
            delivery_count = cell.delivery_count
            if delivery_count > 1:
                self.counters.redelivered += end - start
            spans = chunks(start, end, command.batches, command.batch_size, command.mode)
            ranges += [AcquiredRange(span, delivery_count) for span in spans]
        self.counters.acquired += record_count
        return Acquired(tuple(ranges), record_count)

    # acknowledge -----------------------------------------------------------------------------------------------------

    def _acknowledge(self, command: Acknowledge, now_ms: int) -> Acknowledged | Refused:
        window = self._window
        refusal = first_refusal(command, window)
        if refusal is not None:
            self.counters.refused_acknowledgements += 1
            return refusal
        writing, counts = self._writing(), self.counters.acknowledged
        to_mark: list[tuple[int, int, _Said]] = []
        for batch in command.batches:
            if batch.end <= window.start:
                continue
            details = batch.details
            for start, end, kind in segments(batch, window.start):
                if kind is AcknowledgeType.RENEW:
                    self._renew(start, end, now_ms + self.limits.lock_duration_ms)
                elif details is not None and details.is_given_back and kind is AcknowledgeType.RELEASE:
                    self._give_back(start, end)
                else:
                    to_mark.append((start, end, (kind, details)))
        if len(to_mark) == 1:  # mostly
            start, end, (kind, details) = to_mark[0]
            marked = window.rewrite(start, end, self._mark(kind, writing.token, now_ms, details))
            counts[kind] += writing.add(marked)
        elif to_mark:
            each = window.rewrite_each(
                to_mark, lambda said: self._mark(said[0], writing.token, now_ms, said[1])
            )
            writing.add(run for _, run in each)
            for (kind, _), (start, end, _) in each:
                counts[kind] += end - start
        return Acknowledged(self._write(writing))

    def _give_back(self, start: int, end: int) -> None:
        """As if it had not been delivered. Nor has that been written down anywhere, so there is nothing to write."""
        given_back = self._window.rewrite(start, end, _undelivered)
        self.counters.given_back += _record_count(given_back)

    def _renew(self, start: int, end: int, deadline_ms: int) -> None:
        renewed = self._window.rewrite(
            start, end, lambda cell: cell if is_hole(cell) else cell._replace(deadline_ms=deadline_ms)
        )
        self._window.lease(start, end, deadline_ms)
        self.counters.acknowledged[AcknowledgeType.RENEW] += _record_count(renewed)

    # writes ----------------------------------------------------------------------------------------------------------

    def _writing(self) -> Writing:
        writing = Writing(WriteToken(self._next_token))
        self._next_token += 1
        return writing

    def _write(self, writing: Writing) -> WriteToken | None:
        """Ask for what has been gathered to be made durable."""
        spans = writing.spans()
        if not spans:
            return None
        self._writes[writing.token] = writing.marked()
        self._effects.append(Persist(writing.token, self._window.start, self.delivery_complete_count, spans))
        return writing.token

    def _settle(self, outcome: Persisted, now_ms: int) -> None:
        """A write has ended: its records become what was written, or go back to what they were."""
        marked = self._writes.pop(outcome.token, None)
        if marked is None:
            raise BrokenInvariant(f"no write {outcome.token} is in flight, only {list(self._writes)}")
        if outcome.ok:
            self._make_true(outcome.token, marked, now_ms)
        else:
            self._take_back(outcome.token, marked, now_ms)
        if self._window.count(RecordState.ARCHIVING):
            self._send(marked)

    def _make_true(self, token: WriteToken, marked: list[tuple[int, int]], now_ms: int) -> None:
        def settled(cell: Cell) -> Cell:
            if cell.write != token:
                return cell
            return _standing(cell) if cell.target is None else self._settled(cell, now_ms)

        for start, end in marked:
            self._count_delayed(self._window.rewrite(start, end, settled))

    def _take_back(self, token: WriteToken, marked: list[tuple[int, int]], now_ms: int) -> None:
        self.counters.failed_writes += 1
        retry = self._writing()

        def taken_back(cell: Cell) -> Cell:
            if cell.write != token:
                return cell
            if cell.target is None:
                return _standing(cell)
            if cell.deadline_ms is not None and cell.deadline_ms <= now_ms:
                return self._expired(cell, retry.token, now_ms)
            return cell._replace(write=None, target=None, cause=None, due_ms=None)

        for start, end in marked:
            changed = self._window.rewrite(start, end, taken_back)
            self._count_delayed(changed)
            ended = [
                run for run in changed if run[2].state is RecordState.AVAILABLE or run[2].write == retry.token
            ]
            self.counters.lock_timeouts += retry.add(ended)
        self._write(retry)

    # dead letters ----------------------------------------------------------------------------------------------------

    def _send(self, ranges: list[tuple[int, int]]) -> None:
        """Ask for the letters of what is ARCHIVING in these ranges and has no write in flight."""
        token = WriteToken(self._next_token)
        sent = [
            run
            for start, end in ranges
            for run in self._window.rewrite(
                start,
                end,
                lambda cell: cell._replace(write=token) if _is_unsent(cell) else cell,
            )
        ]
        if not sent:
            return
        self._next_token += 1
        if self._letters is NO_LETTERS:
            self._letters = {}
        self._letters[token] = [(start, end) for start, end, _ in sent]
        letters = tuple(
            DeadLetters(start, end, cell.delivery_count, cell.cause or "") for start, end, cell in sent
        )
        self._effects.append(WriteDeadLetters(token, letters))

    def _archive(self, token: WriteToken) -> None:
        """The letters have been written or given up: that stands even if writing it down fails."""
        ranges = self._letters.pop(token, None)
        if ranges is None:
            raise BrokenInvariant(f"no dead letters {token} are on their way, only {list(self._letters)}")
        writing = self._writing()

        def archived(cell: Cell) -> Cell:
            if cell.write != token:
                return cell
            return Cell(RecordState.ARCHIVED, cell.delivery_count, write=writing.token)

        for start, end in ranges:
            writing.add(self._window.rewrite(start, end, archived))
        self._write(writing)

    # leases end ------------------------------------------------------------------------------------------------------

    def _expire(self, now_ms: int) -> None:
        due = self._window.pop_due(now_ms)
        if not due:
            return
        writing = self._writing()

        def decide(cell: Cell) -> Cell:
            has_ended = cell.deadline_ms is not None and cell.deadline_ms <= now_ms
            if cell.state is not RecordState.ACQUIRED or cell.write is not None or not has_ended:
                return cell
            return self._expired(cell, writing.token, now_ms)

        for low, high in due:
            for ended in self._window.rewrite_blocks(low, high, decide):
                self.counters.lock_timeouts += writing.add(ended)
                self._count_delayed(ended)
        self._write(writing)

    def _expired(self, cell: Cell, token: WriteToken, now_ms: int) -> Cell:
        if cell.delivery_count >= self.limits.delivery_count_limit:
            # the start waits for the write; the state does not
            state, cause = fate_of_last_delivery(self.limits)
            return Cell(state, cell.delivery_count, write=token, cause=cause)
        return Cell(
            RecordState.AVAILABLE, cell.delivery_count, deadline_ms=self._due_ms(cell.delivery_count, now_ms)
        )

    def _release_member(self, member: MemberId, now_ms: int) -> None:
        """The delivery counts, as with any other release: a record that brings its consumers down ends one day."""
        left = self._window.held_by(member)
        if not left:
            return
        writing = self._writing()
        release = self._mark(AcknowledgeType.RELEASE, writing.token, now_ms)
        for low, high, cell in self._window.runs(self.start, self.end):
            if cell.holder == member:
                left -= high - low
                if cell.write is None:
                    released = self._window.rewrite(low, high, release)
                    self.counters.released_by_session += writing.add(released)
                if not left:
                    break
        self._write(writing)

    # what becomes of records -----------------------------------------------------------------------------------------

    def _mark(
        self,
        kind: AcknowledgeType,
        token: WriteToken,
        now_ms: int,
        details: AcknowledgementDetails | None = None,
    ) -> Callable[[Cell], Cell]:
        """Mark leased records with the write that is to make them what this type says."""
        delay_ms, reason = (None, None) if details is None else (details.delay_ms, details.reason)

        def marked(cell: Cell) -> Cell:
            if is_hole(cell):
                return cell
            count = cell.delivery_count
            target, cause = fate_of(kind, count, self.limits, reason)
            due_ms = self._due_ms(count, now_ms, delay_ms) if target is RecordState.AVAILABLE else None
            return Cell(cell.state, count, cell.holder, cell.deadline_ms, token, target, cause, due_ms)

        return marked

    def _due_ms(self, delivery_count: int, now_ms: int, delay_ms: int | None = None) -> int | None:
        """Until when a record waits that has failed so often; a delay that its consumer asks for takes precedence."""
        if delay_ms is not None:
            return due_ms(now_ms, min(delay_ms, self.limits.release_delay_max_ms))
        backoff = self.limits.backoff
        return None if backoff is None else due_ms(now_ms, backoff.pause_ms(delivery_count, self._chance))

    def _count_delayed(self, changed: list[Run]) -> None:
        if self._window.waiting_count:
            waiting = (run for run in changed if run[2].state is RecordState.AVAILABLE and run[2].deadline_ms)
            self.counters.delayed += sum(end - start for start, end, _ in waiting)

    def _settled(self, cell: Cell, now_ms: int) -> Cell:
        """What is written now. A wait that was over before its write is none."""
        assert cell.target is not None
        waits_until = _not_over(cell.due_ms, now_ms)
        return Cell(cell.target, cell.delivery_count, deadline_ms=waits_until, cause=cell.cause)


def _standing(cell: Cell) -> Cell:
    """What stands whatever becomes of its write, which has ended."""
    return Cell(cell.state, cell.delivery_count, cause=cell.cause)


def _is_unsent(cell: Cell) -> bool:
    return cell.state is RecordState.ARCHIVING and cell.write is None


def _record_count(runs: list[Run]) -> int:
    return sum(end - start for start, end, _ in runs)


def _not_over(due_ms: int | None, now_ms: int) -> int | None:
    return due_ms if due_ms is not None and due_ms > now_ms else None


def _undelivered(cell: Cell) -> Cell:
    return cell if is_hole(cell) else Cell(RecordState.AVAILABLE, cell.delivery_count - 1)


def _missing(cell: Cell) -> Cell:
    """A waiting record that compaction removed. Leased ones stay: the member that has it may still finish it."""
    if cell.state is RecordState.AVAILABLE and cell.write is None:
        return Cell(RecordState.ARCHIVED, cell.delivery_count)
    return cell


def _archived(cell: Cell, token: WriteToken) -> Cell:
    return Cell(RecordState.ARCHIVED, cell.delivery_count + 1, write=token)


def _joined(runs: list[Run]) -> list[Run]:
    """Neighbours with one delivery count become one."""
    if len(runs) == 1:
        return runs
    joined: list[Run] = []
    for low, high, cell in runs:
        if joined and joined[-1][1] == low and joined[-1][2].delivery_count == cell.delivery_count:
            joined[-1] = (joined[-1][0], high, cell)
        else:
            joined.append((low, high, cell))
    return joined
