"""The disk refuses what upkeep asks of it: files that nobody needs stay, checkpoints and names are not written.

Nobody waits for upkeep, so nobody notices when it has ended, until the disk is full: the broker must not go on without.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from leaselog.testing import sim_stage
from leaselog.testing.sim_stage import Stage

__all__ = ["play", "settings"]


def settings(chance: Random) -> dict[str, str]:
    return {**sim_stage.settings(chance), "log.retention.check.interval.ms": "1000"}


async def play(stage: Stage) -> None:
    world, disk, chance = stage.world, stage.world.disk, stage.world.chance
    await stage.open(segment_ms="500", retention_ms="3000", file_delete_delay_ms="1000")
    stage.add_producers(1, chance.randint(40, 80), pause_s=0.3)
    stage.add_consumers(chance.randint(1, 3))
    for _ in range(chance.randint(2, 4)):
        await world.sleep(0.5, 3.0)
        refused = chance.choice(("remove", "rename", "remove", "write"))
        place = "" if refused == "remove" else chance.choice(("/t-", "checkpoint", "offset"))
        disk.fails = _fails(chance, refused, place)
        await world.sleep(1.0, 5.0)
        disk.fails = lambda operation, path: False
        if chance.random() < 0.2:
            await world.restart(gently=0.3)
    await stage.finish()
    broker = world.broker
    assert broker is not None
    doomed = broker.logs._directories._doomed
    await world.until(lambda: not len(doomed), "what nobody needs is removed", 30.0)


def _fails(chance: Random, refused: str, place: str) -> Callable[[str, str], bool]:
    return lambda operation, path: operation == refused and place in path and chance.random() < 0.7
