"""The share machine as plainly as it can be said: a dictionary from offset to what is known of the record.

No runs, no heaps, no cleverness; every command walks every offset. It is what ``leaselog.share`` is compared with.
A lease that ran out is looked for at every command, as there. Which records an acquisition gets is in ``oracle_picks``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from leaselog.model import MemberId
from leaselog.share import LIMIT_REACHED, NO_RECORD, REJECTED, AcknowledgeType, Limits, RecordState

__all__ = ["Letters", "Oracle", "Record", "Written"]

AVAILABLE, ACQUIRED, ARCHIVED = RecordState.AVAILABLE, RecordState.ACQUIRED, RecordState.ARCHIVED
ARCHIVING = RecordState.ARCHIVING
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

    @property
    def is_hole(self) -> bool:
        return self.state is ARCHIVED and self.count == 0

    @property
    def is_free(self) -> bool:
        return self.state is AVAILABLE and self.write is None


Written = dict[int, tuple[RecordState, int]]
#: count and cause of the records whose dead letters are to be written
Letters = dict[int, tuple[int, str | None]]


class Oracle:
    def __init__(self, start: int, limits: Limits) -> None:
        self.limits = limits
        self.start = self.end = start
        self.records: dict[int, Record] = {}
        #: records that were accepted, and that were rejected or are out of deliveries
        self.accepted = self.failed = 0

    def load(self, states: Written, log_start: int) -> None:
        self.end = max([self.start, *(offset + 1 for offset in states)])
        for offset in range(self.start, self.end):
            state, count = states.get(offset, (AVAILABLE, 0))
            cause = LIMIT_REACHED if count >= self.limits.delivery_count_limit else REJECTED
            self.records[offset] = Record(state, count, cause=cause if state is ARCHIVING else None)
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
        return {offset: (ARCHIVED, record.count) for offset, record in ended.items()}

    def advance(self) -> None:
        while self.start < self.end:
            record = self.records[self.start]
            if record.state not in (RecordState.ACKNOWLEDGED, ARCHIVED) or record.write is not None:
                return
            del self.records[self.start]
            self.start += 1

    def expire(self, now: int, token: int) -> Written:
        ended = {o: r for o, r in self.records.items() if r.state is ACQUIRED and (r.deadline or 0) <= now}
        return self._end_leases({o for o, r in ended.items() if r.write is None}, token)

    def _end_leases(self, offsets: Iterable[int], token: int) -> Written:
        written: Written = {}
        for offset in offsets:
            count = self.records[offset].count
            is_last = count >= self.limits.delivery_count_limit
            self.failed += is_last
            if not is_last:
                self.records[offset] = Record(AVAILABLE, count)
            elif self.limits.has_dead_letters:
                self.records[offset] = Record(ARCHIVING, count, write=token, cause=LIMIT_REACHED)
            else:
                self.records[offset] = Record(ARCHIVED, count, write=token)
            written[offset] = (self.records[offset].state, count)
        return written

    def lease(self, offsets: Iterable[int], member: MemberId, deadline: int) -> dict[int, int]:
        for offset in offsets:
            self.records[offset] = Record(ACQUIRED, self.records[offset].count + 1, member, deadline)
        return {offset: self.records[offset].count for offset in offsets}

    def archive(self, offsets: Iterable[int], token: int) -> Written:
        for offset in offsets:
            self.records[offset] = Record(ARCHIVED, self.records[offset].count + 1, write=token)
        return {offset: (ARCHIVED, self.records[offset].count) for offset in offsets}

    def may_acknowledge(self, member: MemberId, offsets: Iterable[int]) -> bool:
        for offset in offsets:
            record = self.records.get(offset)
            if record is not None and record.is_hole:
                continue
            if record is None or (record.state, record.owner, record.write) != (ACQUIRED, member, None):
                return False
        return True

    def acknowledge(self, types: dict[int, int], token: int, deadline: int) -> Written:
        written: Written = {}
        for offset, kind in types.items():
            record = self.records[offset]
            if record.is_hole:
                continue
            if kind == AcknowledgeType.RENEW:
                self.records[offset] = replace(record, deadline=deadline)
                continue
            is_last = kind == AcknowledgeType.RELEASE and record.count >= self.limits.delivery_count_limit
            target = ARCHIVED if is_last else TARGETS[kind]
            cause = LIMIT_REACHED if is_last else REJECTED if kind == AcknowledgeType.REJECT else None
            if cause is not None and self.limits.has_dead_letters:
                target = ARCHIVING
            else:
                cause = NO_RECORD if kind == AcknowledgeType.GAP else None
            self.records[offset] = replace(record, write=token, target=target, cause=cause)
            written[offset] = (target, record.count)
        return written

    def settle(self, token: int, ok: bool, now: int, retry: int) -> Written:
        ended: set[int] = set()
        for offset, record in self.records.items():
            if record.write != token:
                continue
            if record.target is None:
                self.records[offset] = Record(record.state, record.count, cause=record.cause)
            elif ok:
                self.accepted += record.target is RecordState.ACKNOWLEDGED
                self.failed += record.target in (ARCHIVED, ARCHIVING) and record.cause != NO_RECORD
                self.records[offset] = Record(record.target, record.count, cause=record.cause)
            else:
                self.records[offset] = replace(record, write=None, target=None, cause=None)
                if (record.deadline or 0) <= now:
                    ended.add(offset)
        return self._end_leases(ended, retry)

    def release(self, member: MemberId, token: int) -> Written:
        mine = [o for o, r in self.records.items() if r.owner == member and r.write is None]
        return self.acknowledge(dict.fromkeys(mine, AcknowledgeType.RELEASE), token, 0)

    def move_log_start(self, log_start: int) -> None:
        self.start, self.end = max(self.start, log_start), max(self.end, log_start)
        self.records = {offset: record for offset, record in self.records.items() if offset >= log_start}
