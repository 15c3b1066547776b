"""Growth is told of what grows, and of nothing else."""

from __future__ import annotations

import os

import pytest

from leaselog.testing.share_history_check import RecordPosition, Verdict, Violation
from soak.gauges import Growth, Reading, growth, read_process
from soak.soak import complaints


def reading(at_s: float, *, life: int = 0, memory_mb: float = 50.0, descriptors: int = 100) -> Reading:
    return Reading(at_s, life, memory_mb, descriptors, threads=9, lag=0, produced=0)


def leaking(mb_per_minute: float, *, descriptors_per_minute: float = 0.0) -> Growth | None:
    return growth(
        [
            reading(
                at_s,
                memory_mb=50 + at_s / 60 * mb_per_minute,
                descriptors=100 + int(at_s / 60 * descriptors_per_minute),
            )
            for at_s in range(0, 300, 2)
        ],
        warm_up_s=60,
    )


NOTHING = Verdict((), seen={})  # type: ignore[arg-type]


def test_a_leak_is_told_with_its_rate() -> None:
    grown = leaking(5.0)
    assert grown is not None
    assert grown.memory_mb_per_minute == pytest.approx(5.0)
    assert complaints(NOTHING, {}, grown) == ["memory grows by 5.00 MB a minute"]


def test_descriptors_that_are_never_closed_are_told() -> None:
    (told,) = complaints(NOTHING, {}, leaking(0.0, descriptors_per_minute=30))
    assert told.startswith("descriptors grow by")


def test_what_stays_as_it_is_is_not_told() -> None:
    assert complaints(NOTHING, {}, leaking(0.1)) == []


def test_the_first_minutes_do_not_count_and_neither_does_another_life() -> None:
    start = [reading(at_s, life=0, memory_mb=10 + at_s) for at_s in range(0, 100, 2)]
    warm = [reading(at_s, life=1, memory_mb=10 + min(at_s, 160)) for at_s in range(100, 400, 2)]
    grown = growth([*start, *warm], warm_up_s=60)
    assert grown is not None
    assert (grown.first.life, grown.memory_mb_per_minute) == (1, 0.0)


def test_a_life_too_short_to_say_says_nothing() -> None:
    assert growth([reading(0), reading(2)], warm_up_s=0) is None
    assert growth([], warm_up_s=0) is None


def test_a_violation_and_a_record_that_is_left_are_told() -> None:
    wrong = Verdict((Violation("lost", RecordPosition(0, 7), "nobody finished it"),), seen={})  # type: ignore[arg-type]
    told = complaints(wrong, {"orders-1": 3}, None)
    assert told == [
        "lost at RecordPosition(partition=0, offset=7): nobody finished it",
        "3 records of orders-1 are not done",
    ]


def test_a_process_has_memory_descriptors_and_threads() -> None:
    memory_mb, descriptors, threads = read_process(os.getpid())
    assert memory_mb > 5
    assert descriptors >= 3
    assert threads >= 1
