"""Ranges by time: what is due comes as few ranges, however it was pushed, and what is not due stays."""

from __future__ import annotations

import pytest

from leaselog.share.timed_ranges import TimedRanges


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 18, 40, 1_000])
def test_what_is_due_comes_once_ascending_and_disjoint(count: int) -> None:
    ranges = TimedRanges()
    for i in reversed(range(count)):
        ranges.push(10 + i % 3, 10 * i, 10 * i + 2)
        ranges.push(99, 10 * i, 10 * i + 2)
    assert ranges.pop_due(9) == []
    assert ranges.pop_due(12) == [(10 * i, 10 * i + 2) for i in range(count)]
    assert ranges.pop_due(98) == []
    assert (len(ranges.heap), ranges.next_ms(0)) == (count, 99)


def test_ranges_that_touch_or_overlap_are_one() -> None:
    ranges = TimedRanges()
    for start, end in [(5, 9), (0, 5), (20, 30), (21, 22), (8, 10), (12, 13)]:
        ranges.push(1, start, end)
    assert ranges.pop_due(1) == [(0, 10), (12, 13), (20, 30)]


def test_entries_below_the_start_are_forgotten() -> None:
    ranges = TimedRanges()
    ranges.push(1, 0, 5)
    ranges.push(2, 3, 8)
    assert ranges.next_ms(5) == 2
    assert ranges.pop_due(2) == [(3, 8)]
    assert ranges.next_ms(5) is None
