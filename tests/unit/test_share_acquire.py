"""What an acquisition gets: limits, borders, holes in the log, and records that keep failing."""

from __future__ import annotations

import pytest
from share_driver import (
    ACCEPT,
    BATCH_OPTIMIZED,
    GAP,
    LOCK_MS,
    RECORD_LIMIT,
    REJECT,
    RELEASE,
    A,
    B,
    Driver,
    said,
)

from leaselog.share import (
    AcquireMode,
    ChangeLimits,
    Expire,
    Limits,
    RecordState,
    StateSpan,
    StoredState,
    WakeFetchers,
)
from leaselog.share.acquiring import throttled_count


def test_batch_optimised_takes_the_log_batch_of_the_last_wanted_record_whole() -> None:
    d = Driver()
    assert d.acquire(A, (0, 10), (10, 20), most=5) == [(0, 10, 1)]


def test_record_limit_takes_no_more_than_asked_for() -> None:
    d = Driver()
    assert d.acquire(A, (0, 10), most=5, mode=RECORD_LIMIT) == [(0, 5, 1)]
    assert d.window == (0, 5)
    assert d.acquire(B, (0, 10), most=50, mode=RECORD_LIMIT) == [(5, 10, 1)]


def test_what_one_member_holds_is_invisible_to_the_other() -> None:
    d = Driver()
    d.acquire(A, (0, 10))
    assert d.partition.next_fetch_offset == 10
    assert d.acquire(B, (0, 10), fetch_offset=0) == []
    assert d.acquire(B, (0, 10), (10, 12)) == [(10, 12, 1)]


def test_acquired_ranges_are_cut_at_log_batches_once_they_have_the_batch_size() -> None:
    d = Driver()
    batches = [(0, 3), (3, 6), (6, 9), (9, 20), (20, 21)]
    assert d.acquire(A, *batches, size=5) == [(0, 6, 1), (6, 20, 1), (20, 21, 1)]


def test_record_limit_reports_one_range_whatever_the_batch_size() -> None:
    d = Driver()
    assert d.acquire(A, (0, 3), (3, 6), (6, 9), size=1, mode=RECORD_LIMIT) == [(0, 9, 1)]


def test_released_records_keep_their_range_but_not_more_than_their_log_batch() -> None:
    d = Driver()
    d.acquire(A, (0, 10), (10, 20), (20, 30))
    d.settle(A, (0, 30, RELEASE))
    assert d.acquire(B, (0, 10), (10, 20), (20, 30), most=12) == [(0, 20, 2)]
    assert d.acquire(B, (20, 30), most=3, mode=RECORD_LIMIT) == [(20, 23, 2)]


def test_records_of_different_counts_are_different_ranges() -> None:
    d = Driver()
    d.acquire(A, (0, 10), most=4, mode=RECORD_LIMIT)
    d.settle(A, (0, 4, RELEASE))
    assert d.acquire(A, (0, 10)) == [(0, 4, 2), (4, 10, 1)]


def test_a_batch_that_begins_below_the_start_is_clipped_to_it() -> None:
    d = Driver(105)
    assert d.acquire(A, (100, 110)) == [(105, 110, 1)]


@pytest.mark.parametrize(("mode", "end"), [(RECORD_LIMIT, 100), (BATCH_OPTIMIZED, 130)])
def test_the_window_is_bounded_to_the_record_or_to_the_log_batch(mode: AcquireMode, end: int) -> None:
    d = Driver(locks=100)
    d.acquire(A, (0, 70), mode=mode)
    assert d.partition.can_acquire
    d.acquire(A, (70, 130), mode=mode)
    assert d.window == (0, end)
    assert d.partition.is_full
    assert not d.partition.can_acquire
    assert d.acquire(A, (130, 140)) == []


def test_a_full_window_still_delivers_again_what_is_in_it() -> None:
    d = Driver(locks=10)
    d.acquire(A, (0, 10))
    d.settle(A, (3, 5, RELEASE))
    assert d.partition.can_acquire
    assert d.acquire(B, (0, 10), (10, 20)) == [(3, 5, 2)]
    assert d.window == (0, 10)


def test_records_done_out_of_order_count_against_the_window() -> None:
    d = Driver(locks=10)
    d.acquire(A, (0, 10))
    d.settle(A, (1, 10, ACCEPT))
    assert not d.partition.can_acquire
    d.settle(A, (0, 1, ACCEPT))
    assert d.window == (10, 10)
    assert WakeFetchers() in d.effects, "there is room again"


def test_holes_between_log_batches_are_not_delivered_and_do_not_hold_the_start() -> None:
    d = Driver()
    assert d.acquire(A, (0, 5), (8, 10)) == [(0, 5, 1), (8, 10, 1)]
    d.settle(A, (0, 5, ACCEPT))
    assert d.window == (8, 10)


def test_an_empty_window_moves_to_the_first_record_there_is() -> None:
    d = Driver()
    assert d.acquire(A, (50, 60)) == [(50, 60, 1)]
    assert d.window == (50, 60)


def test_an_acknowledgement_over_a_hole_ignores_it() -> None:
    d = Driver()
    d.acquire(A, (0, 5), (8, 10))
    assert said(d.acknowledge(A, (0, 10, ACCEPT))) == [(0, 4, 2, 1), (8, 9, 2, 1)]


def test_a_hole_takes_no_room_in_the_window() -> None:
    d = Driver(locks=10)
    d.acquire(A, (0, 5))
    assert d.acquire(A, (1000, 1003)) == [(1000, 1003, 1)]
    assert d.acquire(A, (1003, 1009), mode=RECORD_LIMIT) == [(1003, 1005, 1)]


def test_waiting_records_that_compaction_removed_are_archived() -> None:
    d = Driver()
    d.acquire(A, (0, 5), (5, 10), (10, 15))
    d.settle(A, (0, 10, RELEASE))
    assert d.acquire(B, (5, 10), (10, 15)) == [(5, 10, 2)]
    assert d.window == (5, 15)


def test_leased_records_that_compaction_removed_may_still_be_accepted() -> None:
    d = Driver()
    d.acquire(A, (0, 5), (5, 10))
    d.settle(A, (5, 10, RELEASE))
    d.acquire(B, (5, 10), fetch_offset=0)
    assert said(d.acknowledge(A, (0, 5, ACCEPT))) == [(0, 4, 2, 1)]


def test_a_gap_that_the_client_reports_is_archived() -> None:
    d = Driver()
    d.acquire(A, (0, 5))
    assert said(d.acknowledge(A, (0, 5, [ACCEPT, GAP, GAP, ACCEPT, GAP]))) == [
        (0, 0, 2, 1),
        (1, 2, 4, 1),
        (3, 3, 2, 1),
        (4, 4, 4, 1),
    ]
    d.persist()
    assert d.window == (5, 5)


def test_unread_gaps_of_a_read_state_are_delivered_for_the_first_time() -> None:
    done = RecordState.ACKNOWLEDGED
    d = Driver(
        state=StoredState(10, (StateSpan(12, 15, done, 1), StateSpan(18, 20, RecordState.AVAILABLE, 3)))
    )
    assert d.window == (10, 20)
    assert d.partition.next_fetch_offset == 10
    assert d.acquire(A, (10, 30), most=5, mode=RECORD_LIMIT) == [(10, 12, 1), (15, 18, 1)]


def test_a_read_state_whose_front_is_done_starts_behind_it() -> None:
    done = RecordState.ACKNOWLEDGED
    d = Driver(state=StoredState(0, (StateSpan(0, 7, done, 1), StateSpan(9, 10, done, 1))))
    assert d.window == (7, 10)
    assert d.partition.delivery_complete_count == 1


def test_a_group_without_a_start_offset_starts_where_its_policy_says() -> None:
    assert Driver(77).window == (77, 77)


def test_records_of_aborted_transactions_are_archived_and_persisted_not_delivered() -> None:
    d = Driver()
    assert d.acquire(A, (0, 4), (4, 8), (8, 12), aborted=[(4, 8)]) == [(0, 4, 1), (8, 12, 1)]
    assert said(d.writes[0]) == [(4, 7, 4, 1)]
    d.settle(A, (0, 4, ACCEPT))
    assert d.window == (8, 12)


def test_nothing_is_taken_from_behind_records_that_nobody_has_read() -> None:
    d = Driver()
    assert d.acquire(A, (20, 30), fetch_offset=15) == []
    assert d.window == (0, 0)


# records near the delivery limit


def failing(d: Driver, *batches: tuple[int, int]) -> int:
    """A member takes what it gets and dies; how many records it got."""
    got = d.acquire(A, *batches)
    d.now_ms += LOCK_MS
    d.handle(Expire())
    d.persist()
    return sum(end - start for start, end, _ in got)


def test_a_failing_batch_comes_in_halves_quarters_and_at_last_alone() -> None:
    """Limit 6: from the third delivery on the batch of 512 is halved again and again."""
    d = Driver(limit=6)
    batch = (0, 512)
    assert [failing(d, batch) for _ in range(3)] == [512, 512, 512]
    assert d.acquire(A, batch) == [(0, 256, 4)]
    d.settle(A, (0, 256, RELEASE))
    assert d.acquire(A, batch) == [(0, 128, 5)]
    d.settle(A, (0, 128, RELEASE))
    assert d.acquire(A, batch) == [(0, 1, 6)]
    assert d.acquire(B, batch) == [(1, 2, 6)]


def test_only_the_culprit_is_archived() -> None:
    """A member dies whenever record 5 is among its records; all others are processed in the end."""
    d = Driver(limit=5)
    batch = (0, 16)
    for _ in range(200):
        if d.partition.start == 16:
            break
        got = d.acquire(A, batch)
        if any(start <= 5 < end for start, end, _ in got):
            d.now_ms += LOCK_MS
            d.handle(Expire())
        else:
            d.acknowledge(A, *((start, end, ACCEPT) for start, end, _ in got))
        d.persist()
    assert d.window == (16, 16)
    assert d.partition.counters.acknowledged[ACCEPT] == 15


def test_suspicious_records_are_not_mixed_with_others() -> None:
    d = Driver(limit=5)
    for _ in range(3):
        d.acquire(A, (0, 4), fetch_offset=0)
        d.settle(A, (0, 4, RELEASE))
    d.acquire(A, (4, 8), fetch_offset=4)
    d.settle(A, (4, 8, RELEASE))
    assert d.acquire(A, (0, 4), (4, 8)) == [(0, 2, 4)]
    assert d.acquire(A, (0, 4), (4, 8)) == [(2, 4, 4)]
    assert d.acquire(A, (0, 4), (4, 8)) == [(4, 8, 2)]


def test_an_ordinary_acquisition_ends_before_the_first_suspicious_record() -> None:
    d = Driver(limit=5)
    d.acquire(A, (0, 8))
    d.settle(A, (0, 8, RELEASE))
    for _ in range(2):
        d.acquire(A, (4, 8), fetch_offset=4)
        d.settle(A, (4, 8, RELEASE))
    assert d.acquire(A, (0, 8)) == [(0, 4, 2)]
    assert d.acquire(A, (0, 8)) == [(4, 6, 4)]


@pytest.mark.parametrize(
    ("count", "limit", "size"), [(3, 6, 250), (4, 6, 125), (5, 6, 1), (3, 5, 250), (4, 5, 1)]
)
def test_how_many_of_a_block_of_500_come_at_a_time(count: int, limit: int, size: int) -> None:
    assert throttled_count(count, limit, 500) == size


def test_the_block_is_only_what_failed_together() -> None:
    """Eight suspicious records, eight others, eight suspicious: half of eight comes, also when four are through."""
    d = Driver(limit=6)
    parts = [(0, 8), (8, 16), (16, 24)]
    d.acquire(A, *parts)
    d.settle(A, (0, 24, RELEASE))
    for _ in range(2):
        d.acquire(A, (0, 8), fetch_offset=0)
        d.settle(A, (0, 8, RELEASE))
        d.acquire(A, (16, 24), fetch_offset=16)
        d.settle(A, (16, 24, RELEASE))
    assert d.acquire(A, *parts) == [(0, 4, 4)]
    d.settle(A, (0, 4, REJECT))
    assert d.acquire(A, *parts) == [(4, 8, 4)]
    assert d.acquire(A, *parts) == [(8, 16, 2)]
    assert d.acquire(A, *parts) == [(16, 20, 4)]


def test_a_lower_limit_counts_from_the_next_command_on() -> None:
    d = Driver(limit=5)
    for _ in range(3):
        d.acquire(A, (0, 1))
        d.settle(A, (0, 1, RELEASE))
    d.handle(ChangeLimits(Limits(delivery_count_limit=2)))
    assert d.acquire(A, (0, 1)) == [(0, 1, 4)], (
        "as Apache Kafka: the limit is looked at when a delivery has failed"
    )
    assert said(d.acknowledge(A, (0, 1, RELEASE))) == [(0, 0, 4, 4)]


def test_a_wider_window_wakes_those_who_wait_for_room() -> None:
    d = Driver(locks=10)
    d.acquire(A, (0, 10))
    d.handle(ChangeLimits(Limits(max_record_locks=20)))
    assert WakeFetchers() in d.effects
    assert d.partition.can_acquire
