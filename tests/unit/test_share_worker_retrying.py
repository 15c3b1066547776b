"""When a worker tries again what failed, what it does while everything fails, and the threads its handlers run in."""

from __future__ import annotations

import asyncio
import threading
from random import Random

import pytest

from leaselog.client.share.calling import HandlerThreads
from leaselog.client.share.retrying import (
    DEFAULT_DELAYS_S,
    FIRST_PAUSE_MS,
    LONGEST_PAUSE_MS,
    OPENS_AFTER,
    TRIES_A_DELIVERY,
    Outage,
    RetryDelays,
)

KAFKAS_LIMIT = 5


def opened(now_ms: int = 0) -> Outage:
    outage = Outage()
    begins = [outage.failed(record, now_ms, is_trial=False) for record in range(OPENS_AFTER)]
    assert begins == [False] * (OPENS_AFTER - 1) + [True]
    return outage


def test_the_deliveries_that_kafka_allows_span_eleven_minutes() -> None:
    steady = Random(1)
    steady.uniform = lambda low, high: 1.0  # type: ignore[method-assign]
    delays = RetryDelays(DEFAULT_DELAYS_S, steady)
    waits_ms = [delays.delay_ms(delivery) for delivery in range(1, KAFKAS_LIMIT)]
    assert waits_ms == [1_000, 10_000, 60_000, 600_000]
    assert delays.delay_ms(17) == 600_000
    assert RetryDelays((), steady).delay_ms(1) == 0


def test_what_failed_together_comes_again_apart() -> None:
    delays = RetryDelays((10,), Random(7))
    waits_ms = {delays.delay_ms(1) for _ in range(100)}
    assert len(waits_ms) > 50
    assert all(8_000 <= wait_ms <= 12_001 for wait_ms in waits_ms)


def test_a_record_that_fails_by_itself_is_no_outage() -> None:
    outage = Outage()
    assert not any(outage.failed("the same one", 0, is_trial=False) for _ in range(100))
    for record in range(100):
        outage.failed(record, 0, is_trial=False)
        outage.worked()
    assert not outage.is_open


def test_the_pauses_of_an_outage_grow_and_the_first_success_ends_it() -> None:
    outage, now_ms = opened(1_000), 1_000
    pauses = [outage.next_ms - now_ms]
    for _ in range(8):
        now_ms = outage.next_ms
        assert not outage.failed("trial", now_ms, is_trial=True)
        pauses.append(outage.next_ms - now_ms)
    assert pauses[:3] == [FIRST_PAUSE_MS, 2 * FIRST_PAUSE_MS, 4 * FIRST_PAUSE_MS]
    assert pauses[-1] == LONGEST_PAUSE_MS
    assert outage.worked()
    assert not outage.is_open
    assert not outage.worked()


def test_what_was_begun_before_an_outage_does_not_prolong_its_pauses() -> None:
    outage = opened()
    next_ms = outage.next_ms
    outage.failed("late", 500, is_trial=False)
    assert outage.next_ms == next_ms


def test_a_record_is_tried_so_often_within_one_delivery_and_no_more() -> None:
    outage = opened()
    assert [outage.may_try_again("a") for _ in range(TRIES_A_DELIVERY)] == [True] * 9 + [False]
    assert outage.may_try_again("a"), "its next delivery begins anew"
    assert outage.may_try_again("b")


def test_handlers_have_so_many_threads_at_most_and_they_are_used_again() -> None:
    async def main() -> None:
        threads = HandlerThreads(2, "test")
        names = set[str]()
        gate = threading.Event()

        def work() -> int:
            names.add(threading.current_thread().name)
            gate.wait(10)
            return 7

        first = [threads.call(work) for _ in range(5)]
        gate.set()
        assert await asyncio.gather(*first) == [7] * 5
        assert await threads.call(work) == 7
        assert len(names) <= 2
        threads.close()

    asyncio.run(main())


def test_a_handler_that_hangs_does_not_keep_the_process() -> None:
    async def main() -> None:
        threads = HandlerThreads(1, "hanging")
        future = threads.call(lambda: gate.wait(30))
        future.cancel()
        threads.close()

    gate = threading.Event()
    asyncio.run(main())
    (thread,) = [one for one in threading.enumerate() if one.name.startswith("hanging")]
    assert thread.daemon
    gate.set()
    thread.join(30)
    assert not thread.is_alive()


@pytest.mark.parametrize("given", [None, 1, "ab", [-1], [float("inf")]])
def test_delays_are_seconds(given: object) -> None:
    with pytest.raises(ValueError, match="expected seconds"):
        RetryDelays.checked(given)
