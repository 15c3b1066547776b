"""The coordinators and the owners of share partitions begin anew, each by itself, while the broker lives on."""

from __future__ import annotations

from random import Random
from typing import Any

from leaselog.broker.broker import Broker
from leaselog.model import ErrorCode, GroupId, Refused
from leaselog.testing.sim_clients import Habits
from leaselog.testing.sim_stage import Stage, settings

__all__ = ["play", "settings"]

MOVED = Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)


async def play(stage: Stage) -> None:
    world, chance = stage.world, stage.world.chance
    await stage.open()
    stage.add_producers(1, chance.randint(20, 80))
    is_late = chance.random() < 0.4
    if (
        is_late
    ):  # the last write of an owner that has ended returns when its leases are over, the last for some
        await stage.set_group("g", share_delivery_count_limit="2")
    # all at once: leases end for the last time while several writes are under way, and a reload refuses all of those
    everything = Random(f"{world.seed}-everything")
    is_all = everything.random() < 0.25
    if is_all:
        await stage.set_group("g", share_delivery_count_limit="2")
        habits = Habits.by_chance(everything, dawdles=0.3, dawdle_s=everything.choice((1.9, 2.0, 2.1, 3.0)))
        stage.add_consumers(everything.randint(2, 4), habits=habits)
    else:
        stage.add_consumers(chance.randint(2, 4))
    world.slowest_sync_s = 5.0 if is_late else chance.choice((0.01, 0.3))
    if is_all:
        world.slowest_sync_s = everything.choice((0.3, 2.0, 5.0))

    def share_state(broker: Broker) -> None:
        _read_anew(broker.share_coordinator._owners.made())

    def groups(broker: Broker) -> None:
        _read_anew(broker.groups._owners.made())

    def share_partitions(broker: Broker) -> None:
        stage.leases_are_void()
        broker.shares.forget(GroupId("g"))

    for _ in range(chance.randint(3, 12)):
        await world.sleep(0.05, 8.0 if is_late else 1.5)
        others = (groups, share_partitions)
        await world.in_broker(chance.choice(others if is_late and not is_all else (share_state, *others)))
        if chance.random() < 0.1:
            await world.restart()
    await stage.finish()


def _read_anew(owners: list[Any]) -> None:
    for owner in owners:
        if not owner.is_loading:
            owner._abandon(MOVED)
            owner.load()
