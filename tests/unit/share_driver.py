"""A share partition with short names for what tests say of it over and over."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.model import ErrorCode, MemberId, Refused, Span
from leaselog.share import (
    Acknowledge,
    Acknowledged,
    AcknowledgementBatch,
    AcknowledgementDetails,
    AcknowledgeType,
    Acquire,
    Acquired,
    AcquireMode,
    Command,
    DeadLettersEnded,
    Effect,
    Expire,
    Limits,
    Outcome,
    Persist,
    Persisted,
    RetryBackoff,
    SharePartition,
    StoredState,
    WriteDeadLetters,
)

A, B, C = MemberId("a"), MemberId("b"), MemberId("c")
LOCK_MS = 30_000
RECORD_LIMIT, BATCH_OPTIMIZED = AcquireMode.RECORD_LIMIT, AcquireMode.BATCH_OPTIMIZED
#: start, end, types, and what else there is to say of them
Detailed = tuple[int, int, int | Sequence[int], AcknowledgementDetails | None]
GAP, ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType


class Driver:
    """Holds the time and the writes that have not ended; checks the books after every command."""

    def __init__(
        self,
        start: int = 0,
        *,
        limit: int = 5,
        locks: int = 2_000,
        state: StoredState | None = None,
        has_dead_letters: bool = False,
        backoff: RetryBackoff | None = None,
    ) -> None:
        limits = Limits(limit, LOCK_MS, locks, has_dead_letters, backoff)
        self.partition = SharePartition.from_state(
            state or StoredState(), log_start=0 if state else start, reset_to=start, limits=limits
        )
        self.now_ms = 0
        self.effects: tuple[Effect, ...] = ()
        self.writes: list[Persist] = []
        self.letters: list[WriteDeadLetters] = []

    def handle(self, command: Command) -> Outcome:
        outcome = self.partition.handle(command, self.now_ms)
        self.effects = outcome.effects
        self.writes += [effect for effect in outcome.effects if isinstance(effect, Persist)]
        self.letters += [effect for effect in outcome.effects if isinstance(effect, WriteDeadLetters)]
        self.partition.verify()
        return outcome

    def acquire(
        self,
        member: MemberId,
        *batches: tuple[int, int],
        most: int = 500,
        size: int = 500,
        mode: AcquireMode = BATCH_OPTIMIZED,
        fetch_offset: int | None = None,
        aborted: Sequence[tuple[int, int]] = (),
    ) -> list[tuple[int, int, int]]:
        """(start, end, delivery count) of what the member gets out of these log batches."""
        offset = self.partition.next_fetch_offset if fetch_offset is None else fetch_offset
        spans = tuple(Span(*batch) for batch in batches)
        gone = tuple(Span(*span) for span in aborted)
        answer = self.handle(Acquire(member, offset, spans, most, size, mode, gone)).answer
        assert isinstance(answer, Acquired)
        return [(one.span.start, one.span.end, one.delivery_count) for one in answer.ranges]

    def acknowledge(self, member: MemberId, *batches: tuple[int, int, int | Sequence[int]]) -> Persist | None:
        """The write that the acknowledgement waits for; it must not be refused."""
        return self.acknowledge_with(member, *((s, e, t, None) for s, e, t in batches))

    def acknowledge_with(self, member: MemberId, *batches: Detailed) -> Persist | None:
        answer = self.try_acknowledge_with(member, *batches)
        assert isinstance(answer, Acknowledged), answer
        return next((write for write in self.writes if write.token == answer.token), None)

    def try_acknowledge(
        self, member: MemberId, *batches: tuple[int, int, int | Sequence[int]]
    ) -> Acknowledged | ErrorCode:
        return self.try_acknowledge_with(member, *((s, e, t, None) for s, e, t in batches))

    def try_acknowledge_with(self, member: MemberId, *batches: Detailed) -> Acknowledged | ErrorCode:
        command = Acknowledge(
            member,
            tuple(
                AcknowledgementBatch(s, e, (t,) if isinstance(t, int) else tuple(t), details)
                for s, e, t, details in batches
            ),
        )
        answer = self.handle(command).answer
        assert isinstance(answer, Acknowledged | Refused)
        return answer.code if isinstance(answer, Refused) else answer

    def persist(self, *, ok: bool = True) -> None:
        """Every write that is in flight ends."""
        writes, self.writes = self.writes, []
        for write in writes:
            self.handle(Persisted(write.token, ok))

    def letters_end(self) -> None:
        """Every dead letter on its way has been written, or given up."""
        letters, self.letters = self.letters, []
        for one in letters:
            self.handle(DeadLettersEnded(one.token))

    @property
    def asked_for(self) -> list[tuple[int, int, int, str]]:
        """(start, end, delivery count, cause) of the dead letters on their way."""
        return [
            (one.start, one.end, one.delivery_count, one.cause)
            for effect in self.letters
            for one in effect.letters
        ]

    def settle(self, member: MemberId, *batches: tuple[int, int, int | Sequence[int]]) -> None:
        """Acknowledge, and have it persisted."""
        self.acknowledge(member, *batches)
        self.persist()

    def settle_with(self, member: MemberId, *batches: Detailed) -> None:
        self.acknowledge_with(member, *batches)
        self.persist()

    @property
    def due_in_ms(self) -> int:
        """Until the first lease or the first wait may end."""
        next_ms = self.partition.next_deadline_ms
        assert next_ms is not None
        return next_ms - self.now_ms

    def pass_ms(self, ms: int) -> None:
        self.now_ms += ms
        self.handle(Expire())

    @property
    def states(self) -> list[tuple[int, int, str, int]]:
        """(start, end, state, delivery count), neighbours alike in these joined; who has them left out."""
        said: list[tuple[int, int, str, int]] = []
        for start, end, cell in self.partition.runs():
            one = cell.state.name.lower(), cell.delivery_count
            if said and said[-1][2:] == one and said[-1][1] == start:
                said[-1] = (said[-1][0], end, *one)
            else:
                said.append((start, end, *one))
        return said

    @property
    def window(self) -> tuple[int, int]:
        return self.partition.start, self.partition.end


def said(write: Persist | None) -> list[tuple[int, int, int, int]]:
    """(first, last, state, delivery count), as the records of the state topic print it."""
    assert write is not None
    return [(b.start, b.end - 1, int(b.state), b.delivery_count) for b in write.spans]
