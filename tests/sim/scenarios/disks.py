"""Disks that are full, fail, forget that they failed, or show other bytes than were written."""

from __future__ import annotations

from leaselog.testing.sim_stage import Stage, settings

__all__ = ["play", "settings"]


async def play(stage: Stage) -> None:
    world, disk, chance = stage.world, stage.world.disk, stage.world.chance
    await stage.open()
    stage.add_producers(1, chance.randint(20, 60))
    stage.add_consumers(chance.randint(1, 3))
    for _ in range(chance.randint(1, 3)):
        await world.sleep(0.1, 2.0)
        world.may_exit = True
        match chance.randrange(4):
            case 0:
                disk.capacity_bytes = disk.used_bytes() + chance.randrange(2_000)
            case 1:
                disk.fails = lambda operation, path: operation == "sync" and chance.random() < 0.3
            case 2:
                disk.fails = lambda operation, path: operation == "write" and chance.random() < 0.3
            case _:
                disk.fails = lambda operation, path: operation == "read" and chance.random() < 0.3
        await world.sleep(0.1, 3.0)
        disk.capacity_bytes, disk.fails = None, lambda operation, path: False
        world.cut_power()
        await world.sleep(0.0, 1.0)
        world.may_exit = False
        await world.start()
    await stage.finish()
