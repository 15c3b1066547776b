"""The share machine as plainly as it can be said: a dictionary from offset to what is known of the record.

No runs, no heaps, no cleverness; every command walks every offset. It is what ``leaselog.share`` is compared with.
A lease that ran out is looked for at every command, as there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from leaselog.model import MemberId, Span
from leaselog.share import AcknowledgeType, AcquireMode, Limits, RecordState

__all__ = ["Oracle", "Record"]

AVAILABLE, ACQUIRED, ARCHIVED = RecordState.AVAILABLE, RecordState.ACQUIRED, RecordState.ARCHIVED
TARGETS = {0: ARCHIVED, 1: RecordState.ACKNOWLEDGED, 2: AVAILABLE, 3: ARCHIVED}


@dataclass(frozen=True)
class Record:
    state: RecordState
    count: int
    owner: MemberId | None = None
    deadline: int | None = None
    write: int | None = None
    target: RecordState | None = None

    @property
    def is_hole(self) -> bool:
        return self.state is ARCHIVED and self.count == 0

    @property
    def is_free(self) -> bool:
        return self.state is AVAILABLE and self.write is None


Written = dict[int, tuple[RecordState, int]]


class Oracle:
    def __init__(self, start: int, limits: Limits) -> None:
        self.limits = limits
        self.start = self.end = start
        self.records: dict[int, Record] = {}

    def load(self, states: Written, log_start: int) -> None:
        self.end = max([self.start, *(offset + 1 for offset in states)])
        for offset in range(self.start, self.end):
            self.records[offset] = Record(*states.get(offset, (AVAILABLE, 0)))
        self.move_log_start(log_start)

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
            self.records[offset] = (
                Record(ARCHIVED, count, write=token) if is_last else Record(AVAILABLE, count)
            )
            written[offset] = (self.records[offset].state, count)
        return written

    def acquire(
        self,
        member: MemberId,
        read_from: int,
        batches: Sequence[Span],
        most: int,
        size: int,
        mode: AcquireMode,
    ) -> list[int]:
        """Whoever calls adds the lease: the offsets come back, and ``lease`` takes them."""
        there = {offset: batch for batch in batches for offset in range(batch.start, batch.end)}
        base, upto = batches[0].start, batches[-1].end
        for offset, record in self.records.items():
            if read_from <= offset < upto and offset not in there and record.is_free:
                self.records[offset] = Record(ARCHIVED, record.count)
        free = [o for o in sorted(self.records) if base <= o < upto and self.records[o].is_free]
        if free and self._is_suspicious(free[0]):
            return self._helping(free, there, most, size)
        taken: list[int] = []
        for offset in free:
            if self._is_suspicious(offset):
                return taken
            if len(taken) >= most and not self._goes_on(taken, offset, there, most, mode):
                break
            taken.append(offset)
        return taken + self._fresh(there, read_from, upto, most - len(taken), mode)

    def _goes_on(
        self, taken: list[int], offset: int, there: dict[int, Span], most: int, mode: AcquireMode
    ) -> bool:
        """In batch-optimised mode the log batch of the last wanted record is taken whole, as far as it is alike."""
        is_alike = taken[-1] + 1 == offset and self.records[taken[-1]] == self.records[offset]
        return mode is AcquireMode.BATCH_OPTIMIZED and is_alike and there[taken[most - 1]] == there[offset]

    def _fresh(
        self, there: dict[int, Span], read_from: int, upto: int, wanted: int, mode: AcquireMode
    ) -> list[int]:
        room = self.limits.max_record_locks - sum(not record.is_hole for record in self.records.values())
        new = [offset for offset in there if offset >= self.end]
        if min(wanted, room) <= 0 or not new or read_from > self.end:
            return []
        end = min(upto, new[0] + min(wanted, room))
        if mode is AcquireMode.BATCH_OPTIMIZED and end - 1 in there:
            end = there[end - 1].end
        if self.start == self.end:
            self.start = self.end = max(self.end, min(there))
        for offset in range(self.end, end):
            self.records[offset] = Record(AVAILABLE if offset in there else ARCHIVED, 0)
        self.end = end
        return [offset for offset in new if offset < end]

    def _is_suspicious(self, offset: int) -> bool:
        return self.records[offset].count >= max(2, -(-self.limits.delivery_count_limit // 2))

    def _helping(self, free: list[int], there: dict[int, Span], most: int, size: int) -> list[int]:
        limit, first, count = self.limits.delivery_count_limit, free[0], self.records[free[0]].count
        if limit > 2 and count >= limit - 1:
            return [first]
        reach = min(max(size, len(there[first])), self.limits.max_record_locks)
        low = high = first
        while first - low < reach and low - 1 in self.records and self._is_suspicious(low - 1):
            low -= 1
        while high + 1 < first + reach and high + 1 in self.records and self._is_suspicious(high + 1):
            high += 1
        low = min(low, there[first].start) if low == self.start else low
        halvings = count - max(2, -(-limit // 2)) + 1
        taken: list[int] = []
        for offset in free[: min(most, max(1, min(reach, high + 1 - low) >> halvings))]:
            is_last = limit > 2 and self.records[offset].count >= limit - 1
            if not self._is_suspicious(offset) or is_last:
                break
            taken.append(offset)
        return taken

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
            self.records[offset] = replace(record, write=token, target=target)
            written[offset] = (target, record.count)
        return written

    def settle(self, token: int, ok: bool, now: int, retry: int) -> Written:
        ended: set[int] = set()
        for offset, record in self.records.items():
            if record.write != token:
                continue
            if record.target is None:
                self.records[offset] = Record(record.state, record.count)
            elif ok:
                self.records[offset] = Record(record.target, record.count)
            else:
                self.records[offset] = replace(record, write=None, target=None)
                if (record.deadline or 0) <= now:
                    ended.add(offset)
        return self._end_leases(ended, retry)

    def release(self, member: MemberId) -> Written:
        mine = {o: r for o, r in self.records.items() if r.owner == member and r.write is None}
        self.records |= {offset: Record(AVAILABLE, record.count - 1) for offset, record in mine.items()}
        return {offset: (AVAILABLE, record.count - 1) for offset, record in mine.items()}

    def move_log_start(self, log_start: int) -> None:
        self.start, self.end = max(self.start, log_start), max(self.end, log_start)
        self.records = {offset: record for offset, record in self.records.items() if offset >= log_start}
