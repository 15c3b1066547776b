"""An administrator sets offsets and deletes groups: in a race with members that come and go, or as the broker dies."""

from __future__ import annotations

import asyncio

from leaselog.testing.sim_stage import Stage, settings

__all__ = ["play", "settings"]


async def play(stage: Stage) -> None:
    world, chance = stage.world, stage.world.chance
    await stage.open()
    stage.add_producers(1, chance.randint(20, 60))
    stage.add_consumers(chance.randint(1, 3))
    for _ in range(chance.randint(1, 4)):
        await world.sleep(0.5, 3.0)
        for consumer in stage.consumers:
            consumer.is_over = True
        await world.until(lambda: all(c.is_done for c in stage.consumers), "consumers close", 120)
        await world.sleep(0.0, 0.1)
        if chance.random() < 0.5:  # a race
            _start_again(stage)
            await world.sleep(0.0, 0.1)
        await asyncio.gather(_begin_anew(stage), _disturb(stage))
        if chance.random() < 0.3:
            await world.restart()
        if all(c.is_done for c in stage.consumers):
            _start_again(stage)
    await stage.finish()


async def _begin_anew(stage: Stage) -> None:
    broker, chance = stage.world.broker, stage.world.chance
    assert broker is not None
    offsets = {}
    for partition in range(stage.partitions):
        found = broker.logs.partition(stage.topic, partition)
        assert found is not None
        offsets[partition] = chance.randint(0, found.log.high_watermark)
    deletes = chance.random() < 0.3
    if deletes:  # it begins again with the first record, as its config says, which outlives it
        offsets = dict.fromkeys(offsets, 0)
    await stage.begin_anew("g", offsets, deletes=deletes)


async def _disturb(stage: Stage) -> None:
    """Whoever is told nothing asks again, and finds done what it asked for, or half of it."""
    world, chance = stage.world, stage.world.chance
    what = chance.random()
    if what < 0.6:
        return
    await world.sleep(0.0, chance.choice((0.005, 0.02, 0.1)))
    if what < 0.8:
        await world.restart(gently=0.2)
    elif ends := [end for end in world.net.connections() if "admin" in (end.near[0], end.far[0])]:
        world.net.cut(chance.choice(ends), half=chance.random() < 0.5)


def _start_again(stage: Stage) -> None:
    for consumer in stage.consumers:
        if consumer.is_done:
            consumer.is_over = False
            consumer.start_again()
