"""Many members join, leave in good order, and are killed, more than there are partitions for."""

from __future__ import annotations

from leaselog.testing.sim_clients import Habits
from leaselog.testing.sim_stage import Stage, settings

__all__ = ["play", "settings"]


async def play(stage: Stage) -> None:
    world, chance = stage.world, stage.world.chance
    await stage.open()
    stage.add_producers(2, chance.randint(20, 60), pause_s=0.1)
    for _ in range(chance.randint(4, 8)):
        stage.add_consumers(1, habits=Habits.by_chance(chance, closes=chance.choice((0.05, 0.3))))
        await world.sleep(0.0, 0.5)
    for _ in range(chance.randint(3, 10)):
        await world.sleep(0.0, 1.5)
        consumer = chance.choice(stage.consumers)
        if consumer.is_done:
            consumer.start_again()
        else:
            consumer.kill()
    await stage.finish()
