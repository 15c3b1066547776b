"""Two groups, and a draw from everything that the other scenarios have: what is safe alone may not be in company."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from leaselog.model import ErrorCode, Refused
from leaselog.testing import sim_stage
from leaselog.testing.sim_stage import Stage
from leaselog.testing.sim_world import HOST, World

__all__ = ["play", "settings", "stage"]

MOVED = Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)


def settings(chance: Random) -> dict[str, str]:
    return {
        **sim_stage.settings(chance),
        "share.coordinator.write.timeout.ms": chance.choice(("300", "5000")),
        "connections.max.idle.ms": chance.choice(("10000", "600000")),
        "group.share.max.size": "8",
        "group.share.max.share.sessions": chance.choice(("8", "2000")),
        "log.cleaner.backoff.ms": chance.choice(("100", "15000")),
    }


def stage(world: World) -> Stage:
    return Stage(world, groups=("g", "h"))


async def play(stage: Stage) -> None:
    world, chance = stage.world, stage.world.chance
    await stage.open(**chance.choice(({}, {"segment_ms": "500"})))
    stage.add_producers(chance.randint(1, 2), chance.randint(20, 50))
    for _ in range(chance.randint(2, 5)):
        stage.add_consumers(1, group=chance.choice(stage.groups))
    for _ in range(chance.randint(3, 12)):
        await world.sleep(0.0, 1.5)
        await chance.choice(EVENTS)(stage)
    await stage.finish()


async def _restart(stage: Stage) -> None:
    await stage.world.restart(gently=0.2)


async def _pause(stage: Stage) -> None:
    """As a machine that swaps, or a long collection: longer than leases and sessions, at times."""
    world, process = stage.world, stage.world.process
    assert process is not None
    process.is_paused = True
    await world.sleep(0.1, world.chance.choice((1.0, 8.0)))
    world.loop.resume(process)


async def _pause_consumer(stage: Stage) -> None:
    world, process = stage.world, stage.world.chance.choice(stage.consumers).process
    process.is_paused = True
    await world.sleep(0.1, world.chance.choice((1.0, 8.0)))
    world.loop.resume(process)


async def _kill_consumer(stage: Stage) -> None:
    consumer = stage.world.chance.choice(stage.consumers)
    if not consumer.is_done:
        consumer.kill()
    consumer.start_again()


async def _cut(stage: Stage) -> None:
    world = stage.world
    if ends := world.net.connections():
        world.net.cut(world.chance.choice(ends), half=world.chance.random() < 0.5)


async def _block(stage: Stage) -> None:
    world = stage.world
    world.net.block(world.chance.choice([c.name for c in (*stage.consumers, *stage.producers)]), HOST)


async def _heal(stage: Stage) -> None:
    stage.world.net.heal()


async def _slow_disk(stage: Stage) -> None:
    stage.world.slowest_sync_s = stage.world.chance.choice((0.01, 0.5, 3.0))


async def _slow_lines(stage: Stage) -> None:
    net = stage.world.net
    net.latency_s = stage.world.chance.choice(((0.0002, 0.002), (0.001, 1.0)))
    net.loss = stage.world.chance.choice((0.0, 0.05))


async def _set_clock(stage: Stage) -> None:
    stage.world.clock_is_off_ms += stage.world.chance.choice((-3_600_000, 5_000, 3_600_000))


async def _begin_owners_anew(stage: Stage) -> None:
    world, group = stage.world, stage.world.chance.choice(stage.groups)
    if not world.is_up:
        return
    stage.leases_are_void()
    broker = world.broker
    assert broker is not None
    owners: list[Any] = [*broker.share_coordinator._owners.made(), *broker.groups._owners.made()]
    await world.in_broker(lambda broker: broker.shares.forget(group))  # type: ignore[arg-type]
    await world.in_broker(lambda _: _read_anew(world.chance.choice(owners)) if owners else None)


def _read_anew(owner: Any) -> None:
    if not owner.is_loading:
        owner._abandon(MOVED)
        owner.load()


EVENTS: tuple[Callable[[Stage], Awaitable[None]], ...] = (
    _restart,
    _restart,
    _pause,
    _pause_consumer,
    _kill_consumer,
    _cut,
    _cut,
    _block,
    _heal,
    _slow_disk,
    _slow_lines,
    _set_clock,
    _begin_owners_anew,
)
