"""Power cuts where syncs are not waited for (`durability` is interval or os): each log loses what it likes of its tail,
that of the records as well as those of share state and of groups.

In some lives of the broker nobody consumes: then the logs grow past what state told of before anybody reads it, and the
power goes again."""

from __future__ import annotations

from random import Random

from leaselog.testing import sim_stage
from leaselog.testing.sim_tails import LossyStage

__all__ = ["play", "settings", "stage"]

stage = LossyStage


def settings(chance: Random) -> dict[str, str]:
    return {
        **sim_stage.settings(chance),
        "durability": chance.choice(("interval", "os")),
        "durability.interval.ms": chance.choice(("100", "1000", "5000")),
    }


async def play(stage: LossyStage) -> None:
    world, chance = stage.world, stage.world.chance
    world.slowest_sync_s = chance.choice((0.005, 0.1, 1.0))
    await stage.open()
    stage.add_producers(chance.randint(1, 2), chance.randint(30, 90), pause_s=chance.choice((0.05, 0.2)))
    stage.add_consumers(chance.randint(1, 3))
    for _ in range(chance.randint(2, 5)):
        await world.sleep(0.5, 4.0)
        what = chance.random()
        if what < 0.2:
            world.kill()
            await world.start()
        elif what < 0.5:
            await stage.lose_power()
        else:
            await _lose_power_twice(stage)
    await stage.finish()


async def _lose_power_twice(stage: LossyStage) -> None:
    for consumer in stage.consumers:
        consumer.kill()
    await stage.lose_power()
    await stage.world.sleep(0.2, 2.0)
    await stage.lose_power()
    for consumer in stage.consumers:
        consumer.start_again()
