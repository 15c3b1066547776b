"""Finding records by their timestamps: the right segment, the right batch by the indexes, then inside the batch.

In steps: what the indexes leave is a bounded stretch of batches, but a batch may be large, and where the log begins
in the middle of a segment the index does not know the largest timestamp behind that. Segments that leave the log
between two steps are passed over.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from leaselog.log._steps import HEADERS_PER_STEP, RECORDS_PER_STEP, Steps
from leaselog.log._unpacking import Unpacking
from leaselog.log.files import File
from leaselog.log.segment import Segment
from leaselog.wire.primitives import Buffer
from leaselog.wire.record_batch import BatchHeader, TimestampType
from leaselog.wire.records import scan_times

__all__ = ["FoundOffset", "first_at_or_after", "largest_timestamp"]


class FoundOffset(NamedTuple):
    offset: int
    timestamp: int
    leader_epoch: int


class _Batch(NamedTuple):
    """By its file, as another may have the segment's name by the time it is read."""

    file: File
    position: int
    header: BatchHeader


def first_at_or_after(
    segments: Collection[Segment], timestamp: int, *, start: int, end: int
) -> Steps[FoundOffset | None]:
    """The first record in ``[start, end)`` that is no older than ``timestamp``."""
    for segment in tuple(segments):
        yield None
        if segment.end_offset <= start or segment not in segments:
            continue
        if segment.largest().timestamp < timestamp:
            continue
        found = yield from _first_in_segment(segment, timestamp, start, end)
        if found is not None:
            return found
    return None


def _first_in_segment(segment: Segment, timestamp: int, start: int, end: int) -> Steps[FoundOffset | None]:
    from_offset, file = max(segment.time_index().offset_before(timestamp), start), segment.file()
    headers = segment.headers(segment.offset_index().position_before(from_offset))
    for count, (position, header) in enumerate(headers, 1):
        if header.base_offset >= end:
            return None
        if header.max_timestamp >= timestamp and header.end_offset > start and not header.is_control:
            found = yield from _first_in_batch(_Batch(file, position, header), timestamp, start, end)
            if found is not None:
                return found
        if count % HEADERS_PER_STEP == 0:
            yield None
    return None


def _first_in_batch(batch: _Batch, timestamp: int, start: int, end: int) -> Steps[FoundOffset | None]:
    header = batch.header
    if header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return _of_append_time(header, start, end)
    records = yield from _unpack(batch)
    for count, (offset, record_timestamp, _) in enumerate(scan_times(records, header), 1):
        if record_timestamp >= timestamp and start <= offset < end:
            return FoundOffset(offset, record_timestamp, header.leader_epoch)
        if count % RECORDS_PER_STEP == 0:
            yield None
    return None


def largest_timestamp(segments: Collection[Segment], *, start: int, end: int) -> Steps[FoundOffset | None]:
    """The first record in ``[start, end)`` with the largest timestamp there; None when no record has one.

    The indexes know the largest batch of whole segments, and of a segment's beginning; what they leave, the
    headers are read for.
    """
    best: _Batch | None = None
    for segment in tuple(segments):
        yield None
        if segment not in segments:
            continue
        candidate = yield from _largest_batch(segment, start, end)
        if candidate is not None and _is_larger(candidate.header, best):
            best = candidate
    if best is None:
        return None
    found = yield from _largest_in_batch(best, start, end)
    return found


def _is_larger(header: BatchHeader, best: _Batch | None) -> bool:
    return best is None or header.max_timestamp > best.header.max_timestamp


def _largest_batch(segment: Segment, start: int, end: int) -> Steps[_Batch | None]:
    largest = segment.largest()
    if segment.end_offset <= start or segment.base_offset >= end or largest.timestamp < 0:
        return None
    best, from_offset = _indexed(segment, largest.offset, start, end), start
    if best is not None:
        return best
    known = segment.time_index().largest_before(end)
    if known is not None and (best := _indexed(segment, known[1], start, end)) is not None:
        # What readers may not see yet has a larger one, most often: only what came after the index's last word is left.
        from_offset = known[1] + 1
    file = segment.file()
    for count, (position, header) in enumerate(segment.headers(segment.batch_of(from_offset)), 1):
        if header.end_offset > end:
            break
        if header.record_count and _is_larger(header, best):
            best = _Batch(file, position, header)
        if count % HEADERS_PER_STEP == 0:
            yield None
    return best


def _indexed(segment: Segment, last_offset: int, start: int, end: int) -> _Batch | None:
    """The batch that ends with ``last_offset``, if it is in the range; compaction may have emptied it."""
    if not start <= last_offset < end:
        return None
    found = next(segment.headers(segment.batch_of(last_offset)), None)
    return _Batch(segment.file(), *found) if found is not None and found[1].record_count else None


def _largest_in_batch(batch: _Batch, start: int, end: int) -> Steps[FoundOffset | None]:
    header, best = batch.header, None
    if header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return _of_append_time(header, start, end)
    records = yield from _unpack(batch)
    for count, (offset, timestamp, _) in enumerate(scan_times(records, header), 1):
        if start <= offset < end and (best is None or timestamp > best.timestamp):
            best = FoundOffset(offset, timestamp, header.leader_epoch)
        if count % RECORDS_PER_STEP == 0:
            yield None
    return best


def _of_append_time(header: BatchHeader, start: int, end: int) -> FoundOffset | None:
    """Every record has the batch's time, whatever its producer wrote: the first will do, unseen."""
    offset = max(header.base_offset, start)
    if offset >= min(header.end_offset, end):
        return None
    return FoundOffset(offset, header.max_timestamp, header.leader_epoch)


def _unpack(batch: _Batch) -> Steps[Buffer]:
    unpacking = Unpacking(batch.file.read_at(batch.position, batch.header.size_bytes), batch.header)
    if not unpacking.try_now():
        yield unpacking
    return unpacking.records()
