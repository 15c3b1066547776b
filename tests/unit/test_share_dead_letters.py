"""A record that is rejected, or out of deliveries, is ARCHIVING until its dead letter is written, and ARCHIVED then."""

from __future__ import annotations

import pytest
from share_driver import ACCEPT, GAP, LOCK_MS, REJECT, RELEASE, A, B, Driver, said

from leaselog.model import BrokenInvariant, ErrorCode
from leaselog.share import (
    LIMIT_REACHED,
    REJECTED,
    ChangeLimits,
    DeadLettersEnded,
    Expire,
    Limits,
    MoveLogStart,
    RecordState,
    ReleaseMember,
    StateSpan,
    StoredState,
    WriteToken,
)

ARCHIVING, ARCHIVED = RecordState.ARCHIVING, RecordState.ARCHIVED


def driver(*, limit: int = 5, state: StoredState | None = None) -> Driver:
    return Driver(limit=limit, state=state, has_dead_letters=True)


def test_a_rejected_record_is_asked_for_as_a_dead_letter_when_that_is_durable() -> None:
    d = driver()
    d.acquire(A, (0, 10))
    assert said(d.acknowledge(A, (2, 5, REJECT))) == [(2, 4, ARCHIVING, 1)]
    assert d.asked_for == []
    d.persist()
    assert d.asked_for == [(2, 5, 1, REJECTED)]
    assert d.states == [(0, 2, "acquired", 1), (2, 5, "archiving", 1), (5, 10, "acquired", 1)]


def test_it_is_archived_and_let_go_when_its_dead_letter_is_there() -> None:
    d = driver()
    d.acquire(A, (0, 3))
    d.settle(A, (0, 3, REJECT))
    assert d.window == (0, 3)
    d.letters_end()
    assert said(d.writes[0]) == [(0, 2, ARCHIVED, 1)]
    assert d.window == (0, 3)  # moves only when the write is known to be safe
    d.persist()
    assert d.window == (3, 3)


def test_without_dead_letters_a_rejected_record_is_archived_at_once() -> None:
    d = Driver()
    d.acquire(A, (0, 3))
    d.settle(A, (0, 3, REJECT))
    assert (d.window, d.letters) == ((3, 3), [])


def test_only_what_is_rejected_or_out_of_deliveries_becomes_a_dead_letter() -> None:
    d = driver()
    d.acquire(A, (0, 4))
    d.settle(A, (0, 4, [ACCEPT, GAP, RELEASE, REJECT]))
    assert d.asked_for == [(3, 4, 1, REJECTED)]


def test_what_compaction_and_aborted_transactions_take_is_no_dead_letter() -> None:
    d = driver()
    d.acquire(A, (0, 6), aborted=[(2, 4)])
    d.persist()
    d.settle(A, (0, 2, RELEASE), (4, 6, RELEASE))
    d.acquire(A, (4, 6))
    d.persist()
    assert d.letters == []


def test_one_write_asks_for_its_dead_letters_together() -> None:
    d = driver(limit=2)
    d.acquire(A, (0, 6))
    d.settle(A, (0, 3, RELEASE))
    d.acquire(A, (0, 3))
    d.settle(A, (0, 2, RELEASE), (2, 6, REJECT))
    assert len(d.letters) == 1
    assert d.asked_for == [(0, 2, 2, LIMIT_REACHED), (2, 3, 2, REJECTED), (3, 6, 1, REJECTED)]


def test_a_lease_that_ends_after_the_last_delivery_leads_to_a_dead_letter() -> None:
    d = driver(limit=2)
    for _ in range(2):
        d.acquire(A, (0, 2))
        d.pass_ms(LOCK_MS)
    assert said(d.writes[-1]) == [(0, 1, ARCHIVING, 2)]
    d.persist()
    assert d.asked_for == [(0, 2, 2, LIMIT_REACHED)]


def test_a_session_that_ends_after_the_last_delivery_leads_to_a_dead_letter() -> None:
    d = driver(limit=2)
    for _ in range(2):
        d.acquire(A, (0, 2))
        d.handle(ReleaseMember(A))
        d.persist()
    assert d.asked_for == [(0, 2, 2, LIMIT_REACHED)]


def test_a_rejection_that_is_not_durable_leaves_the_record_with_its_member() -> None:
    d = driver()
    d.acquire(A, (0, 2))
    d.acknowledge(A, (0, 2, REJECT))
    d.persist(ok=False)
    assert d.states == [(0, 2, "acquired", 1)]
    d.settle(A, (0, 2, ACCEPT))
    assert (d.window, d.letters) == ((2, 2), [])


def test_a_dead_letter_is_asked_for_although_the_end_of_a_lease_could_not_be_written() -> None:
    d = driver(limit=2)
    for _ in range(2):
        d.acquire(A, (0, 2))
        d.pass_ms(LOCK_MS)
    d.persist(ok=False)
    assert d.asked_for == [(0, 2, 2, LIMIT_REACHED)]


def test_a_record_on_its_way_is_nobodys() -> None:
    d = driver()
    d.acquire(A, (0, 2))
    d.settle(A, (0, 1, REJECT))
    assert d.try_acknowledge(A, (0, 1, ACCEPT)) is ErrorCode.INVALID_RECORD_STATE
    assert d.acquire(B, (0, 2)) == []
    d.pass_ms(10 * LOCK_MS)
    assert d.states == [(0, 1, "archiving", 1), (1, 2, "available", 1)]


def test_a_record_on_its_way_takes_room_in_the_window_until_it_is_archived() -> None:
    d = Driver(locks=4, has_dead_letters=True)
    d.acquire(A, (0, 4), (4, 8))
    d.settle(A, (0, 4, REJECT))
    assert d.partition.is_full
    d.letters_end()
    d.persist()
    assert not d.partition.is_full
    assert d.partition.delivery_complete_count == 0


def test_records_that_are_done_behind_one_on_its_way_wait_for_it() -> None:
    d = driver()
    d.acquire(A, (0, 3))
    d.settle(A, (0, 1, REJECT), (1, 3, ACCEPT))
    assert (d.window, d.partition.delivery_complete_count) == ((0, 3), 2)
    d.letters_end()
    d.persist()
    assert d.window == (3, 3)


def test_a_new_leader_asks_for_the_dead_letters_of_the_one_before() -> None:
    stored = StoredState(
        5, (StateSpan(5, 6, ARCHIVING, 1), StateSpan(6, 7, ARCHIVED, 1), StateSpan(8, 9, ARCHIVING, 2))
    )
    d = driver(limit=2, state=stored)
    d.handle(Expire())
    # the count is all that is stored of the cause
    assert d.asked_for == [(5, 6, 1, REJECTED), (8, 9, 2, LIMIT_REACHED)]
    d.letters_end()
    d.persist()
    assert d.window == (7, 9)


def test_a_dead_letter_whose_record_has_left_the_log_ends_in_silence() -> None:
    d = driver()
    d.acquire(A, (0, 4))
    d.settle(A, (0, 2, REJECT))
    d.handle(MoveLogStart(4))
    d.letters_end()
    assert (d.window, d.writes) == ((4, 4), [])


def test_dead_letters_that_are_switched_off_on_the_way_are_seen_through() -> None:
    d = driver()
    d.acquire(A, (0, 4))
    d.acknowledge(A, (0, 2, REJECT))
    d.handle(ChangeLimits(Limits()))
    d.persist()
    assert d.asked_for == [(0, 2, 1, REJECTED)]
    d.settle(A, (2, 4, REJECT))
    assert len(d.letters) == 1


def test_an_end_that_nobody_waits_for_breaks_the_partition() -> None:
    d = driver()
    with pytest.raises(BrokenInvariant, match="no dead letters 9"):
        d.handle(DeadLettersEnded(WriteToken(9)))


def test_what_is_on_its_way_is_known_before_it_is_asked_for() -> None:
    d = driver()
    d.acquire(A, (0, 2))
    assert not d.partition.has_dead_letters_on_their_way
    d.acknowledge(A, (0, 1, REJECT))
    assert d.partition.has_dead_letters_on_their_way
    d.persist()
    assert d.partition.has_dead_letters_on_their_way
    d.letters_end()
    assert not d.partition.has_dead_letters_on_their_way
