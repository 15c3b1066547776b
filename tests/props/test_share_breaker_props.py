"""The breaker's window against a list of all that was ever finished."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from leaselog.share import Breaker, BreakerRule, FinishedCounts, FinishedWindow
from leaselog.share.breaker import SLOTS

#: milliseconds since the one before, accepted, failed
Steps = list[tuple[int, int, int]]

windows_ms = st.one_of(st.integers(1, 200), st.integers(1_000, 100_000))
steps = st.lists(
    st.tuples(
        st.one_of(st.just(0), st.integers(0, 50), st.integers(0, 40_000)),
        st.integers(0, 5),
        st.integers(0, 5),
    ),
    max_size=80,
)


def counted(past: list[tuple[int, int, int]], since_ms: float) -> FinishedCounts:
    """Of what was finished after that time."""
    young = [(accepted, failed) for at_ms, accepted, failed in past if at_ms > since_ms]
    return FinishedCounts(sum(a for a, _ in young), sum(f for _, f in young))


@given(windows_ms, steps)
def test_it_counts_what_is_certainly_within_and_nothing_that_is_certainly_out(
    window_ms: int, played: Steps
) -> None:
    window, past, now_ms = FinishedWindow(window_ms), list[tuple[int, int, int]](), 0
    for pause_ms, accepted, failed in played:
        now_ms += pause_ms
        window.add(accepted, failed, now_ms)
        past.append((now_ms, accepted, failed))
        counts = window.counts(now_ms)
        least = counted(past, now_ms - window_ms * (1 - 1 / SLOTS))
        most = counted(past, now_ms - window_ms)
        assert least.accepted <= counts.accepted <= most.accepted
        assert least.failed <= counts.failed <= most.failed


@given(windows_ms, steps)
def test_it_takes_the_same_room_however_much_is_finished(window_ms: int, played: Steps) -> None:
    window, now_ms = FinishedWindow(window_ms), 0
    for pause_ms, accepted, failed in played:
        now_ms += pause_ms
        for _ in range(3):
            window.add(accepted, failed, now_ms)
        assert len(window._slots) <= SLOTS


@given(windows_ms, steps, st.integers(0, 10_000))
def test_a_clock_that_goes_back_loses_nothing_and_the_window_empties_all_the_same(
    window_ms: int, played: Steps, back_ms: int
) -> None:
    window, now_ms, latest_ms = FinishedWindow(window_ms), back_ms, back_ms
    for number, (pause_ms, accepted, failed) in enumerate(played):
        now_ms = max(0, now_ms - back_ms if number % 7 == 6 else now_ms + pause_ms)
        latest_ms = max(latest_ms, now_ms)
        before = window.counts(now_ms)
        window.add(accepted, failed, now_ms)
        after = window.counts(now_ms)
        assert (after.accepted, after.failed) == (before.accepted + accepted, before.failed + failed)
    assert window.counts(latest_ms + window_ms + 1) == FinishedCounts()


@given(st.floats(0.01, 0.99), st.integers(1, 20), steps)
def test_it_trips_exactly_when_there_is_enough_and_too_much_of_it_failed(
    ratio: float, min_records: int, played: Steps
) -> None:
    breaker = Breaker(BreakerRule(ratio, 1_000_000_000, min_records))
    accepted_sum = failed_sum = now_ms = 0
    for pause_ms, accepted, failed in played:
        now_ms += pause_ms
        accepted_sum, failed_sum = accepted_sum + accepted, failed_sum + failed
        total = accepted_sum + failed_sum
        tripped = breaker.finished(accepted, failed, now_ms)
        if total >= min_records and failed_sum > ratio * total:
            assert tripped == FinishedCounts(accepted_sum, failed_sum)
        else:
            assert tripped is None
