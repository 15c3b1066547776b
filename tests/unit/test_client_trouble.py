"""When a client says what it waits for."""

from __future__ import annotations

from leaselog.client.trouble import MAX_KINDS, Trouble


def test_trouble_is_said_at_once_then_at_growing_intervals_and_then_once_a_minute() -> None:
    trouble = Trouble()
    said = [now_s for now_s in range(400) if trouble.ails("x", now_s * 1_000) is not None]
    assert said == [0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 303, 363]


def test_the_end_of_trouble_is_said_once_and_then_it_is_news_again() -> None:
    trouble = Trouble()
    assert trouble.is_well("x", 0) is None
    trouble.ails("x", 1_000)
    assert trouble.is_well("x", 5_000) == 4_000
    assert trouble.is_well("x", 6_000) is None
    assert trouble.ails("x", 7_000) == 0


def test_what_passes_within_its_patience_is_never_said() -> None:
    trouble = Trouble()
    assert trouble.ails("x", 0, patience_ms=1_000) is None
    assert trouble.ails("x", 999, patience_ms=1_000) is None
    assert trouble.is_well("x", 999) is None
    assert trouble.ails("y", 0, patience_ms=1_000) is None
    assert trouble.ails("y", 1_000, patience_ms=1_000) == 1_000


def test_kinds_of_trouble_are_told_apart_up_to_a_bound() -> None:
    trouble = Trouble()
    said = [trouble.ails(str(kind), 0) for kind in range(MAX_KINDS + 5)]
    assert said == [0] * MAX_KINDS + [None] * 5
