"""The share machine as plainly as it can be said: a dictionary from offset to what is known of the record.

No runs, no heaps, no cleverness; every command walks every offset. It is what ``leaselog.share`` is compared with.
A lease that ran out is looked for at every command, as there. Which records an acquisition gets is in ``oracle_picks``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from leaselog.model import MemberId
from leaselog.share import (
    EVEN_CHANCE,
    LIMIT_REACHED,
    NO_RECORD,
    REJECTED,
    AcknowledgementDetails,
    AcknowledgeType,
    Limits,
    RecordState,
    due_ms,
)

__all__ = ["Letters", "Oracle", "Record", "Written"]

AVAILABLE, ACQUIRED, ARCHIVED = RecordState.AVAILABLE, RecordState.ACQUIRED, RecordState.ARCHIVED
ARCHIVING = RecordState.ARCHIVING
NO_DETAILS = AcknowledgementDetails()
TARGETS = {0: ARCHIVED, 1: RecordState.ACKNOWLEDGED, 2: AVAILABLE, 3: ARCHIVED}


@dataclass(frozen=True)
class Record:
    state: RecordState
    count: int
    owner: MemberId | None = None
    deadline: int | None = None
    write: int | None = None
    target: RecordState | None = None
    cause: str | None = None
    due: int | None = None

    @property
    def is_hole(self) -> bool:
        return self.state is ARCHIVED and self.count == 0

    @property
    def is_free(self) -> bool:
        return self.state is AVAILABLE and self.write is None and self.deadline is None


#: state, count, and the time before which it is held back
Written = dict[int, tuple[RecordState, int, int | None]]
#: count and cause of the records whose dead letters are to be written
Letters = dict[int, tuple[int, str | None]]


class Oracle:
    def __init__(self, start: int, limits: Limits) -> None:
        self.limits = limits
        self.start = self.end = start
        self.records: dict[int, Record] = {}
        #: records that were accepted, and that were rejected or are out of deliveries
        self.accepted = self.failed = 0
        #: of those, out of deliveries without becoming dead letters
        self.given_up = 0

    def load(self, states: Written, log_start: int, now: int) -> None:
        self.end = max([self.start, *(offset + 1 for offset in states)])
        for offset in range(self.start, self.end):
            state, count, due = states.get(offset, (AVAILABLE, 0, None))
            due = None if due is None else min(due, now + self.limits.longest_wait_ms)
            due = None if due is None or due <= now else due
            cause = LIMIT_REACHED if count >= self.limits.delivery_count_limit else REJECTED
            self.records[offset] = Record(
                state, count, deadline=due, cause=cause if state is ARCHIVING else None
            )
        self.move_log_start(log_start)

    def send(self, token: int) -> Letters:
        """The dead letters to write now: of what is on its way and has no write in flight."""
        letters: Letters = {}
        for offset, record in self.records.items():
            if record.state is ARCHIVING and record.write is None:
                self.records[offset] = replace(record, write=token)
                letters[offset] = (record.count, record.cause)
        return letters

    def letters_ended(self, token: int, write: int) -> Written:
        ended = {o: r for o, r in self.records.items() if r.state is ARCHIVING and r.write == token}
        for offset, record in ended.items():
            self.records[offset] = Record(ARCHIVED, record.count, write=write)
        return {offset: (ARCHIVED, record.count, None) for offset, record in ended.items()}

    def advance(self) -> None:
        while self.start < self.end:
            record = self.records[self.start]
            if record.state not in (RecordState.ACKNOWLEDGED, ARCHIVED) or record.write is not None:
                return
            del self.records[self.start]
            self.start += 1

    def expire(self, now: int, token: int, chance: float = EVEN_CHANCE) -> Written:
        for offset, record in self.records.items():
            if record.state is AVAILABLE and record.deadline is not None and record.deadline <= now:
                self.records[offset] = Record(AVAILABLE, record.count)
        ended = {o: r for o, r in self.records.items() if r.state is ACQUIRED and (r.deadline or 0) <= now}
        return self._end_leases({o for o, r in ended.items() if r.write is None}, token, now, chance)

    def _due(self, count: int, now: int, chance: float, asked: int | None = None) -> int | None:
        if asked is not None:
            return due_ms(now, min(asked, self.limits.release_delay_max_ms))
        backoff = self.limits.backoff
        return None if backoff is None else due_ms(now, backoff.pause_ms(count, chance))

    def _end_leases(self, offsets: Iterable[int], token: int, now: int, chance: float) -> Written:
        written: Written = {}
        for offset in offsets:
            count = self.records[offset].count
            is_last = count >= self.limits.delivery_count_limit
            self.failed += is_last
            if not is_last:
                self.records[offset] = Record(AVAILABLE, count, deadline=self._due(count, now, chance))
            else:
                state = ARCHIVING if self.limits.has_dead_letters else ARCHIVED
                self.given_up += state is ARCHIVED
                self.records[offset] = Record(state, count, write=token, cause=LIMIT_REACHED)
            written[offset] = (self.records[offset].state, count, self.records[offset].deadline)
        return written

    def lease(self, offsets: Iterable[int], member: MemberId, deadline: int) -> dict[int, int]:
        for offset in offsets:
            self.records[offset] = Record(ACQUIRED, self.records[offset].count + 1, member, deadline)
        return {offset: self.records[offset].count for offset in offsets}

    def archive(self, offsets: Iterable[int], token: int) -> Written:
        for offset in offsets:
            self.records[offset] = Record(ARCHIVED, self.records[offset].count + 1, write=token)
        return {offset: (ARCHIVED, self.records[offset].count, None) for offset in offsets}

    def may_acknowledge(self, member: MemberId, offsets: Iterable[int]) -> bool:
        for offset in offsets:
            record = self.records.get(offset)
            if record is not None and record.is_hole:
                continue
            if record is None or (record.state, record.owner, record.write) != (ACQUIRED, member, None):
                return False
        return True

    def acknowledge(
        self,
        types: dict[int, int],
        token: int,
        now: int,
        lock_ms: int,
        chance: float = EVEN_CHANCE,
        details: AcknowledgementDetails = NO_DETAILS,
    ) -> Written:
        written: Written = {}
        for offset, kind in types.items():
            record = self.records[offset]
            if record.is_hole:
                continue
            if kind == AcknowledgeType.RENEW:
                self.records[offset] = replace(record, deadline=now + lock_ms)
                continue
            if kind == AcknowledgeType.RELEASE and details.is_given_back:
                self.records[offset] = Record(AVAILABLE, record.count - 1)
                continue
            is_last = kind == AcknowledgeType.RELEASE and record.count >= self.limits.delivery_count_limit
            target = ARCHIVED if is_last else TARGETS[kind]
            cause = LIMIT_REACHED if is_last else NO_RECORD if kind == AcknowledgeType.GAP else None
            if kind == AcknowledgeType.REJECT and self.limits.has_dead_letters:
                cause = details.reason or REJECTED
            if target is ARCHIVED and cause not in (None, NO_RECORD) and self.limits.has_dead_letters:
                target = ARCHIVING
            due = self._due(record.count, now, chance, details.delay_ms) if target is AVAILABLE else None
            self.records[offset] = replace(record, write=token, target=target, cause=cause, due=due)
            written[offset] = (target, record.count, due)
        return written

    def settle(self, token: int, ok: bool, now: int, retry: int, chance: float = EVEN_CHANCE) -> Written:
        ended: set[int] = set()
        for offset, record in self.records.items():
            if record.write != token:
                continue
            if record.target is None:
                self.records[offset] = Record(record.state, record.count, cause=record.cause)
            elif ok:
                self.accepted += record.target is RecordState.ACKNOWLEDGED
                self.failed += record.target in (ARCHIVED, ARCHIVING) and record.cause != NO_RECORD
                self.given_up += record.target is ARCHIVED and record.cause == LIMIT_REACHED
                due = None if record.due is None or record.due <= now else record.due
                self.records[offset] = Record(record.target, record.count, deadline=due, cause=record.cause)
            else:
                self.records[offset] = replace(record, write=None, target=None, cause=None, due=None)
                if (record.deadline or 0) <= now:
                    ended.add(offset)
        return self._end_leases(ended, retry, now, chance)

    def release(self, member: MemberId, token: int, now: int, chance: float = EVEN_CHANCE) -> Written:
        mine = [o for o, r in self.records.items() if r.owner == member and r.write is None]
        return self.acknowledge(dict.fromkeys(mine, AcknowledgeType.RELEASE), token, now, 0, chance)

    def move_log_start(self, log_start: int) -> None:
        self.start, self.end = max(self.start, log_start), max(self.end, log_start)
        self.records = {offset: record for offset, record in self.records.items() if offset >= log_start}
