"""The disk is full, fails or has no descriptors left for a while, and comes back. Nobody starts the broker again.

Sometimes the power goes afterwards: what a failed sync has lost must not be what others were promised.
"""

from __future__ import annotations

from leaselog.testing.sim_stage import Stage, settings

__all__ = ["play", "settings"]

CONFIGS: tuple[dict[str, str], ...] = (
    {},
    {"segment_ms": "500"},
    {"segment_ms": "500", "retention_ms": "3000", "file_delete_delay_ms": "1000"},
)


async def play(stage: Stage) -> None:
    world, chance = stage.world, stage.world.chance
    await stage.open(**chance.choice(CONFIGS))
    stage.add_producers(chance.randint(1, 2), chance.randint(20, 80))
    stage.add_consumers(chance.randint(1, 3))
    for _ in range(chance.randint(1, 4)):
        await world.sleep(0.2, 3.0)
        _break(stage)
        await world.sleep(0.1, 6.0)
        _mend(stage)
        if chance.random() < 0.3:
            await world.sleep(0.0, 4.0)
            await world.restart()
    _mend(stage)
    await stage.finish()


def _break(stage: Stage) -> None:
    disk, chance = stage.world.disk, stage.world.chance
    place = chance.choice(("", f"/{stage.topic}-", "__share_group_state", ".log"))
    match chance.randrange(5):
        case 0:
            disk.capacity_bytes = disk.used_bytes() + chance.randrange(1_000)
        case 1:
            disk.descriptors = disk.open_files + chance.randrange(3)
        case 2:
            disk.fails = lambda operation, path: (
                operation == "sync" and place in path and chance.random() < 0.5
            )
        case 3:
            disk.fails = lambda operation, path: (
                operation != "read" and place in path and chance.random() < 0.5
            )
        case _:
            disk.fails = lambda operation, path: place in path and chance.random() < 0.2


def _mend(stage: Stage) -> None:
    disk = stage.world.disk
    disk.capacity_bytes = disk.descriptors = None
    disk.fails = lambda operation, path: False
