"""Which records an acquisition gets. Decides only; the machine then takes them."""

from __future__ import annotations

from leaselog.model import Span
from leaselog.share.acquiring import cut_at, is_last_attempt, is_throttled, throttled_count
from leaselog.share.available import Taker
from leaselog.share.commands import Acquire, Limits
from leaselog.share.inflight import Run
from leaselog.share.record_window import RecordWindow

__all__ = ["pick"]


def pick(command: Acquire, window: RecordWindow, limits: Limits) -> tuple[list[tuple[int, int]], int | None]:
    """The waiting records to take, ascending, and how far the window may grow for new ones (None: not at all).

    Records waiting for another delivery come first and are bounded by what was asked for alone; new ones also by
    the room in the window. Records that failed suspiciously often are never mixed with others.
    """
    upto = command.batches[-1].end
    picked: list[tuple[int, int]] = []
    left = command.max_records
    if window.first_available() is None:
        return picked, _fresh_end(command, window, limits, left)
    with window.take_available(max(command.batches[0].start, window.start), min(upto, window.end)) as taker:
        while left > 0 and (run := taker.next()) is not None:
            start, end, cell = run
            if is_throttled(cell.delivery_count, limits.delivery_count_limit):
                if not picked:
                    picked = _pick_throttled(run, taker, command, window, limits)
                return picked, None
            cut = cut_at(start, left, end, command.batches, command.mode)
            picked.append((start, cut))
            taker.taken()
            left -= cut - start
    return picked, _fresh_end(command, window, limits, left)


def _fresh_end(command: Acquire, window: RecordWindow, limits: Limits, left: int) -> int | None:
    upto = command.batches[-1].end
    wanted = min(left, limits.max_record_locks - window.in_flight)
    # a read from past the window would leave records behind that nobody has seen
    if wanted <= 0 or upto <= window.end or command.fetch_offset > window.end:
        return None
    first = window.end
    for batch in command.batches:
        if batch.end > first:
            first = max(first, batch.start)
            break
    return cut_at(first, wanted, upto, command.batches, command.mode)


def _pick_throttled(
    first: Run, taker: Taker, command: Acquire, window: RecordWindow, limits: Limits
) -> list[tuple[int, int]]:
    limit = limits.delivery_count_limit
    block = _block_size(first[0], command, window, limits)
    left = min(command.max_records, throttled_count(first[2].delivery_count, limit, block))
    picked: list[tuple[int, int]] = []
    run: Run | None = first
    while run is not None and left > 0:
        start, end, cell = run
        if not is_throttled(cell.delivery_count, limit):
            break
        if picked and is_last_attempt(cell.delivery_count, limit):
            break
        cut = min(end, start + left)
        picked.append((start, cut))
        taker.taken()
        left -= cut - start
        run = taker.next()
    return picked


def _block_size(offset: int, command: Acquire, window: RecordWindow, limits: Limits) -> int:
    """How many records around this one have failed as often as that, whatever became of them since.

    Apache Kafka halves what it once handed out as one batch. We do not keep those; the stretch of suspicious records
    is the same thing, up to the size that such a batch would have had.
    """
    batch = next((batch for batch in command.batches if offset in batch), Span(offset, offset + 1))
    most = min(max(len(batch), command.batch_size), limits.max_record_locks)
    low = high = offset
    for start, end, cell in window.runs(offset - most, offset + most):
        if is_throttled(cell.delivery_count, limits.delivery_count_limit):
            low, high = (start, end) if high < start else (min(low, start), end)
        elif start > offset:
            break
        else:
            low = high = end
    if low == window.start:
        low = min(low, batch.start)  # the part of this batch that is through already
    return min(most, high - low)
