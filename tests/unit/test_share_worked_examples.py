"""The tables and console outputs of the documents that define share groups, replayed step by step."""

from __future__ import annotations

from share_driver import ACCEPT, LOCK_MS, RECORD_LIMIT, REJECT, RELEASE, A, B, C, Driver, said

from leaselog.model import ErrorCode
from leaselog.share import Expire, MoveLogStart, RecordState, ReleaseMember, StateSpan, StoredState


def test_the_operation_table_of_the_kip() -> None:
    one, two, three = A, B, C
    d = Driver(100)
    assert d.window == (100, 100)

    assert d.acquire(one, (100, 110)) == [(100, 110, 1)]
    assert (d.window, d.states) == ((100, 110), [(100, 110, "acquired", 1)])
    d.settle(one, (100, 110, ACCEPT))
    assert d.window == (110, 110)

    batch = (110, 120)
    assert d.acquire(one, batch, most=3, mode=RECORD_LIMIT) == [(110, 113, 1)]
    d.now_ms = 1_000
    assert d.acquire(two, batch, most=6, mode=RECORD_LIMIT) == [(113, 119, 1)]
    assert d.acquire(three, batch, most=6, mode=RECORD_LIMIT) == [(119, 120, 1)]
    assert d.window == (110, 120)

    write = d.acknowledge(one, (110, 111, RELEASE))
    assert said(write) == [(110, 110, 0, 1)]
    d.persist()
    assert d.states == [(110, 111, "available", 1), (111, 120, "acquired", 1)]

    write = d.acknowledge(three, (119, 120, ACCEPT))
    assert said(write) == [(119, 119, 2, 1)]
    d.persist()
    assert d.window == (110, 120)
    assert d.states[-1] == (119, 120, "acknowledged", 1)

    assert d.acquire(one, batch, (120, 121), most=2, mode=RECORD_LIMIT) == [(110, 111, 2), (120, 121, 1)]
    assert d.window == (110, 121)

    d.pass_ms(LOCK_MS - 1_000)  # consumer 1's first two, the others came a second later
    assert said(d.writes[0]) == [(111, 112, 0, 1)]
    d.persist()
    assert d.states == [
        (110, 111, "acquired", 2),
        (111, 113, "available", 1),
        (113, 119, "acquired", 1),
        (119, 120, "acknowledged", 1),
        (120, 121, "acquired", 1),
    ]

    write = d.acknowledge(two, (113, 119, ACCEPT))
    assert said(write) == [(113, 118, 2, 1)]
    d.persist()
    assert d.acquire(three, batch, (120, 121)) == [(111, 113, 2)]
    assert d.window == (110, 121)
    assert d.states[0] == (110, 113, "acquired", 2)

    write = d.acknowledge(one, (110, 111, ACCEPT))
    assert said(write) == [(110, 110, 2, 2)]
    d.persist()
    assert d.window == (111, 121)

    d.settle(three, (111, 113, ACCEPT))
    assert d.window == (120, 121)
    assert d.states == [(120, 121, "acquired", 1)]


def test_the_in_flight_example_of_the_kip() -> None:
    """2 and 4 acquired once, 3 back after two deliveries, 5 acknowledged, 6 rejected, 7 and 8 to be had."""
    d = Driver(2)
    log = (2, 9)
    d.acquire(A, log, most=5, mode=RECORD_LIMIT)
    d.settle(A, (3, 4, RELEASE), (5, 7, [ACCEPT, REJECT]))
    assert d.acquire(B, log, most=1, mode=RECORD_LIMIT) == [(3, 4, 2)]
    d.settle(B, (3, 4, RELEASE))
    assert d.states == [
        (2, 3, "acquired", 1),
        (3, 4, "available", 2),
        (4, 5, "acquired", 1),
        (5, 6, "acknowledged", 1),
        (6, 7, "archived", 1),
    ]
    assert d.partition.start == 2
    assert d.partition.next_fetch_offset == 3
    assert d.acquire(B, log, most=9) == [(3, 4, 3), (7, 9, 1)]


def test_the_ordering_example_of_the_kip() -> None:
    """The first consumer crashes with 100 to 109; the second, through with 110 to 119, gets them as well."""
    d = Driver(100)
    d.acquire(A, (100, 110))
    d.acquire(B, (110, 120))
    d.settle(B, (110, 120, ACCEPT))
    d.handle(ReleaseMember(A))
    d.persist()
    assert d.acquire(B, (100, 110), (110, 120)) == [(100, 110, 2)]
    d.settle(B, (100, 110, ACCEPT))
    assert d.window == (120, 120)


def test_a_log_that_begins_later_fails_no_acknowledgement_of_the_kip() -> None:
    """What is acquired may still be acknowledged, with any type, when retention has moved the start past it."""
    for kind in (ACCEPT, RELEASE, REJECT):
        d = Driver(0)
        d.acquire(A, (0, 10))
        d.handle(MoveLogStart(5))
        write = d.acknowledge(A, (0, 10, kind))
        assert [(first, last) for first, last, _, _ in said(write)] == [(5, 9)]
        assert d.partition.start == 5


def test_the_state_of_that_example_survives_a_new_leader() -> None:
    """Its durable part: the start, the count of 3, and what became of 5 and 6."""
    batches = (
        StateSpan(3, 4, RecordState.AVAILABLE, 2),
        StateSpan(5, 6, RecordState.ACKNOWLEDGED, 1),
        StateSpan(6, 7, RecordState.ARCHIVED, 1),
    )
    d = Driver(state=StoredState(2, batches))
    assert d.window == (2, 7)
    assert d.acquire(A, (2, 9)) == [(2, 3, 1), (3, 4, 3), (4, 5, 1), (7, 9, 1)]


def test_the_cache_of_the_internals_page() -> None:
    """100 to 119 acknowledged, 120 to 129 with the first member again, 131 back and 130 and 132 to 139 with the second.

    The page shows the moment at which the write about 100 to 119 has not ended, or the start would have moved.
    """
    one, two = A, B
    d = Driver(100)
    head, middle, tail = (100, 120), (120, 130), (130, 140)
    d.acquire(one, head, middle)
    d.settle(one, (120, 130, RELEASE))
    d.acquire(one, middle)
    d.acquire(two, tail)
    d.settle(two, (131, 132, RELEASE))
    write = d.acknowledge(one, (100, 120, ACCEPT))
    assert said(write) == [(100, 119, 2, 1)]
    rest = [
        (120, 130, "acquired", 2),
        (130, 131, "acquired", 1),
        (131, 132, "available", 1),
        (132, 140, "acquired", 1),
    ]
    assert d.states == [(100, 120, "acquired", 1), *rest]
    assert d.window == (100, 140)
    assert d.partition.next_fetch_offset == 131
    d.persist()
    assert d.states == rest
    assert d.window == (120, 140)
    assert d.partition.next_fetch_offset == 131
    assert d.acquire(one, tail) == [(131, 132, 2)]
    assert d.partition.next_fetch_offset == 140


def test_the_console_of_the_first_article() -> None:
    """Its ten records, what became of each, the state record it prints, and what another consumer then gets."""
    d = Driver(0)
    log = (0, 10)
    assert d.acquire(A, log) == [(0, 10, 1)]
    write = d.acknowledge(
        A,
        (0, 2, ACCEPT),
        (3, 4, RELEASE),
        (5, 6, ACCEPT),
        (6, 7, REJECT),
        (7, 10, RELEASE),
    )
    assert write is not None
    assert write.start_offset == 0
    assert said(write) == [(0, 1, 2, 1), (3, 3, 0, 1), (5, 5, 2, 1), (6, 6, 4, 1), (7, 9, 0, 1)]
    d.persist()
    assert d.partition.start == 2, "as the article's --describe says"
    assert d.partition.next_fetch_offset == 3
    assert d.acquire(B, log) == [(3, 4, 2), (7, 10, 2)], "2 and 4 are still leased"
    d.settle(B, (3, 4, ACCEPT), (7, 10, ACCEPT))
    d.pass_ms(LOCK_MS)
    assert d.try_acknowledge(A, (2, 3, ACCEPT), (4, 5, ACCEPT)) is ErrorCode.INVALID_RECORD_STATE
    assert d.acquire(B, log) == [(2, 3, 2), (4, 5, 2)], "the lock has run out"


def test_the_console_of_the_second_article() -> None:
    """361 is poison, 362 to 365 are done, 366 is skipped: one state record each, with the start before it."""
    d = Driver(361)
    assert d.acquire(A, (361, 367)) == [(361, 367, 1)]
    kinds = {361: REJECT, 366: RELEASE}
    persisted = []
    for offset in range(361, 367):
        write = d.acknowledge(A, (offset, offset + 1, kinds.get(offset, ACCEPT)))
        assert write is not None
        persisted.append((write.start_offset, *said(write)))
        d.persist()
    assert persisted == [
        (361, (361, 361, 4, 1)),
        (362, (362, 362, 2, 1)),
        (363, (363, 363, 2, 1)),
        (364, (364, 364, 2, 1)),
        (365, (365, 365, 2, 1)),
        (366, (366, 366, 0, 1)),
    ]
    assert d.acquire(A, (361, 367)) == [(366, 367, 2)]


def test_a_record_released_five_times_is_archived() -> None:
    """The article's record 366: available after the first delivery, with count 4 after the fourth, then archived."""
    d = Driver(366)
    persisted = []
    for delivery in range(1, 6):
        assert d.acquire(A, (366, 367)) == [(366, 367, delivery)]
        write = d.acknowledge(A, (366, 367, RELEASE))
        persisted += said(write)
        d.persist()
    assert persisted == [
        (366, 366, 0, 1),
        (366, 366, 0, 2),
        (366, 366, 0, 3),
        (366, 366, 0, 4),
        (366, 366, 4, 5),
    ]
    assert d.acquire(A, (366, 367), fetch_offset=366) == []
    assert d.window == (367, 367)


def test_a_lease_that_ends_five_times_archives_the_record() -> None:
    d = Driver(0)
    for delivery in range(1, 6):
        assert d.acquire(A, (0, 1)) == [(0, 1, delivery)]
        d.now_ms += LOCK_MS
        d.handle(Expire())
    assert said(d.writes[-1]) == [(0, 0, 4, 5)]
    assert d.window == (0, 1), "the start waits for the write"
    d.persist()
    assert d.window == (1, 1)


def test_the_mixed_batch_of_the_article_is_persisted_as_its_console_shows() -> None:
    d = Driver(560)
    d.acquire(A, (560, 571))
    kinds = [RELEASE, *[ACCEPT] * 4, REJECT, *[ACCEPT] * 4, RELEASE]
    write = d.acknowledge(A, (560, 571, kinds))
    assert said(write) == [
        (560, 560, 0, 1),
        (561, 564, 2, 1),
        (565, 565, 4, 1),
        (566, 569, 2, 1),
        (570, 570, 0, 1),
    ]
    assert write is not None
    assert (write.start_offset, write.delivery_complete_count) == (560, 9)
