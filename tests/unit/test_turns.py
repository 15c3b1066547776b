"""Who goes on when a turn of the loop is spent, and what is told of work that took too long."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Generator
from typing import Any

import pytest
from broker_in_a_box import run
from prometheus_client import CollectorRegistry

from leaselog.broker.runtime import turns as turns_module
from leaselog.broker.runtime.turns import BUDGET_S, WARN_S, Turns
from leaselog.broker.telling.text import TurnCollector


class Work:
    """Time passes when the test's work says so."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.turns = Turns(lambda: self.now_s)
        self.log: list[str] = []

    def take(self, seconds: float) -> None:
        self.now_s += seconds

    def piece(self, work: str, seconds: float) -> None:
        began_s = self.turns.begin()
        self.take(seconds)
        self.turns.end(work, began_s)

    async def hog(self, name: str, steps: int) -> None:
        for _ in range(steps):
            self.log.append(name)
            self.take(0.7 * BUDGET_S)
            if self.turns.is_spent():
                await self.turns.step_back()


def test_pieces_that_follow_each_other_share_a_budget_and_a_pause_renews_it() -> None:
    work = Work()
    work.piece("a", 0.6 * BUDGET_S)
    work.turns.begin()
    assert not work.turns.is_spent()
    work.piece("b", 0.6 * BUDGET_S)
    work.turns.begin()
    assert work.turns.is_spent()
    work.take(0.001)
    work.turns.begin()
    assert not work.turns.is_spent()


def test_coroutines_that_step_back_go_on_in_turn() -> None:
    async def story() -> list[str]:
        work = Work()
        work.turns.begin()
        await asyncio.gather(*(work.hog(name, 4) for name in "abc"))
        return work.log

    log = run(story())
    assert sorted(log) == sorted("abc" * 4)
    ahead = [max(map(log[:place].count, "abc")) - min(map(log[:place].count, "abc")) for place in range(13)]
    assert max(ahead) <= 3, "what fits into a budget, and one more"


def test_steps_are_taken_at_once_as_far_as_the_turn_reaches_and_the_rest_of_them_later() -> None:
    async def story() -> None:
        work = Work()

        def steps(count: int) -> Generator[None, None, str]:
            for _ in range(count):
                work.take(0.4 * BUDGET_S)
                yield
            return "done"

        work.turns.begin()
        assert work.turns.start(steps(2)) == "done"
        rest = work.turns.start(steps(5))
        assert isinstance(rest, Awaitable)
        assert work.now_s == pytest.approx(100.0 + 3 * 0.4 * BUDGET_S)
        assert await rest == "done"

    run(story())


def test_queued_work_goes_on_within_one_budget_a_turn_and_at_least_one_piece_does() -> None:
    async def story() -> list[int]:
        work, done, seen = Work(), [0], [0]

        def piece() -> None:
            done[0] += 1
            work.take(0.4 * BUDGET_S)

        def long() -> None:
            done[0] += 1
            work.take(50 * BUDGET_S)

        for queued in (piece, piece, piece, piece, long, long):
            work.turns.queue(queued)
        while seen[-1] < 6:
            await asyncio.sleep(0)
            seen.append(done[0])
        return seen

    assert sorted(set(run(story()))) == [0, 3, 5, 6]


def test_work_that_breaks_does_not_stop_what_is_queued_behind_it() -> None:
    async def story() -> bool:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        work, done = Work(), asyncio.Event()
        work.turns.queue(lambda: 1 / 0)
        work.turns.queue(done.set)
        async with asyncio.timeout(5):
            return await done.wait()

    assert run(story())


def test_a_coroutine_cancelled_while_it_waits_for_its_turn_leaves_the_others_theirs() -> None:
    async def story() -> None:
        work = Work()
        first, second = (asyncio.ensure_future(work.turns.step_back()) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        async with asyncio.timeout(5):
            await second

    run(story())


def test_steps_are_walked_to_their_end_with_others_in_between() -> None:
    async def story() -> tuple[int, int]:
        work, between = Work(), [0]

        def steps() -> Generator[None, None, int]:
            for _ in range(10):
                work.take(0.6 * BUDGET_S)
                yield
            return 42

        async def other() -> None:
            while True:
                between[0] += 1
                await asyncio.sleep(0)

        watcher = asyncio.ensure_future(other())
        work.turns.begin()
        told = await work.turns.walk(steps())
        watcher.cancel()
        return told, between[0]

    told, between = run(story())
    assert told == 42
    assert between >= 4


def told(turns: Turns, name: str, **labels: str) -> float | None:
    registry = CollectorRegistry()
    registry.register(TurnCollector(turns))
    return registry.get_sample_value(name, labels)


def test_only_pieces_over_the_budget_are_told_by_kind_and_the_longest_stays() -> None:
    work = Work()
    for kind, seconds in (("Fetch", 0.5 * BUDGET_S), ("Produce", 0.03), ("Produce", 0.004)):
        work.piece(kind, seconds)
        work.take(1.0)
    assert told(work.turns, "leaselog_longest_turn_seconds", work="Fetch") is None
    assert told(work.turns, "leaselog_longest_turn_seconds", work="Produce") == pytest.approx(0.03)
    name = "leaselog_long_turn_seconds"
    assert told(work.turns, f"{name}_count", work="Produce") == 2
    assert told(work.turns, f"{name}_bucket", work="Produce", le="0.005") == 1
    assert told(work.turns, f"{name}_sum", work="Produce") == pytest.approx(0.034)


def test_a_long_turn_is_warned_of_by_name_once_a_minute_and_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[dict[str, Any]] = []
    monkeypatch.setattr(turns_module.log, "warning", lambda event, **facts: said.append(facts))
    work = Work()
    for kind in ("ListOffsets", "ListOffsets", "Metadata", "ListOffsets"):
        work.piece(kind, 2 * WARN_S)
    work.piece("Fetch", 0.9 * WARN_S)
    work.take(60.0)
    work.piece("ListOffsets", 3 * WARN_S)
    assert said == [
        {"work": "ListOffsets", "seconds": 0.1},
        {"work": "Metadata", "seconds": 0.1},
        {"work": "ListOffsets", "seconds": 0.15, "untold_before": 2},
    ]


def test_each_step_of_a_measured_coroutine_is_a_piece_and_what_it_returns_and_raises_comes_through() -> None:
    async def story() -> None:
        work = Work()

        async def three(*, breaks: bool) -> str:
            work.take(0.002)
            await asyncio.sleep(0)
            work.take(0.003)
            await asyncio.sleep(0)
            if breaks:
                raise ZeroDivisionError
            return "done"

        assert await asyncio.ensure_future(work.turns.measured("w", three(breaks=False))) == "done"
        with pytest.raises(ZeroDivisionError):
            await asyncio.ensure_future(work.turns.measured("w", three(breaks=True)))
        assert told(work.turns, "leaselog_long_turn_seconds_count", work="w") == 4

        async def waits() -> None:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                work.log.append("let go")

        waiting = asyncio.ensure_future(work.turns.measured("w", waits()))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert work.log == ["let go"]

    run(story())
