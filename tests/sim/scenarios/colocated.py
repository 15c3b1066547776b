"""Share state in the log of the partition it is about (`leaselog.ColocatedPersister`), while brokers and members die
and the log's beginning is cut off, or records end as dead letters.

Small, since it never rests: what the state's records lie at is leased as a gap, and finishing that is one more of them.
"""

from __future__ import annotations

from random import Random

from leaselog.testing import sim_stage
from leaselog.testing.sim_clients import Habits
from leaselog.testing.sim_stage import Stage
from sim.scenarios.deletions import delete_records

__all__ = ["play", "settings"]

CONFIGS: tuple[dict[str, str], ...] = (
    {},
    {"segment_ms": "500"},
    {"retention_ms": "3000", "segment_ms": "500", "file_delete_delay_ms": "1000"},
    {"retention_bytes": "2000", "segment_ms": "500"},
)


def settings(chance: Random) -> dict[str, str]:
    return {
        **sim_stage.settings(chance),
        "group.share.persister.class.name": "leaselog.ColocatedPersister",
    }


async def play(stage: Stage) -> None:
    world, chance = stage.world, stage.world.chance
    world.slowest_sync_s = chance.choice((0.1, 1.0))
    # of records that the log no longer has there need not be a letter
    has_letters = chance.random() < 0.4
    await stage.open(**({} if has_letters else chance.choice(CONFIGS)))
    if has_letters:
        await stage.have_dead_letters("g", chance.choice((1, 2)))
    stage.add_producers(1, chance.randint(10, 30))
    habits = Habits.by_chance(chance, weights=(30, 30, 40)) if has_letters else None
    stage.add_consumers(chance.randint(1, 2), habits=habits)
    for _ in range(chance.randint(1, 4)):
        await world.sleep(0.05, 2.0)
        what = chance.random()
        if what < 0.5:
            await world.restart(gently=0.3)
        elif what < 0.75 and not has_letters:
            await delete_records(stage)
        else:
            consumer = chance.choice(stage.consumers)
            if not consumer.is_done:
                consumer.kill()
            consumer.start_again()
    await stage.finish()
