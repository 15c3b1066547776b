"""An administrator sets offsets and deletes groups, in a race with members that come and go."""

from __future__ import annotations

from leaselog.testing.sim_stage import Stage, settings

__all__ = ["play", "settings"]


async def play(stage: Stage) -> None:
    world, chance = stage.world, stage.world.chance
    await stage.open()
    stage.add_producers(1, chance.randint(20, 60))
    stage.add_consumers(chance.randint(1, 3))
    for _ in range(chance.randint(1, 4)):
        await world.sleep(0.5, 3.0)
        for consumer in stage.consumers:
            consumer.is_over = True
        await world.until(lambda: all(c.is_done for c in stage.consumers), "consumers close", 120)
        await world.sleep(0.0, 0.1)
        if chance.random() < 0.5:  # a race
            _start_again(stage)
            await world.sleep(0.0, 0.1)
        await _begin_anew(stage)
        if chance.random() < 0.3:
            await world.restart()
        if all(c.is_done for c in stage.consumers):
            _start_again(stage)
    await stage.finish()


async def _begin_anew(stage: Stage) -> None:
    broker, chance = stage.world.broker, stage.world.chance
    assert broker is not None
    offsets = {}
    for partition in range(stage.partitions):
        found = broker.logs.partition(stage.topic, partition)
        assert found is not None
        offsets[partition] = chance.randint(0, found.log.high_watermark)
    deletes = chance.random() < 0.3
    if deletes:  # it begins again with the first record, as its config says, which outlives it
        offsets = dict.fromkeys(offsets, 0)
    await stage.begin_anew("g", offsets, deletes=deletes)


def _start_again(stage: Stage) -> None:
    for consumer in stage.consumers:
        if consumer.is_done:
            consumer.is_over = False
            consumer.start_again()
