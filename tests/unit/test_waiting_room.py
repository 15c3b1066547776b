"""Parked requests: woken by any of their keys, sent home by the clock, and gone without a trace."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from leaselog.broker.waiting_room import WaitingRoom

T = TypeVar("T")
LONG_S = 3600.0


def run(work: Coroutine[object, object, T]) -> T:
    with asyncio.Runner() as runner:
        return runner.run(work)


def test_a_woken_key_ends_the_wait() -> None:
    async def story() -> tuple[bool, int]:
        room = WaitingRoom()
        waiting = asyncio.ensure_future(room.wait(["a", "b"], LONG_S))
        await asyncio.sleep(0)
        assert len(room) == 1
        room.wake("b")
        return await waiting, len(room)

    assert run(story()) == (True, 0)


def test_another_key_does_not() -> None:
    async def story() -> bool:
        room = WaitingRoom()
        waiting = asyncio.ensure_future(room.wait(["a"], 0.0))
        await asyncio.sleep(0)
        room.wake("b")
        return await waiting

    assert run(story()) is False


def test_everyone_under_a_key_wakes_at_once() -> None:
    async def story() -> list[bool]:
        room = WaitingRoom()
        waiting = [asyncio.ensure_future(room.wait(["a"], LONG_S)) for _ in range(3)]
        await asyncio.sleep(0)
        room.wake_all()
        return await asyncio.gather(*waiting)

    assert run(story()) == [True, True, True]


def test_a_cancelled_wait_leaves_no_trace() -> None:
    async def story() -> tuple[int, dict[object, object]]:
        room = WaitingRoom()
        waiting = asyncio.ensure_future(room.wait(["a"], LONG_S))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return len(room), dict(room._parked)

    assert run(story()) == (0, {})
