"""Who may acknowledge what, what becomes of it, and what a lost write, an ended lease or a moved log do to it."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from share_driver import (
    ACCEPT,
    GAP,
    LOCK_MS,
    RECORD_LIMIT,
    REJECT,
    RELEASE,
    RENEW,
    A,
    B,
    Detailed,
    Driver,
    said,
)

from leaselog.model import BrokenInvariant, ErrorCode
from leaselog.share import (
    Acknowledged,
    AcknowledgementBatch,
    AcknowledgementDetails,
    MoveLogStart,
    Persisted,
    RecordState,
    ReleaseMember,
    WakeFetchers,
    WriteToken,
    find_malformed,
)
from leaselog.share.inflight import InFlight

STATE, REQUEST = ErrorCode.INVALID_RECORD_STATE, ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("kind", "state"),
    [(ACCEPT, "acknowledged"), (REJECT, "archived"), (GAP, "archived"), (RELEASE, "available")],
)
def test_a_type_becomes_a_state_when_its_write_has_ended(kind: int, state: str) -> None:
    d = Driver()
    d.acquire(A, (0, 3))
    d.acknowledge(A, (1, 2, kind))
    assert d.states[0][2:] == ("acquired", 1)
    d.persist()
    assert d.states[1] == (1, 2, state, 1)


def test_an_acknowledgement_in_flight_cannot_be_repeated() -> None:
    d = Driver()
    d.acquire(A, (0, 3))
    d.acknowledge(A, (0, 3, ACCEPT))
    assert d.try_acknowledge(A, (0, 3, ACCEPT)) is STATE


def test_below_the_start_everything_is_accepted_and_ignored() -> None:
    d = Driver()
    d.acquire(A, (0, 5))
    d.settle(A, (0, 5, ACCEPT))
    d.acquire(A, (5, 10))
    assert d.try_acknowledge(B, (0, 5, REJECT)) == Acknowledged(None)
    assert said(d.acknowledge(A, (3, 7, ACCEPT))) == [(5, 6, 2, 1)]


def test_done_twice_inside_the_window_is_refused() -> None:
    d = Driver()
    d.acquire(A, (0, 5))
    d.settle(A, (2, 3, ACCEPT))
    assert d.try_acknowledge(A, (2, 3, ACCEPT)) is STATE


@pytest.mark.parametrize(
    ("start", "end", "code"),
    [(0, 5, None), (5, 6, REQUEST), (4, 6, REQUEST), (100, 101, REQUEST)],
)
def test_past_the_acquired_records_the_request_is_invalid(
    start: int, end: int, code: ErrorCode | None
) -> None:
    d = Driver()
    d.acquire(A, (0, 5))
    answer = d.try_acknowledge(A, (start, end, ACCEPT))
    assert answer is code if code else isinstance(answer, Acknowledged)


def test_with_nothing_in_flight_there_is_nothing_to_acknowledge() -> None:
    assert Driver().try_acknowledge(A, (3, 4, ACCEPT)) is STATE


def test_another_member_is_refused_and_one_refusal_refuses_all() -> None:
    d = Driver()
    d.acquire(A, (0, 10), most=5, mode=RECORD_LIMIT)
    d.acquire(B, (0, 10), most=5, mode=RECORD_LIMIT)
    before = d.states
    assert d.try_acknowledge(A, (0, 3, ACCEPT), (4, 6, ACCEPT)) is STATE
    assert d.states == before
    assert not d.writes
    assert isinstance(d.try_acknowledge(A, (0, 3, ACCEPT)), Acknowledged)


def test_the_same_record_twice_in_one_request_is_refused() -> None:
    """Apache Kafka's check of the request lets a start equal the end before; the record's state does not."""
    d = Driver()
    d.acquire(A, (0, 5))
    batches = (AcknowledgementBatch(0, 3, (1,)), AcknowledgementBatch(2, 5, (1,)))
    assert find_malformed(batches, may_renew=False) is None
    assert d.try_acknowledge(A, (0, 3, ACCEPT), (2, 5, ACCEPT)) is STATE


@pytest.mark.parametrize(
    "batches",
    [
        [(5, 5, [1])],
        [(5, 4, [1])],
        [(0, 5, [1]), (3, 7, [1])],
        [(0, 5, [])],
        [(0, 5, [1, 1])],
        [(0, 2, [1, 1, 1])],
        [(0, 1, [-1])],
        [(0, 1, [4])],
        [(0, 1, [5])],
    ],
)
def test_malformed_batches_are_invalid_requests(batches: list[tuple[int, int, list[int]]]) -> None:
    refusal = find_malformed([AcknowledgementBatch(*batch) for batch in batches], may_renew=False)
    assert refusal is not None
    assert refusal.code is REQUEST


def test_renewal_needs_to_be_announced() -> None:
    batch = AcknowledgementBatch(0, 1, (4,))
    assert find_malformed([batch], may_renew=True) is None
    assert find_malformed([batch], may_renew=False) is not None
    assert find_malformed([AcknowledgementBatch(0, 1, (5,))], may_renew=True) is not None


def test_types_may_be_bytes() -> None:
    d = Driver()
    d.acquire(A, (0, 3))
    assert said(d.acknowledge(A, (0, 3, bytes([1, 3, 1])))) == [(0, 0, 2, 1), (1, 1, 4, 1), (2, 2, 2, 1)]


# renewals


def test_a_renewed_lease_lasts_longer_and_is_not_written() -> None:
    d = Driver()
    d.acquire(A, (0, 3))
    d.now_ms = 20_000
    assert d.acknowledge(A, (1, 2, RENEW)) is None
    assert not d.writes
    d.pass_ms(10_000)
    assert d.states == [(0, 1, "available", 1), (1, 2, "acquired", 1), (2, 3, "available", 1)]
    d.pass_ms(20_000)
    assert d.states == [(0, 3, "available", 1)]


def test_renewals_mix_with_other_types() -> None:
    d = Driver()
    d.acquire(A, (0, 3))
    assert said(d.acknowledge(A, (0, 3, [ACCEPT, RENEW, REJECT]))) == [(0, 0, 2, 1), (2, 2, 4, 1)]


def test_a_refused_request_renews_nothing() -> None:
    d = Driver()
    d.acquire(A, (0, 3))
    d.now_ms = 10_000
    assert d.try_acknowledge(A, (0, 1, RENEW), (9, 10, ACCEPT)) is REQUEST
    d.pass_ms(LOCK_MS - 10_000)
    assert d.states == [(0, 3, "available", 1)]


# leases


def test_a_lease_ends_at_its_deadline_whatever_the_command() -> None:
    d = Driver()
    d.acquire(A, (0, 3))
    assert d.partition.next_deadline_ms == LOCK_MS
    d.now_ms = LOCK_MS
    assert d.try_acknowledge(A, (0, 3, ACCEPT)) is STATE
    assert said(d.writes[0]) == [(0, 2, 0, 1)]
    assert WakeFetchers() in d.effects
    assert d.partition.counters.lock_timeouts == 3
    assert d.partition.next_deadline_ms is None


def test_an_ended_lease_stands_even_if_writing_it_fails() -> None:
    d = Driver()
    d.acquire(A, (0, 3))
    d.pass_ms(LOCK_MS)
    d.persist(ok=False)
    assert d.states == [(0, 3, "available", 1)]
    assert not d.writes


def test_a_record_archived_by_time_lets_the_start_pass_when_its_write_has_ended() -> None:
    d = Driver(limit=2)
    for _ in range(2):
        d.acquire(A, (0, 3))
        d.pass_ms(LOCK_MS)
    assert d.states == [(0, 3, "archived", 2)]
    assert d.window == (0, 3)
    d.persist()
    assert d.window == (3, 3)


# lost writes


def test_a_failed_write_gives_the_lease_back_with_its_count() -> None:
    d = Driver()
    d.acquire(A, (0, 3))
    d.acknowledge(A, (0, 3, [ACCEPT, RELEASE, REJECT]))
    d.persist(ok=False)
    assert d.states == [(0, 3, "acquired", 1)]
    d.settle(A, (0, 3, ACCEPT))
    assert d.window == (3, 3)


def test_a_failed_write_after_the_lease_ended_makes_records_available() -> None:
    d = Driver()
    d.acquire(A, (0, 3))
    d.acknowledge(A, (0, 3, ACCEPT))
    d.pass_ms(LOCK_MS + 5)
    assert d.states == [(0, 3, "acquired", 1)], "the write decides"
    d.persist(ok=False)
    assert d.states == [(0, 3, "available", 1)]
    assert WakeFetchers() in d.effects
    assert said(d.writes[0]) == [(0, 2, 0, 1)]


def test_what_a_failed_write_would_have_called_no_record_has_failed_when_its_last_lease_ends() -> None:
    d = Driver(limit=2)
    d.acquire(A, (0, 1))
    d.settle(A, (0, 1, RELEASE))
    d.acquire(A, (0, 1))
    d.acknowledge(A, (0, 1, GAP))
    d.pass_ms(LOCK_MS)
    d.persist(ok=False)
    assert d.states == [(0, 1, "archived", 2)]
    assert d.partition.finished_counts == (0, 1, 1)


def test_what_runs_out_of_deliveries_is_given_up_and_what_is_rejected_is_not() -> None:
    d = Driver(limit=1)
    d.acquire(A, (0, 6))
    d.settle(A, (0, 6, [ACCEPT, REJECT, RELEASE, RELEASE, GAP, REJECT]))
    assert d.partition.finished_counts == (1, 4, 2)
    d.acquire(A, (6, 8))
    d.pass_ms(LOCK_MS)
    d.persist()
    assert d.partition.finished_counts == (1, 6, 4)


def test_a_failed_write_after_the_last_lease_ended_archives() -> None:
    d = Driver(limit=2)
    d.acquire(A, (0, 3))
    d.settle(A, (0, 3, RELEASE))
    d.acquire(A, (0, 3), fetch_offset=0)
    d.acknowledge(A, (0, 3, RELEASE))
    d.pass_ms(LOCK_MS)
    d.persist(ok=False)
    assert d.states == [(0, 3, "archived", 2)]


def test_a_write_that_succeeds_after_the_lease_ended_counts() -> None:
    d = Driver()
    d.acquire(A, (0, 3))
    d.acknowledge(A, (0, 3, ACCEPT))
    d.pass_ms(LOCK_MS)
    d.persist()
    assert d.window == (3, 3)


def test_writes_may_end_in_any_order() -> None:
    d = Driver()
    d.acquire(A, (0, 6))
    first, second = d.acknowledge(A, (0, 3, ACCEPT)), d.acknowledge(A, (3, 6, ACCEPT))
    assert first is not None
    assert second is not None
    assert (first.delivery_complete_count, second.delivery_complete_count) == (3, 6)
    d.handle(Persisted(second.token, ok=True))
    assert d.window == (0, 6)
    d.handle(Persisted(first.token, ok=False))
    assert d.states == [(0, 3, "acquired", 1), (3, 6, "acknowledged", 1)]


def test_a_write_that_nobody_asked_for_is_a_broken_invariant_with_its_story() -> None:
    d = Driver()
    d.acquire(A, (0, 6))
    with pytest.raises(BrokenInvariant, match=r"no write 77 is in flight.*Acquire"):
        d.handle(Persisted(WriteToken(77), ok=True))


# the log moves


def test_the_log_start_takes_waiting_and_leased_records_along() -> None:
    d = Driver()
    d.acquire(A, (0, 10))
    d.settle(A, (2, 4, RELEASE))
    d.handle(MoveLogStart(6))
    assert d.window == (6, 10)
    assert d.try_acknowledge(A, (0, 2, ACCEPT)) == Acknowledged(None)
    assert said(d.acknowledge(A, (4, 8, ACCEPT))) == [(6, 7, 2, 1)]


def test_a_log_start_past_the_window_empties_it() -> None:
    d = Driver()
    d.acquire(A, (0, 10))
    d.handle(MoveLogStart(15))
    assert d.window == (15, 15)
    assert d.partition.next_deadline_ms is None
    assert d.acquire(A, (15, 20)) == [(15, 20, 1)]


def test_the_log_start_may_pass_a_write_in_flight() -> None:
    d = Driver()
    d.acquire(A, (0, 10))
    d.acknowledge(A, (0, 8, ACCEPT))
    d.handle(MoveLogStart(5))
    d.persist(ok=False)
    assert d.states == [(5, 10, "acquired", 1)]


def test_a_log_start_inside_waiting_records_leaves_the_rest_to_be_fetched() -> None:
    d = Driver()
    d.acquire(A, (0, 10))
    d.settle(A, (0, 10, RELEASE))
    d.handle(MoveLogStart(4))
    assert d.partition.next_fetch_offset == 4


# a session ends


def test_a_session_end_releases_what_the_member_holds_and_the_delivery_counts() -> None:
    d = Driver()
    d.acquire(A, (0, 3))
    d.settle(A, (0, 1, RELEASE))
    d.acquire(B, (0, 3), fetch_offset=0)
    d.handle(ReleaseMember(A))
    assert said(d.writes[0]) == [(1, 2, 0, 1)]
    assert d.acquire(B, (0, 3), fetch_offset=1) == [], "the write first"
    d.persist()
    assert WakeFetchers() in d.effects
    assert d.states == [(0, 1, "acquired", 2), (1, 3, "available", 1)]
    assert d.acquire(B, (0, 3)) == [(1, 3, 2)]


def test_a_session_end_archives_what_has_used_up_its_deliveries() -> None:
    d = Driver(limit=2)
    d.acquire(A, (0, 1))
    d.settle(A, (0, 1, RELEASE))
    assert d.acquire(A, (0, 2)) == [(0, 1, 2), (1, 2, 1)]
    d.handle(ReleaseMember(A))
    assert said(d.writes[0]) == [(0, 0, 4, 2), (1, 1, 0, 1)]
    d.persist()
    assert (d.window, d.states) == ((1, 2), [(1, 2, "available", 1)])


def test_sessions_that_end_again_and_again_cannot_deliver_a_record_for_ever() -> None:
    d = Driver(limit=5)
    for delivery in range(1, 6):
        assert d.acquire(A, (7, 8)) == [(7, 8, delivery)]
        d.handle(ReleaseMember(A))
        d.persist()
    assert d.window == (8, 8)


def test_a_session_end_that_cannot_be_written_leaves_the_leases_to_their_deadline() -> None:
    d = Driver()
    d.acquire(A, (0, 3))
    d.handle(ReleaseMember(A))
    d.persist(ok=False)
    assert d.states == [(0, 3, "acquired", 1)]
    d.pass_ms(LOCK_MS)
    assert d.states == [(0, 3, "available", 1)]


def test_a_lease_that_runs_out_while_its_release_fails_is_over() -> None:
    d = Driver()
    d.acquire(A, (0, 3))
    d.handle(ReleaseMember(A))
    d.now_ms += LOCK_MS
    d.persist(ok=False)
    assert d.states == [(0, 3, "available", 1)]


def test_a_session_end_leaves_acknowledgements_in_flight_alone() -> None:
    d = Driver()
    d.acquire(A, (0, 3))
    d.acknowledge(A, (0, 2, ACCEPT))
    d.handle(ReleaseMember(A))
    d.persist()
    assert d.states == [(2, 3, "available", 1)]


# lag


def test_lag_counts_what_nobody_has_finished() -> None:
    d = Driver()
    d.acquire(A, (0, 10))
    assert d.partition.lag(20) == 20
    d.settle(A, (4, 6, ACCEPT))
    assert d.partition.lag(20) == 18
    d.settle(A, (0, 4, REJECT))
    assert d.partition.lag(20) == 14
    assert d.partition.count(RecordState.ACQUIRED) == 4


def test_many_short_stretches_side_by_side_change_the_window_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A type for each record of a request: what it costs is in proportion to its records."""
    d, changes, count = Driver(), [0], 2_000
    d.acquire(A, (0, count), most=count, size=count)
    splice = InFlight.splice

    def counted(runs: InFlight, *change: Any) -> None:
        changes[0] += 1
        splice(runs, *change)

    monkeypatch.setattr(InFlight, "splice", counted)
    d.acknowledge(A, (0, count, [(ACCEPT, REJECT)[offset % 2] for offset in range(count)]))
    assert changes == [1]
    assert d.partition.counters.acknowledged[ACCEPT] == d.partition.counters.acknowledged[REJECT] == count / 2
    assert d.partition.delivery_complete_count == count
    d.persist()
    assert d.partition.start == count


@pytest.mark.parametrize("seed", range(20))
def test_what_one_request_says_of_many_becomes_what_many_requests_say_of_one_each(seed: int) -> None:
    """Gaps between batches, offsets without a record, a type for all or for each, and what is added to some."""
    chance, together, apart = Random(seed), Driver(), Driver()
    for d in (together, apart):
        d.acquire(A, (0, 30), (33, 60))
        d.acquire(B, (60, 64))
    batches = list[Detailed]()
    at = chance.randrange(3)
    while at < 60:
        end = min(at + chance.randint(1, 12), 60)
        kinds = [chance.choice((GAP, ACCEPT, RELEASE, REJECT, RENEW)) for _ in range(at, end)]
        details = chance.choice(
            (None, None, AcknowledgementDetails(reason="bad"), AcknowledgementDetails(is_given_back=True))
        )
        batches.append((at, end, kinds if chance.random() < 0.7 else kinds[0], details))
        at = end + chance.choice((0, 0, 2))
    together.acknowledge_with(A, *batches)
    for start, end, kinds, details in batches:
        for offset in range(start, end):
            kind = kinds if isinstance(kinds, int) else kinds[offset - start]
            apart.acknowledge_with(A, (offset, offset + 1, kind, details))
    assert together.partition.counters == apart.partition.counters
    for d in (together, apart):
        d.persist()
    assert together.states == apart.states
