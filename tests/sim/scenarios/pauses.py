"""A group is paused and resumed while members come and go and the broker dies; in the end all wait for it to go on."""

from __future__ import annotations

from typing import Any

from leaselog.testing.sim_clients import Habits
from leaselog.testing.sim_stage import Stage, settings

__all__ = ["play", "settings"]

#: how long who waits would wait in vain if nobody told him, and how soon he has records if somebody does
LONG_POLLS: dict[str, Any] = {"polls_s": (60.0,), "fetch_wait_ms": 60_000}
PROMPT_S = 5.0


async def play(stage: Stage) -> None:
    world, chance = stage.world, stage.world.chance
    await stage.open()
    stage.add_producers(chance.randint(1, 2), chance.randint(10, 40))
    for _ in range(chance.randint(1, 3)):
        waits = chance.choice(({}, LONG_POLLS))
        stage.add_consumers(1, habits=Habits.by_chance(chance, closes=0.02, **waits))
    for _ in range(chance.randint(1, 3)):
        await world.sleep(0.0, 2.0)
        await stage.pause("g")
        await _trouble(stage)
        await stage.resume("g")
    await _wake_up(stage)
    await stage.finish()


async def _trouble(stage: Stage) -> None:
    world, chance = stage.world, stage.world.chance
    await world.sleep(0.0, 3.0)
    match chance.randrange(3):
        case 0:
            await world.restart(gently=0.2)
        case 1:
            consumer = chance.choice(stage.consumers)
            consumer.kill()
            consumer.start_again()
        case _:
            stage.add_consumers(1)
    await world.sleep(0.0, 3.0)


async def _wake_up(stage: Stage) -> None:
    """Records come while the only member waits long for its paused group; once that goes on, it has some soon."""
    world = stage.world
    for consumer in stage.consumers:
        consumer.kill()
    await world.until(lambda: all(p.is_done for p in stage.producers), "every producer is done", 400)
    await world.sleep(
        10.0, 10.0
    )  # whoever was killed is not a member any more: its partitions are free for this one
    stage.add_consumers(1, habits=Habits(closes=0.0, dawdles=0.0, **LONG_POLLS))
    await world.sleep(10.0, 10.0)
    await stage.pause("g")
    stage.add_producers(1, 10)
    await world.until(lambda: stage.producers[-1].is_done, "the last producer is done", 60)
    await world.sleep(5.0, 5.0)
    before = sum(consumer.deliveries for consumer in stage.consumers)
    await stage.resume("g")
    await world.until(
        lambda: sum(consumer.deliveries for consumer in stage.consumers) > before,
        "the members of a resumed group get records",
        PROMPT_S,
    )
