"""A coroutine that is made and never awaited fails a simulated run, and processes that die leave none behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import Any

import pytest

from leaselog.broker.broker import Broker
from leaselog.broker.runtime.turns import Turns
from leaselog.testing.sim_loop import SimProcess
from leaselog.testing.sim_world import Impossible, World


async def nothing() -> None:
    pass


def test_work_that_nobody_awaits_fails_the_run() -> None:
    world = World(0, {})

    async def story() -> None:
        nothing()  # type: ignore[unused-coroutine]

    with pytest.raises(Impossible, match="nothing' was never awaited"):
        world.run(story)


def test_work_that_waits_for_a_process_that_died_first_fails_the_run() -> None:
    world = World(0, {})

    async def await_it(work: Coroutine[Any, Any, None]) -> None:
        await work

    async def story() -> None:
        process = SimProcess("p", "h")
        world.spawn(process, await_it(nothing()))
        process.is_alive = False
        await world.sleep(1.0)

    with pytest.raises(Impossible, match="nothing' was never awaited"):
        world.run(story)


def test_what_is_left_of_long_work_is_no_coroutine_that_somebody_has_to_await() -> None:
    world = World(0, {})

    def steps() -> Generator[None, None, None]:
        while True:
            yield

    async def answer_later(work: Coroutine[Any, Any, None]) -> None:
        await work

    async def story() -> None:
        turns, process = Turns(lambda: world.now_s), SimProcess("p", "h")
        left = turns.start(steps())
        assert left is not None
        world.spawn(process, answer_later(left))
        process.is_alive = False
        await world.sleep(1.0)

    world.run(story)


CHANGES: dict[str, Callable[[Broker], Coroutine[Any, Any, object]]] = {
    "producer id": lambda broker: broker.cluster.next_producer_id(),
    "topic": lambda broker: broker.cluster.ensure_topic("t"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_a_broker_that_dies_while_changes_of_the_cluster_are_in_line_leaves_none_unawaited(
    change: Callable[[Broker], Coroutine[Any, Any, object]],
) -> None:
    world = World(0, {})

    async def story() -> None:
        broker = await world.start()
        await world.in_broker(
            lambda broker: [asyncio.ensure_future(change(broker)) for _ in range(3)],
        )
        await asyncio.sleep(0.0001)
        assert broker.cluster._tasks, "some are still in line"
        world.kill()

    world.run(story)
