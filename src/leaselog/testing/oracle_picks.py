"""Which records an acquisition gets, said of one offset after the other. The rules are those of Apache Kafka 4.4."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.model import Span
from leaselog.share import AcquireMode, RecordState
from leaselog.testing.oracle import Oracle, Record

__all__ = ["acquire"]

AVAILABLE, ARCHIVED = RecordState.AVAILABLE, RecordState.ARCHIVED


def acquire(
    oracle: Oracle,
    read_from: int,
    batches: Sequence[Span],
    most: int,
    size: int,
    mode: AcquireMode,
) -> list[int]:
    """The offsets that an acquisition gets, all in the window by then; ``Oracle.lease`` takes them."""
    there = {offset: batch for batch in batches for offset in range(batch.start, batch.end)}
    base, upto = batches[0].start, batches[-1].end
    for offset, record in oracle.records.items():
        is_idle = record.state is AVAILABLE and record.write is None  # to be had, or held back until a time
        if read_from <= offset < upto and offset not in there and is_idle:
            oracle.records[offset] = Record(ARCHIVED, record.count)
    free = [o for o in sorted(oracle.records) if base <= o < upto and oracle.records[o].is_free]
    if free and _is_suspicious(oracle, free[0]):
        return _throttled(oracle, free, there, most, size)
    taken: list[int] = []
    for offset in free:
        if _is_suspicious(oracle, offset):
            return taken
        if len(taken) >= most and not _goes_on(oracle, taken, offset, there, most, mode):
            break
        taken.append(offset)
    return taken + _fresh(oracle, there, read_from, upto, most - len(taken), mode)


def _goes_on(
    oracle: Oracle, taken: list[int], offset: int, there: dict[int, Span], most: int, mode: AcquireMode
) -> bool:
    """In batch-optimised mode the log batch of the last wanted record is taken whole, as far as it is alike."""
    is_alike = taken[-1] + 1 == offset and oracle.records[taken[-1]] == oracle.records[offset]
    return mode is AcquireMode.BATCH_OPTIMIZED and is_alike and there[taken[most - 1]] == there[offset]


def _fresh(
    oracle: Oracle, there: dict[int, Span], read_from: int, upto: int, wanted: int, mode: AcquireMode
) -> list[int]:
    room = oracle.limits.max_record_locks - sum(not record.is_hole for record in oracle.records.values())
    new = [offset for offset in there if offset >= oracle.end]
    if min(wanted, room) <= 0 or not new or read_from > oracle.end:
        return []
    end = min(upto, new[0] + min(wanted, room))
    if mode is AcquireMode.BATCH_OPTIMIZED and end - 1 in there:
        end = there[end - 1].end
    if oracle.start == oracle.end:
        oracle.start = oracle.end = max(oracle.end, min(there))
    for offset in range(oracle.end, end):
        oracle.records[offset] = Record(AVAILABLE if offset in there else ARCHIVED, 0)
    oracle.end = end
    return [offset for offset in new if offset < end]


def _is_suspicious(oracle: Oracle, offset: int) -> bool:
    return oracle.records[offset].count >= max(2, -(-oracle.limits.delivery_count_limit // 2))


def _throttled(oracle: Oracle, free: list[int], there: dict[int, Span], most: int, size: int) -> list[int]:
    limit, first, count = oracle.limits.delivery_count_limit, free[0], oracle.records[free[0]].count
    if limit > 2 and count >= limit - 1:
        return [first]
    reach = min(max(size, len(there[first])), oracle.limits.max_record_locks)
    low = high = first
    while first - low < reach and low - 1 in oracle.records and _is_suspicious(oracle, low - 1):
        low -= 1
    while high + 1 < first + reach and high + 1 in oracle.records and _is_suspicious(oracle, high + 1):
        high += 1
    low = min(low, there[first].start) if low == oracle.start else low
    halvings = count - max(2, -(-limit // 2)) + 1
    taken: list[int] = []
    for offset in free[: min(most, max(1, min(reach, high + 1 - low) >> halvings))]:
        is_last = limit > 2 and oracle.records[offset].count >= limit - 1
        if not _is_suspicious(oracle, offset) or is_last:
            break
        taken.append(offset)
    return taken
