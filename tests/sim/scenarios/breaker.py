"""A group with a breaker fails at much while members come and go, its dead-letter topic fails and the broker dies."""

from __future__ import annotations

from leaselog.testing.share_history import Paused
from leaselog.testing.sim_clients import Habits
from leaselog.testing.sim_stage import Stage, settings
from leaselog.testing.sim_world import Impossible

__all__ = ["play", "settings"]


async def play(stage: Stage) -> None:
    world, chance = stage.world, stage.world.chance
    await stage.open()
    await stage.have_dead_letters("g", chance.choice((1, 2)))
    await _set_breaker(stage, chance.choice(("0.2", "0.5")), min_records=chance.randint(3, 8))
    stage.add_producers(2, chance.randint(25, 50))
    for _ in range(chance.randint(1, 3)):
        _add_failing(stage)
    await world.until(lambda: _is_paused(stage), "the breaker trips", 120)
    for _ in range(chance.randint(1, 4)):
        await _trouble(stage)
        if _is_paused(stage):
            await stage.resume("g")
        await world.sleep(0.0, 4.0)
    await _set_breaker(stage, "0", min_records=1)
    await stage.resume("g")
    await stage.finish()


async def _set_breaker(stage: Stage, ratio: str, *, min_records: int) -> None:
    wish = {"ratio": ratio, "window_ms": "60000", "min_records": str(min_records)}
    await stage.set_group("g", **{f"errors_deadletterqueue_breaker_{k}": v for k, v in wish.items()})


def _add_failing(stage: Stage) -> None:
    chance = stage.world.chance
    weights = chance.choice(((20, 10, 70), (0, 20, 80), (10, 80, 10)))
    closes = chance.choice((0.02, 0.3))
    stage.add_consumers(1, habits=Habits.by_chance(chance, is_explicit=True, weights=weights, closes=closes))


def _is_paused(stage: Stage) -> bool:
    """And written down so: nothing is leased from here on, whatever happens."""
    broker = stage.world.broker
    config = None if broker is None else broker.cluster.configuration.group("g")
    if config is None or not stage.world.is_up or not config.share_delivery_paused:
        return False
    if config.share_delivery_paused_by != "breaker":
        raise Impossible(f"paused by {config.share_delivery_paused_by!r}, nobody else did it")
    stage.histories["g"].append(Paused(stage.world.now_ns()))
    stage.seen["pauses of the breaker"] += 1
    return True


async def _trouble(stage: Stage) -> None:
    world, disk, chance = stage.world, stage.world.disk, stage.world.chance
    was_paused = _is_paused(stage)
    match chance.randrange(4):
        case 0:  # shorter than its dead letters are tried for
            world.may_exit = True
            disk.fails = lambda operation, path: "dlq." in path and operation in ("write", "sync")
            await world.sleep(0.1, 3.0)
            disk.fails = lambda operation, path: False
            world.cut_power()
            world.may_exit = False
            await world.start()
        case 1:
            await world.restart(gently=0.2)
        case 2:
            consumer = chance.choice(stage.consumers)
            consumer.kill()
            consumer.start_again()
        case _:
            _add_failing(stage)
    await world.sleep(0.0, 2.0)
    if was_paused and stage.world.is_up and not _is_paused(stage):
        raise Impossible("the breaker paused it, and it is not paused any more")
