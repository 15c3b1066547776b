"""The rules of an acquisition: how much, where to cut, and what to do with records that keep failing.

A record near its delivery limit may be the one that brings consumers down, so such records come in ever smaller
numbers, and the last permitted delivery is made alone: then only the culprit is archived.
"""

from __future__ import annotations

from bisect import bisect_right

from leaselog.model import Span
from leaselog.share.commands import AcquireMode

__all__ = ["chunks", "cut_at", "gaps", "throttled_count", "is_last_attempt", "is_throttled", "outside"]


def _first_throttled_count(limit: int) -> int:
    return max(2, (limit + 1) // 2)


def is_throttled(delivery_count: int, limit: int) -> bool:
    """Has a record with this count, its next delivery not yet counted, failed suspiciously often?"""
    return delivery_count >= _first_throttled_count(limit)


def is_last_attempt(delivery_count: int, limit: int) -> bool:
    return limit > 2 and delivery_count >= limit - 1


def throttled_count(delivery_count: int, limit: int, block: int) -> int:
    """How many of a block of throttled records one fetch gets: half, then a quarter, …, at last a single one."""
    if is_last_attempt(delivery_count, limit):
        return 1
    return max(1, block >> (delivery_count - _first_throttled_count(limit) + 1))


def cut_at(start: int, wanted: int, end: int, batches: tuple[Span, ...], mode: AcquireMode) -> int:
    """Where an acquisition of ``wanted`` records from ``start`` on ends, at most at ``end``.

    In batch-optimised mode the log batch of the last wanted record is not split.
    """
    cut = start + wanted
    if cut >= end:
        return end
    if mode is AcquireMode.RECORD_LIMIT:
        return cut
    return min(end, max(cut, _batch_around(cut - 1, batches).end))


def _batch_around(offset: int, batches: tuple[Span, ...]) -> Span:
    """The last batch that starts at or before the offset; the first one for an offset before all."""
    return batches[max(0, bisect_right(batches, offset, key=lambda batch: batch.start) - 1)]


def chunks(start: int, end: int, batches: tuple[Span, ...], size: int, mode: AcquireMode) -> list[Span]:
    """The ranges to report for acquired ``[start, end)``: cut between log batches once ``size`` is reached."""
    if mode is AcquireMode.RECORD_LIMIT or end - start <= size:
        return [Span(start, end)]
    found: list[Span] = []
    at = start
    index = max(0, bisect_right(batches, start, key=lambda batch: batch.start) - 1)
    for batch in batches[index:]:
        if batch.end >= end:
            break
        if batch.end - at >= size:
            found.append(Span(at, batch.end))
            at = batch.end
    found.append(Span(at, end))
    return found


def gaps(fetch_offset: int, batches: tuple[Span, ...]) -> list[tuple[int, int]]:
    """Offsets from ``fetch_offset`` to the end of what was read at which the log has nothing."""
    found: list[tuple[int, int]] = []
    at = fetch_offset
    for batch in batches:
        if batch.start > at:
            found.append((at, batch.start))
        if batch.end > at:
            at = batch.end
    return found


def outside(start: int, end: int, spans: tuple[Span, ...]) -> list[tuple[int, int, bool]]:
    """``[start, end)`` in pieces, each wholly in one of the spans (True) or in none."""
    if spans[0].start <= start < end <= spans[0].end:
        return [(start, end, True)]
    pieces: list[tuple[int, int, bool]] = []
    index = max(0, bisect_right(spans, start, key=lambda span: span.start) - 1)
    for span in spans[index:]:
        low, high = max(start, span.start), min(end, span.end)
        if low >= high:
            if span.start >= end:
                break
            continue
        if start < low:
            pieces.append((start, low, False))
        pieces.append((low, high, True))
        start = high
    if start < end:
        pieces.append((start, end, False))
    return pieces
