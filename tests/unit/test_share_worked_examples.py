"""The tables and console outputs of the documents that define share groups, replayed step by step."""

from __future__ import annotations

from share_driver import ACCEPT, LOCK_MS, RECORD_LIMIT, REJECT, RELEASE, A, B, C, Driver, said

from leaselog.share import Expire, ReadState, RecordState, StateBatch


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
    """2 and 4 acquired, 3 back after two deliveries, 5 acknowledged, 6 rejected, 7 and 8 available."""
    d = Driver(2)
    log = (2, 9)
    d.acquire(A, log, most=5, mode=RECORD_LIMIT)
    d.settle(A, (2, 7, [RELEASE, RELEASE, RELEASE, ACCEPT, REJECT]))
    d.acquire(A, log, most=3, mode=RECORD_LIMIT)
    d.settle(A, (3, 4, RELEASE))
    assert d.states == [
        (2, 3, "acquired", 2),
        (3, 4, "available", 2),
        (4, 5, "acquired", 2),
        (5, 6, "acknowledged", 1),
        (6, 7, "archived", 1),
    ]
    assert d.partition.next_fetch_offset == 3
    assert d.acquire(B, log, most=9) == [(3, 4, 3), (7, 9, 1)]


def test_the_state_of_that_example_survives_a_new_leader() -> None:
    """Its durable part: the start, the count of 3, and what became of 5 and 6."""
    batches = (
        StateBatch(3, 4, RecordState.AVAILABLE, 2),
        StateBatch(5, 6, RecordState.ACKNOWLEDGED, 1),
        StateBatch(6, 7, RecordState.ARCHIVED, 1),
    )
    d = Driver(state=ReadState(2, batches))
    assert d.window == (2, 7)
    assert d.acquire(A, (2, 9)) == [(2, 3, 1), (3, 4, 3), (4, 5, 1), (7, 9, 1)]


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
