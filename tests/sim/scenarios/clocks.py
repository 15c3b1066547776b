"""The broker's wall clock jumps, back and forth: nobody's lease or session may end, or last, because of that."""

from __future__ import annotations

from leaselog.testing.sim_stage import Stage, settings

__all__ = ["play", "settings"]


async def play(stage: Stage) -> None:
    world, chance = stage.world, stage.world.chance
    await stage.open()
    stage.add_producers(1, chance.randint(20, 80))
    stage.add_consumers(chance.randint(2, 4))
    for _ in range(chance.randint(2, 8)):
        await world.sleep(0.1, 2.0)
        world.clock_is_off_ms += chance.choice((-3_600_000, -5_000, 5_000, 60_000, 3_600_000, 86_400_000))
        if chance.random() < 0.25:
            await world.restart(gently=0.3)
    await stage.finish()
