"""When worker processes are started, stopped and started again. No process is."""

from __future__ import annotations

import signal

import pytest

from leaselog.cli.supervision import (
    FIRST_PAUSE_MS,
    GOOD_LIFE_MS,
    LONGEST_PAUSE_MS,
    SAME_SIGNAL_MS,
    Broken,
    Kill,
    Restart,
    Start,
    Stop,
    Supervision,
)

PATIENCE_MS = 75_000


def begun(processes: int = 2, *, reloads: bool = False) -> Supervision:
    """All are up at 0."""
    rules = Supervision(processes, patience_ms=PATIENCE_MS, reloads=reloads)
    rules.begin(0)
    rules.ready(1, 0)
    for number in range(2, processes + 1):
        rules.ready(number, 0)
    return rules


def test_the_others_are_started_when_the_first_is_ready() -> None:
    rules = Supervision(3, patience_ms=PATIENCE_MS)
    assert rules.begin(0) == (Start(1),)
    assert rules.next_ms is None
    assert rules.ready(1, 10) == (Start(2), Start(3))
    assert rules.ready(2, 20) == ()


def test_a_process_that_ends_unasked_is_started_again_after_a_pause_that_grows() -> None:
    rules, now_ms, pauses = begun(), 0, []
    for _ in range(9):
        (told,) = rules.ended(2, -9, now_ms)
        assert isinstance(told, Restart)
        pauses.append(told.pause_ms)
        assert rules.passed(now_ms + told.pause_ms - 1) == ()
        now_ms += told.pause_ms
        assert rules.next_ms == now_ms
        assert rules.passed(now_ms) == (Start(2),)
        rules.ready(2, now_ms)
    assert pauses[:4] == [FIRST_PAUSE_MS, 2_000, 4_000, 8_000]
    assert pauses[-2:] == [LONGEST_PAUSE_MS] * 2
    assert not rules.is_ending


def test_a_good_life_makes_the_next_pause_short_again() -> None:
    rules = begun()
    rules.ended(1, 1, 0)
    rules.passed(FIRST_PAUSE_MS)
    rules.ready(1, FIRST_PAUSE_MS)
    assert rules.ended(1, 1, FIRST_PAUSE_MS + GOOD_LIFE_MS) == (Restart(1, 1, FIRST_PAUSE_MS),)


def test_one_that_ends_well_without_being_asked_is_started_again_too() -> None:
    assert begun().ended(1, 0, 5) == (Restart(1, 0, FIRST_PAUSE_MS),)


@pytest.mark.parametrize(("code", "exit_code"), [(2, 2), (1, 1), (0, 1), (-11, 1)])
def test_a_process_that_cannot_be_started_ends_the_whole(code: int, exit_code: int) -> None:
    rules = Supervision(2, patience_ms=PATIENCE_MS)
    rules.begin(0)
    assert rules.ended(1, code, 100) == ()
    assert rules.is_over
    assert rules.exit_code == exit_code


def test_one_of_the_others_that_cannot_be_started_ends_the_whole_when_the_rest_has_drained() -> None:
    rules = Supervision(2, patience_ms=PATIENCE_MS)
    rules.begin(0)
    rules.ready(1, 0)
    assert rules.ended(2, 2, 100) == (Stop(1),)
    assert not rules.is_over
    rules.ended(1, 0, 200)
    assert (rules.is_over, rules.exit_code) == (True, 2)


def test_one_that_has_been_ready_once_is_tried_again_even_if_it_cannot_be_started_now() -> None:
    rules = begun()
    rules.ended(2, -9, 0)
    rules.passed(FIRST_PAUSE_MS)
    assert rules.ended(2, 2, FIRST_PAUSE_MS) == (Restart(2, 2, 2 * FIRST_PAUSE_MS),)


def test_a_signal_lets_them_finish() -> None:
    rules = begun(3)
    rules.ended(3, -9, 0)  # waits for its time, and is not started any more
    assert rules.asked_to_end(10) == (Stop(1), Stop(2))
    rules.ended(1, 0, 20)
    assert not rules.is_over
    rules.ended(2, 0, 5_000)
    assert (rules.is_over, rules.exit_code) == (True, 0)


def test_a_second_signal_kills() -> None:
    rules = begun()
    rules.asked_to_end(10)
    rules.ended(1, 0, 20)
    assert rules.asked_to_end(10 + SAME_SIGNAL_MS) == (Kill(2),)
    rules.ended(2, -9, 1_000)
    assert (rules.is_over, rules.exit_code) == (True, 1)


def test_a_signal_that_comes_twice_at_once_is_one() -> None:
    rules = begun()
    rules.asked_to_end(10)
    assert rules.asked_to_end(10 + SAME_SIGNAL_MS - 1) == ()


def test_who_does_not_end_in_time_is_killed() -> None:
    rules = begun()
    rules.asked_to_end(10)
    assert rules.next_ms == 10 + PATIENCE_MS
    assert rules.passed(9 + PATIENCE_MS) == ()
    assert rules.passed(10 + PATIENCE_MS) == (Kill(1), Kill(2))


def test_a_process_that_fails_while_it_drains_is_told_by_the_exit_code() -> None:
    rules = begun(1)
    rules.asked_to_end(10)
    rules.ended(1, 1, 20)
    assert rules.exit_code == 1


def test_a_signal_before_anybody_listens_to_it_is_no_failure() -> None:
    rules = Supervision(2, patience_ms=PATIENCE_MS)
    rules.begin(0)
    assert rules.asked_to_end(1) == (Stop(1),)
    assert rules.ready(1, 2) == (), "the others are not started any more"
    rules = Supervision(2, patience_ms=PATIENCE_MS)
    rules.begin(0)
    rules.asked_to_end(1)
    rules.ended(1, -signal.SIGTERM, 2)
    assert (rules.is_over, rules.exit_code) == (True, 0)


def test_a_change_of_sources_stops_all_and_starts_each_when_it_has_drained() -> None:
    rules = begun(reloads=True)
    assert rules.sources_changed(10) == (Stop(1), Stop(2))
    assert rules.sources_changed(11) == (), "they are told once"
    assert rules.ended(2, 0, 20) == (Start(2),)
    assert rules.ended(1, 0, 9_000) == (Start(1),)
    rules.ready(1, 9_100)
    assert rules.ended(1, -9, 9_200) == (Restart(1, -9, FIRST_PAUSE_MS),)


def test_what_cannot_be_started_waits_for_the_next_change() -> None:
    rules = Supervision(2, patience_ms=PATIENCE_MS, reloads=True)
    rules.begin(0)
    assert rules.ended(1, 2, 10) == (Broken(1, 2),)
    assert rules.next_ms is None
    assert rules.sources_changed(20) == (Start(1),)
    assert rules.ready(1, 30) == (Start(2),)
    assert rules.asked_to_end(40) == (Stop(1), Stop(2))


def test_a_change_starts_one_that_waits_for_its_time() -> None:
    rules = begun(reloads=True)
    rules.ended(1, -9, 0)
    assert rules.sources_changed(1) == (Start(1), Stop(2))


def test_a_change_after_the_signal_starts_nobody() -> None:
    rules = begun(1, reloads=True)
    rules.asked_to_end(0)
    assert rules.sources_changed(1) == ()
    assert rules.ended(1, 0, 2) == ()
    assert rules.is_over
