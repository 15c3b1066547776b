"""Parked requests: woken by any of their keys, sent home by the clock, and gone without a trace."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from itertools import pairwise
from typing import TypeVar

import pytest

from leaselog.broker.records import waiting_room
from leaselog.broker.records.waiting_room import LEAVE_STEP, WaitingRoom

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


class Counting:
    def __init__(self) -> None:
        self.told = 0

    def woken(self) -> None:
        self.told += 1


def test_a_follower_is_told_of_every_waking_until_it_follows_no_more() -> None:
    room, follower = WaitingRoom(), Counting()
    room.follow("records", follower)
    room.wake("records")
    room.wake("other")
    assert follower.told == 1
    room.unfollow("records", follower)
    room.wake("records")
    assert follower.told == 1
    assert room._followers == {}


def test_a_watch_is_told_which_of_its_keys_were_woken_and_stays() -> None:
    async def story() -> None:
        room = WaitingRoom()
        with room.watch(LONG_S) as watch:
            for key in "abc":
                room.park(watch, key)
            room.wake("c")
            room.wake("a")
            room.wake("c")
            assert await watch.wait() == ("c", "a")
            waiting = asyncio.ensure_future(watch.wait())
            await asyncio.sleep(0)
            assert not waiting.done()
            room.wake("b")
            assert await waiting == ("b",)
            assert len(room) == 1
        assert (len(room), room._watches, room._watched) == (0, {}, 0)

    run(story())


def test_a_watch_ends_with_its_time() -> None:
    async def story() -> tuple[object, ...]:
        room = WaitingRoom()
        with room.watch(0.0) as watch:
            room.park(watch, "a")
            return await watch.wait()

    assert run(story()) == ()


def test_a_watch_that_is_given_up_leaves_no_trace() -> None:
    async def story() -> None:
        room = WaitingRoom()

        async def fetch() -> None:
            with room.watch(LONG_S) as watch:
                room.park(watch, "a")
                await watch.wait()

        waiting = asyncio.ensure_future(fetch())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert (len(room), room._watches, room._watched) == (0, {}, 0)

    run(story())


def test_a_watch_with_many_keys_leaves_them_over_several_turns() -> None:
    async def story() -> None:
        room = WaitingRoom()
        for _ in range(2):
            with room.watch(LONG_S) as watch:
                for key in range(2 * LEAVE_STEP):
                    room.park(watch, key)
        assert len(room) == 0
        left = [room._watched]
        while room._watched:
            await asyncio.sleep(0)
            left.append(room._watched)
        assert left == sorted(left, reverse=True)
        assert all(before - after <= LEAVE_STEP for before, after in pairwise(left))
        assert room._watches == {}

    run(story())


def test_there_is_room_for_so_many_watched_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        monkeypatch.setattr(waiting_room, "MAX_WATCHED", 3)
        room = WaitingRoom()
        with room.watch(LONG_S) as watch:
            room.park(watch, "a")
            assert room.has_room(2)
            assert not room.has_room(3)
        assert room.has_room(3)

    run(story())
