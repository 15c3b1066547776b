"""Records wait for their next delivery, or are given back, while the broker's clock is set and the broker is killed."""

from __future__ import annotations

from leaselog.share import RetryBackoff
from leaselog.testing.sim_clients import Habits
from leaselog.testing.sim_stage import Stage, settings

__all__ = ["play", "settings"]


async def play(stage: Stage) -> None:
    world, chance = stage.world, stage.world.chance
    await stage.open()
    first_ms, longest_ms = chance.choice((50, 500, 3_000)), chance.choice((3_000, 8_000))
    multiplier, jitter = chance.choice((1.0, 2.0)), chance.choice((0.0, 0.5))
    await stage.have_waits("g", RetryBackoff(first_ms, multiplier, longest_ms, jitter))
    if chance.random() < 0.3:
        await stage.have_dead_letters("g", 1)
    stage.add_producers(1, chance.randint(20, 80))
    for _ in range(chance.randint(1, 3)):
        weights = chance.choice(((50, 45, 5), (20, 75, 5)))
        habits = Habits.by_chance(chance, is_explicit=True, weights=weights, gives_back=0.3)
        stage.add_consumers(1, habits=habits)
    for _ in range(chance.randint(2, 6)):
        await world.sleep(0.1, 4.0)
        if chance.random() < 0.4:
            stage.set_clock(chance.choice((-3_600_000, -2_000, 2_000, 3_600_000)))
        if chance.random() < 0.5:
            await world.restart(gently=0.3)
    await stage.finish()
