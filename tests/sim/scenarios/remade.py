"""A topic is deleted and made again under its name, while the broker dies, writes its checkpoints, or cannot rename."""

from __future__ import annotations

import asyncio

from leaselog.testing.sim_stage import Stage, settings
from sim.remaking import Remade

__all__ = ["play", "settings"]


async def play(stage: Stage) -> None:
    world, chance = stage.world, stage.world.chance
    await stage.open()
    stage.add_producers(1, chance.randint(30, 60))
    stage.add_consumers(1)
    remade = Remade(stage, partitions=chance.choice((1, 2)))
    troubles = asyncio.ensure_future(_troubles(stage))
    for _ in range(chance.randint(2, 5)):
        await remade.make()
        await remade.give(chance.randint(1, 20))
        if chance.random() < 0.6:
            await remade.cut(chance.choice((0.5, 1.0)))
        if chance.random() < 0.5:
            await remade.give(chance.randint(1, 5))
        is_stuck = chance.random() < 0.4
        if is_stuck:
            await remade.compare()
            world.disk.fails = lambda operation, path: operation == "rename" and "/again-" in path
        await remade.delete(compares=not is_stuck)
        if is_stuck and chance.random() < 0.7:
            await remade.make()
        world.disk.fails = lambda operation, path: False
    await remade.make()
    await remade.give(chance.randint(1, 10))
    troubles.cancel()
    await asyncio.gather(troubles, return_exceptions=True)
    if not world.is_up:
        await world.start()
    await world.restart(gently=0.3)
    await remade.compare()
    await stage.finish()


async def _troubles(stage: Stage) -> None:
    world, chance = stage.world, stage.world.chance
    while True:
        await world.sleep(0.1, 2.0)
        if chance.random() < 0.5:
            if world.is_up:
                await world.in_broker(lambda broker: broker.logs.checkpoint())
        else:
            await world.restart(gently=0.3)
