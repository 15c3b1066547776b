"""For a while the disk shows other bytes of the topic than were written: bits are flipped, and reads are short.

What was written well is there again afterwards. Nobody is given a record that nobody sent, none is lost for having been
unreadable, and whoever cannot have records is told so.
"""

from __future__ import annotations

from collections.abc import Callable

from leaselog.testing.sim_stage import Stage, settings

__all__ = ["play", "settings"]


async def play(stage: Stage) -> None:
    world, disk, chance = stage.world, stage.world.disk, stage.world.chance
    await stage.open(**chance.choice(({}, {"segment_ms": "500"})))
    stage.add_producers(1, chance.randint(20, 80))
    stage.add_consumers(chance.randint(1, 3))
    for _ in range(chance.randint(1, 4)):
        await world.sleep(0.1, 2.0)
        if chance.random() < 0.3:
            await world.restart(gently=0.3)
        disk.spoils = _spoiling(stage, chance.choice((0.05, 0.5, 1.0)), chance.choice((0.0, 0.5, 1.0)))
        await world.sleep(0.1, 3.0)
        disk.spoils = lambda path, data: data
    await stage.finish()


def _spoiling(stage: Stage, often: float, flips: float) -> Callable[[str, bytes], bytes]:
    """So often a read is spoiled, and so often by a flipped bit and not by being short."""
    chance, topic = stage.world.chance, f"data/{stage.topic}-"
    before = -1

    def spoilt(path: str, data: bytes) -> bytes:
        nonlocal before
        if not data or not path.startswith(topic) or chance.random() > often:
            return data
        if chance.random() > flips:
            return data[: chance.randrange(len(data))]
        wrong = bytearray(data)
        at = chance.randrange(len(wrong))
        # the same bit twice is what the disk has for good, and is for the consumer to reject
        before = at if at != before else (at + 1) % len(wrong)
        wrong[before] ^= 1 << chance.randrange(8)
        stage.seen["flipped bits"] += 1
        return bytes(wrong)

    return spoilt
