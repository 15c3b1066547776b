"""Produce and share-consume while the broker is killed, loses its power, or is stopped, again and again."""

from __future__ import annotations

from leaselog.testing.sim_stage import Stage, settings

__all__ = ["play", "settings"]


async def play(stage: Stage) -> None:
    world, chance = stage.world, stage.world.chance
    world.slowest_sync_s = chance.choice((0.005, 0.1, 1.0))
    await stage.open()
    stage.add_producers(chance.randint(1, 3), chance.randint(10, 60))
    stage.add_consumers(chance.randint(1, 4))
    for _ in range(chance.randint(1, 4)):
        await world.sleep(0.05, 4.0)
        await world.restart(gently=0.2)
    await stage.finish()
