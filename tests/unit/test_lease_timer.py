"""The timer of a share partition: it goes off in time for the first lease, once, and keeps nobody alive."""

from __future__ import annotations

import asyncio
import gc
import weakref

from leaselog.broker.lending.lease_timer import LeaseTimer


class Caller:
    def __init__(self) -> None:
        self.calls = 0
        self.is_called = asyncio.Event()

    def called(self) -> None:
        self.calls += 1
        self.is_called.set()


def now_ms() -> int:
    return int(asyncio.get_running_loop().time() * 1000)


def test_an_earlier_deadline_counts_and_a_later_one_does_not_move_it() -> None:
    async def story() -> None:
        timer, caller = LeaseTimer(), Caller()
        first_ms = now_ms() + 60_000
        timer.set(first_ms, caller.called)
        timer.set(first_ms + 1, caller.called)
        assert timer.at_ms == first_ms
        timer.set(now_ms() - 1, caller.called)
        await caller.is_called.wait()
        assert caller.calls == 1
        assert timer.at_ms > first_ms, "it is not set any more"

    asyncio.run(story())


def test_without_a_deadline_it_is_not_set() -> None:
    async def story() -> None:
        timer, caller = LeaseTimer(), Caller()
        before_ms = timer.at_ms
        timer.set(None, caller.called)
        assert timer.at_ms == before_ms

    asyncio.run(story())


def test_one_that_was_cancelled_calls_nobody_and_keeps_nobody_alive() -> None:
    async def story() -> None:
        timer, caller = LeaseTimer(), Caller()
        known = weakref.ref(caller)
        timer.set(now_ms() - 1, caller.called)
        timer.cancel()
        await asyncio.sleep(0)
        assert caller.calls == 0
        gc.disable()
        try:
            del caller
            await asyncio.sleep(0)
            assert known() is None
        finally:
            gc.enable()

    asyncio.run(story())
