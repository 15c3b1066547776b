"""A group with a dead-letter topic fails at much, while the broker is killed, loses its power, or is stopped."""

from __future__ import annotations

from leaselog.testing.sim_clients import Habits
from leaselog.testing.sim_stage import Stage, settings

__all__ = ["play", "settings"]


async def play(stage: Stage) -> None:
    world, chance = stage.world, stage.world.chance
    world.slowest_sync_s = chance.choice((0.005, 0.1, 1.0))
    await stage.open()
    await stage.have_dead_letters("g", chance.choice((1, 2)))
    stage.add_producers(chance.randint(1, 2), chance.randint(10, 40))
    for _ in range(chance.randint(1, 3)):
        weights = chance.choice(((80, 10, 10), (30, 30, 40), (0, 60, 40)))
        stage.add_consumers(1, habits=Habits.by_chance(chance, weights=weights))
    for _ in range(chance.randint(1, 5)):
        await world.sleep(0.05, 3.0)
        await world.restart(gently=0.2)
    await stage.finish()
