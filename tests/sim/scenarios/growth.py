"""A topic gets more partitions while a share group consumes it, or has nobody in it, and the broker dies in between.

Records come to an added partition at once. Whatever the group's policy, all of them are for the group; of the
partitions that were there before it, only what the policy says is.
"""

from __future__ import annotations

from leaselog.admin.topics import NewPartitions
from leaselog.client import BrokerError
from leaselog.model import ErrorCode
from leaselog.testing.sim_stage import Stage, settings

__all__ = ["play", "settings"]

POLICIES = ("latest", "latest", "earliest")


async def play(stage: Stage) -> None:
    world, chance = stage.world, stage.world.chance
    await stage.open()
    policy = chance.choice(POLICIES)
    await stage.set_group("g", share_auto_offset_reset=policy)
    if policy != "earliest":
        stage.ask_nothing_of("g", range(stage.partitions))
    stage.add_consumers(chance.randint(1, 3))
    await _is_known(stage)
    for _ in range(chance.randint(1, 3)):
        await world.sleep(0.0, 2.0)
        if chance.random() < 0.3:
            await _leave(stage)
        await _grow(stage)
        stage.add_producers(1, chance.randint(5, 30))
        if chance.random() < 0.4:
            await world.sleep(0.0, chance.choice((0.02, 0.5)))
            await world.restart(gently=0.3)
        for consumer in stage.consumers:
            if consumer.is_done:
                consumer.is_over = False
                consumer.start_again()
    await stage.finish()


async def _is_known(stage: Stage) -> None:
    """The group has the topic as it is: what comes now is added to it."""

    while len((await stage.offsets())["g"]) < stage.partitions:
        await stage.world.sleep(0.1)


async def _leave(stage: Stage) -> None:
    for consumer in stage.consumers:
        consumer.is_over = True
    await stage.world.until(lambda: all(c.is_done for c in stage.consumers), "consumers close", 120)


async def _grow(stage: Stage) -> None:
    count = stage.partitions + stage.world.chance.randint(1, 2)
    try:
        await stage.administer(lambda admin: admin.create_partitions({stage.topic: NewPartitions(count)}))
    except BrokerError as refused:
        if refused.code is not ErrorCode.INVALID_PARTITIONS:
            raise
        # It was done when it was asked for before, by a broker that died before it could say so.
    stage.partitions = count
