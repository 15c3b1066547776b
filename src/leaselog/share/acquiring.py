"""The rules of an acquisition: how much, where to cut, and what to do with records that keep failing.

A record near its delivery limit may be the one that brings consumers down, so such records come in ever smaller
helpings, and the last permitted attempt is made alone: then only the culprit is archived.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from leaselog.model import Span
from leaselog.share.commands import AcquireMode

__all__ = ["chunks", "cut_at", "gaps", "helping", "is_last_attempt", "is_throttled", "outside"]


def _first_throttled_count(limit: int) -> int:
    return max(2, (limit + 1) // 2)


def is_throttled(delivery_count: int, limit: int) -> bool:
    """Has a record with this count, its next delivery not yet counted, failed suspiciously often?"""
    return delivery_count >= _first_throttled_count(limit)


def is_last_attempt(delivery_count: int, limit: int) -> bool:
    return limit > 2 and delivery_count >= limit - 1


def helping(delivery_count: int, limit: int, block: int) -> int:
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


def chunks(start: int, end: int, batches: tuple[Span, ...], size: int, mode: AcquireMode) -> Iterator[Span]:
    """The ranges to report for acquired ``[start, end)``: cut between log batches once ``size`` is reached."""
    if mode is AcquireMode.RECORD_LIMIT or end - start <= size:
        yield Span(start, end)
        return
    at = start
    index = max(0, bisect_right(batches, start, key=lambda batch: batch.start) - 1)
    for batch in batches[index:]:
        if batch.end >= end:
            break
        if batch.end - at >= size:
            yield Span(at, batch.end)
            at = batch.end
    yield Span(at, end)


def gaps(fetch_offset: int, batches: tuple[Span, ...]) -> Iterator[tuple[int, int]]:
    """Offsets from ``fetch_offset`` to the end of what was read at which the log has nothing."""
    at = fetch_offset
    for batch in batches:
        if batch.start > at:
            yield at, batch.start
        at = max(at, batch.end)


def outside(start: int, end: int, spans: tuple[Span, ...]) -> Iterator[tuple[int, int, bool]]:
    """``[start, end)`` in pieces, each wholly in one of the spans (True) or in none."""
    index = max(0, bisect_right(spans, start, key=lambda span: span.start) - 1)
    for span in spans[index:]:
        low, high = max(start, span.start), min(end, span.end)
        if low >= high:
            if span.start >= end:
                break
            continue
        if start < low:
            yield start, low, False
        yield low, high, True
        start = high
    if start < end:
        yield start, end, False
