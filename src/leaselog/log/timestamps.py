"""Finding records by their timestamps: the right segment, the right batch by the indexes, then inside the batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from leaselog.log.segment import Segment
from leaselog.wire.record_batch import BatchHeader, TimestampType
from leaselog.wire.records import scan_records

__all__ = ["FoundOffset", "first_at_or_after", "largest_timestamp"]


class FoundOffset(NamedTuple):
    offset: int
    timestamp: int
    leader_epoch: int


def first_at_or_after(
    segments: Iterable[Segment], timestamp: int, *, start: int, end: int
) -> FoundOffset | None:
    """The first record in ``[start, end)`` that is no older than ``timestamp``."""
    for segment in segments:
        if segment.end_offset <= start or segment.largest().timestamp < timestamp:
            continue
        found = _first_in_segment(segment, timestamp, start, end)
        if found is not None:
            return found
    return None


def _first_in_segment(segment: Segment, timestamp: int, start: int, end: int) -> FoundOffset | None:
    from_offset = max(segment.time_index().offset_before(timestamp), start)
    for position, header in segment.headers(segment.offset_index().position_before(from_offset)):
        if header.base_offset >= end:
            return None
        if header.max_timestamp >= timestamp and header.end_offset > start and not header.is_control:
            for offset, record_timestamp in _timestamps(segment, position, header):
                if record_timestamp >= timestamp and start <= offset < end:
                    return FoundOffset(offset, record_timestamp, header.leader_epoch)
    return None


def largest_timestamp(segments: Iterable[Segment], *, start: int, end: int) -> FoundOffset | None:
    """The first record in ``[start, end)`` with the largest timestamp there; None when no record has one.

    The indexes know the largest batch of whole segments; only when that one lies outside the range are
    the headers of a segment read.
    """
    best: tuple[int, Segment, int, BatchHeader] | None = None
    for segment in segments:
        candidate = _largest_batch(segment, start, end)
        if candidate is not None and (best is None or candidate[1].max_timestamp > best[0]):
            best = (candidate[1].max_timestamp, segment, *candidate)
    if best is None:
        return None
    _, segment, position, header = best
    inside = [pair for pair in _timestamps(segment, position, header) if start <= pair[0] < end]
    if not inside:
        return None
    offset, timestamp = max(inside, key=lambda pair: (pair[1], -pair[0]))
    return FoundOffset(offset, timestamp, header.leader_epoch)


def _largest_batch(segment: Segment, start: int, end: int) -> tuple[int, BatchHeader] | None:
    largest = segment.largest()
    if segment.end_offset <= start or segment.base_offset >= end or largest.timestamp < 0:
        return None
    if start <= largest.offset < end:
        indexed = next(segment.headers(segment.batch_of(largest.offset)), None)
        # Compaction may have emptied the very batch.
        if indexed is not None and indexed[1].record_count:
            return indexed
    within = (
        pair for pair in segment.headers() if start < pair[1].end_offset <= end and pair[1].record_count
    )
    return max(within, key=lambda pair: pair[1].max_timestamp, default=None)


def _timestamps(segment: Segment, position: int, header: BatchHeader) -> Iterator[tuple[int, int]]:
    if header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        # Every record has the batch's time, whatever its producer wrote.
        yield from ((offset, header.max_timestamp) for offset in range(header.base_offset, header.end_offset))
        return
    batch = segment.file().read_at(position, header.size_bytes)
    yield from ((record.offset, record.timestamp_ms) for record in scan_records(batch, header))
