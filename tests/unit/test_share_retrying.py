"""A record that was released, or whose lease ran out, waits for its next delivery; what was given back does not."""

from __future__ import annotations

import pytest
from share_driver import ACCEPT, LOCK_MS, RECORD_LIMIT, REJECT, RELEASE, A, B, Driver

from leaselog.model import ErrorCode, Span
from leaselog.share import (
    AcknowledgementDetails,
    Acquire,
    ChangeLimits,
    Limits,
    RecordState,
    ReleaseMember,
    RetryBackoff,
    SharePartition,
    StateSpan,
    StoredState,
    WakeFetchers,
    due_ms,
    grain_ms,
    inspect,
)

STEADY = RetryBackoff(1_000, 2.0, 5_000, 0.0)
GIVEN_BACK = AcknowledgementDetails(is_given_back=True)


def after(delay_ms: int) -> AcknowledgementDetails:
    return AcknowledgementDetails(delay_ms=delay_ms)


def driver(*, limit: int = 5, state: StoredState | None = None, locks: int = 2_000) -> Driver:
    return Driver(limit=limit, state=state, locks=locks, backoff=STEADY)


# how long


def test_the_pause_grows_with_the_deliveries_up_to_the_maximum() -> None:
    assert [STEADY.pause_ms(count, 0.5) for count in (1, 2, 3, 4, 5)] == [1_000, 2_000, 4_000, 5_000, 5_000]


def test_jitter_makes_a_pause_shorter_or_longer_but_not_than_the_maximum() -> None:
    backoff = RetryBackoff(1_000, 3.0, 3_200, 0.2)
    assert [backoff.pause_ms(1, chance) for chance in (0.0, 0.5, 1.0)] == [800, 1_000, 1_200]
    assert backoff.pause_ms(2, 1.0) == 3_200


def test_a_pause_too_large_to_compute_is_the_maximum() -> None:
    assert RetryBackoff(86_400_000, 1e300, 90_000_000, 1.0).pause_ms(32_767, 0.0) == 90_000_000


@pytest.mark.parametrize("pause", [1, 63, 64, 1_000, 60_000, 86_400_000])
def test_a_due_time_is_never_early_and_at_most_a_64th_of_the_pause_late(pause: int) -> None:
    for now in range(1_000_000, 1_000_200):
        late = (due_ms(now, pause) or 0) - now - pause
        assert 0 <= late <= min(pause / 64, 1_023)
    assert grain_ms(pause) & (grain_ms(pause) - 1) == 0


def test_no_pause_is_no_due_time() -> None:
    assert due_ms(7, 0) is None


# waiting


def test_a_released_record_waits_and_holds_back_nobody_behind_it() -> None:
    d = driver()
    d.acquire(A, (0, 10), most=4, mode=RECORD_LIMIT)
    d.settle(A, (0, 4, [RELEASE, RELEASE, ACCEPT, ACCEPT]))
    assert (d.partition.waiting_count, d.partition.next_fetch_offset) == (2, 4)
    assert d.acquire(B, (0, 10)) == [(4, 10, 1)]
    d.pass_ms(999)
    assert d.acquire(B, (0, 10)) == []
    d.pass_ms(d.due_in_ms)
    assert WakeFetchers() in d.effects
    assert d.acquire(B, (0, 10)) == [(0, 2, 2)]


def test_a_record_whose_lease_ran_out_waits() -> None:
    d = driver()
    d.acquire(A, (0, 2))
    d.pass_ms(LOCK_MS)
    assert WakeFetchers() not in d.effects
    assert d.acquire(B, (0, 2)) == []
    d.pass_ms(d.due_in_ms)
    assert d.acquire(B, (0, 2)) == [(0, 2, 2)]


def test_a_record_of_a_session_that_ended_waits() -> None:
    d = driver()
    d.acquire(A, (0, 2))
    d.handle(ReleaseMember(A))
    d.persist()
    assert d.partition.waiting_count == 2


def test_the_second_pause_is_longer() -> None:
    d = driver()
    waits = []
    for _ in range(3):
        d.acquire(A, (0, 1))
        d.settle(A, (0, 1, RELEASE))
        waits.append(d.due_in_ms)
        d.pass_ms(d.due_in_ms)
    assert [round(wait, -2) for wait in waits] == [1_000, 2_000, 4_000]


def test_the_last_delivery_leads_to_the_archive_and_not_to_a_wait() -> None:
    d = driver(limit=2)
    d.acquire(A, (0, 1))
    d.settle(A, (0, 1, RELEASE))
    d.pass_ms(d.due_in_ms)
    d.acquire(A, (0, 1))
    d.settle(A, (0, 1, RELEASE))
    assert d.window == (1, 1)


def test_a_window_full_of_records_that_wait_gives_nothing_and_asks_to_be_woken() -> None:
    d = driver(locks=4)
    d.acquire(A, (0, 4), (4, 8))
    d.settle(A, (0, 4, RELEASE))
    partition = d.partition
    assert (partition.can_acquire, partition.has_available, partition.next_fetch_offset) == (False, False, 4)
    assert partition.next_deadline_ms is not None
    d.pass_ms(d.due_in_ms)
    assert WakeFetchers() in d.effects
    assert partition.can_acquire


def test_the_start_does_not_pass_a_record_that_waits() -> None:
    d = driver()
    d.acquire(A, (0, 3))
    d.settle(A, (0, 3, [RELEASE, ACCEPT, ACCEPT]))
    assert d.window == (0, 3)


def test_a_wait_that_is_over_before_its_write_is_none() -> None:
    d = driver()
    d.acquire(A, (0, 1))
    d.acknowledge(A, (0, 1, RELEASE))
    d.now_ms += 2_000
    d.persist()
    assert WakeFetchers() in d.effects
    assert d.acquire(B, (0, 1)) == [(0, 1, 2)]


def test_a_release_that_cannot_be_written_waits_for_nothing() -> None:
    d = driver()
    d.acquire(A, (0, 1))
    d.acknowledge(A, (0, 1, RELEASE))
    d.persist(ok=False)
    assert d.states == [(0, 1, "acquired", 1)]
    d.settle(A, (0, 1, ACCEPT))
    assert d.window == (1, 1)


def test_what_waits_when_pauses_are_switched_off_waits_on() -> None:
    d = driver()
    d.acquire(A, (0, 1))
    d.settle(A, (0, 1, RELEASE))
    d.handle(ChangeLimits(Limits()))
    assert d.partition.waiting_count == 1
    d.pass_ms(d.due_in_ms)
    assert d.acquire(A, (0, 1)) == [(0, 1, 2)]


def test_records_that_wait_until_one_time_are_one_run_whenever_they_were_released() -> None:
    d = driver()
    d.acquire(A, (0, 10))
    for offset in range(10):
        d.now_ms += offset % 2  # within the grain
        d.settle(A, (offset, offset + 1, RELEASE))
    assert d.partition.run_count <= 2


def test_what_compaction_takes_waits_no_more() -> None:
    d = driver()
    d.acquire(A, (0, 4))
    d.settle(A, (0, 4, RELEASE))
    d.handle(Acquire(A, 0, (Span(2, 6),), 10))
    assert d.partition.waiting_count == 2
    d.pass_ms(d.due_in_ms)
    assert d.acquire(B, (2, 6)) == [(2, 4, 2)]


# what the client says


def test_a_delay_that_the_client_asks_for_takes_the_place_of_the_pause() -> None:
    d = driver()
    d.acquire(A, (0, 3))
    d.settle_with(A, (0, 1, RELEASE, after(25_600)), (1, 2, RELEASE, after(0)), (2, 3, RELEASE, None))
    assert d.acquire(B, (0, 3)) == [(1, 2, 2)]
    d.pass_ms(1_100)
    assert d.acquire(B, (0, 3)) == [(2, 3, 2)]
    d.pass_ms(d.due_in_ms)
    assert d.now_ms == 25_600
    assert d.acquire(B, (0, 3)) == [(0, 1, 2)]


def test_a_delay_is_no_longer_than_the_group_allows() -> None:
    d = Driver()
    d.handle(ChangeLimits(Limits(release_delay_max_ms=5_000)))
    d.acquire(A, (0, 1))
    d.settle_with(A, (0, 1, RELEASE, after(10**12)))
    assert d.due_in_ms == due_ms(0, 5_000)


def test_the_reason_of_a_rejection_is_the_cause_of_its_dead_letter() -> None:
    d = Driver(has_dead_letters=True)
    d.acquire(A, (0, 2))
    reason = AcknowledgementDetails(reason="no such customer")
    d.settle_with(A, (0, 1, REJECT, reason), (1, 2, RELEASE, reason))
    assert d.asked_for == [(0, 1, 1, "no such customer")]
    assert d.states[1:] == [(1, 2, "available", 1)]


# given back


def test_what_is_given_back_has_not_been_delivered() -> None:
    d = driver()
    d.acquire(A, (0, 3))
    assert (
        d.acknowledge_with(A, (0, 2, RELEASE, GIVEN_BACK)) is None
    )  # nothing to write: the delivery was not
    assert WakeFetchers() in d.effects
    assert d.acquire(B, (0, 3)) == [(0, 2, 1)]
    assert d.partition.counters.given_back == 2


def test_a_later_delivery_is_given_back_to_the_count_before() -> None:
    d = Driver(limit=2)
    d.acquire(A, (0, 1))
    d.settle(A, (0, 1, RELEASE))
    for _ in range(4):  # as often as they like
        assert d.acquire(A, (0, 1)) == [(0, 1, 2)]
        d.acknowledge_with(A, (0, 1, RELEASE, GIVEN_BACK))
    assert d.states == [(0, 1, "available", 1)]


def test_only_who_has_a_record_gives_it_back_and_once() -> None:
    d = Driver()
    d.acquire(A, (0, 2))
    assert d.try_acknowledge_with(B, (0, 1, RELEASE, GIVEN_BACK)) is ErrorCode.INVALID_RECORD_STATE
    d.acknowledge_with(A, (0, 1, RELEASE, GIVEN_BACK))
    assert d.try_acknowledge_with(A, (0, 1, RELEASE, GIVEN_BACK)) is ErrorCode.INVALID_RECORD_STATE
    twice = d.try_acknowledge_with(A, (1, 2, RELEASE, GIVEN_BACK), (1, 2, RELEASE, GIVEN_BACK))
    assert twice is ErrorCode.INVALID_RECORD_STATE
    assert d.states == [(0, 1, "available", 0), (1, 2, "acquired", 1)]


def test_only_releases_are_given_back() -> None:
    d = Driver()
    d.acquire(A, (0, 2))
    d.settle_with(A, (0, 2, [ACCEPT, RELEASE], GIVEN_BACK))
    assert d.window == (1, 2)
    assert d.states == [(1, 2, "available", 0)]


# a new leader


def test_a_write_says_until_when_its_records_wait() -> None:
    d = driver()
    d.acquire(A, (0, 3))
    write = d.acknowledge(A, (0, 3, [RELEASE, ACCEPT, RELEASE]))
    assert write is not None
    due = due_ms(0, 1_000)
    assert [(b.start, b.end, b.due_ms) for b in write.spans] == [(0, 1, due), (1, 2, None), (2, 3, due)]


def test_what_waits_goes_on_waiting_under_a_new_leader() -> None:
    waiting = StateSpan(5, 7, RecordState.AVAILABLE, 2, 800)
    d = driver(state=StoredState(5, (waiting, StateSpan(7, 8, RecordState.AVAILABLE, 1, -3))))
    assert d.acquire(A, (5, 9)) == [(7, 8, 2), (8, 9, 1)]
    d.pass_ms(800)
    assert d.acquire(A, (5, 9)) == [(5, 7, 3)]


def test_nothing_waits_longer_under_a_new_leader_than_anything_may() -> None:
    """The clock was set back while nobody led."""
    limits = Limits(backoff=STEADY, release_delay_max_ms=2_000)
    stored = StoredState(0, (StateSpan(0, 1, RecordState.AVAILABLE, 1, 10**12),))
    partition = SharePartition.from_state(stored, log_start=0, reset_to=0, limits=limits, now_ms=70)
    assert partition.next_deadline_ms == 5_070


# what operators see


def test_an_inspection_tells_waiting_records_from_those_to_be_had() -> None:
    d = Driver(has_dead_letters=True, backoff=STEADY)
    d.acquire(A, (0, 6))
    d.settle_with(A, (0, 2, RELEASE, None), (2, 3, RELEASE, GIVEN_BACK), (3, 4, REJECT, None))
    seen = inspect(d.partition)
    assert (seen.available, seen.waiting, seen.archiving, seen.acquired) == (1, 2, 1, 2)
    assert seen.next_due_ms == due_ms(0, 1_000)
    assert d.partition.counters.delayed == 2
