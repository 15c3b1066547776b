"""Leases run out while acknowledgements are on their way: slow disks, slow lines, slow applications."""

from __future__ import annotations

from leaselog.testing.sim_clients import Habits
from leaselog.testing.sim_stage import Stage, settings

__all__ = ["play", "settings"]


async def play(stage: Stage) -> None:
    world, chance = stage.world, stage.world.chance
    await stage.open()
    has_many = chance.random() < 0.3  # more than a window may hold
    if has_many:
        stage.add_producers(1, 300, pause_s=0.002)
    else:
        stage.add_producers(1, chance.randint(20, 60))
    # two who take them one by one would otherwise still be at it when all has to be through
    dawdles = 0.05 if has_many else 0.3
    habits = Habits.by_chance(chance, dawdles=dawdles, dawdle_s=chance.choice((1.9, 2.0, 2.1, 3.0)))
    stage.add_consumers(chance.randint(2, 4), habits=habits)
    for _ in range(chance.randint(2, 5)):
        await world.sleep(0.5, 2.0)
        world.slowest_sync_s = chance.choice((0.01, 2.0, 4.0))
        slow = chance.choice(((0.0002, 0.002), (0.5, 2.5), (0.001, 1.0)))
        world.net.latency_s = slow
        await world.sleep(0.5, 4.0)
        world.slowest_sync_s, world.net.latency_s = 0.01, (0.0002, 0.002)
        if chance.random() < 0.2:
            await world.restart()
    await stage.finish()
