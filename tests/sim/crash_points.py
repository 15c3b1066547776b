"""One small day of a broker, and what becomes of it if the machine dies at any one of its file operations.

python tests/sim/crash_points.py                     every one of them, of the first day
python tests/sim/crash_points.py --seeds 0-3         of each of these days, which differ in what chance chooses
python tests/sim/crash_points.py OPERATION --seeds 2 that one, with its story if it fails
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from leaselog.model import TopicPartition
from leaselog.testing.sim_checks import what_is_kept
from leaselog.testing.sim_clients import Habits
from leaselog.testing.sim_stage import Stage, settings
from leaselog.testing.sim_world import HOST, World
from sim.play import Failed
from sim.remaking import Remade

__all__ = ["FIRST", "count_operations", "die_at"]

#: the disk is the test's until here: making the data directory
FIRST = 3

#: the broker's own day, apart from what chance chooses: snapshots and pruning often
SETTINGS = {
    "share.coordinator.snapshot.update.records.per.snapshot": "3",
    "share.coordinator.state.topic.prune.interval.ms": "1000",
    "share.coordinator.cold.partition.snapshot.interval.ms": "2000",
    "log.retention.check.interval.ms": "1000",
}
HABITS = Habits(dawdles=0.0, closes=0.0, commits=(100, 0, 0), max_poll_records=3)


def _world(seed: int) -> World:
    world = World(f"crash-points-{seed}", {}, shuffles=False)
    world.settings = {**settings(world.chance), **SETTINGS}
    return world


async def _day(stage: Stage) -> None:
    """Topics, groups, records, acknowledgements, retention, DeleteRecords, a topic that is deleted and made again under
    its name, a stop in good order and another start."""
    world = stage.world
    stage.partitions = 2
    await stage.open(segment_ms="1000", file_delete_delay_ms="500")
    stage.add_producers(1, 12, pause_s=0.2)
    stage.add_consumers(1, habits=HABITS)
    await world.sleep(2.5)
    await world.until(lambda: world.is_up and all(p.is_done for p in stage.producers), "all is produced", 60)
    before = {TopicPartition(stage.topic, i): min(2 - i, _end(stage, i)) for i in range(stage.partitions)}
    await stage.administer(lambda admin: admin.delete_records(before))
    remade = Remade(stage)
    await remade.make()
    await remade.give(3)
    await remade.cut(1.0)
    await remade.delete()
    await remade.make()
    await remade.give(2)
    if world.lives == 1 and world.is_up and await world.stop():
        await world.start()
    # It may have died meanwhile, and is brought back by `_revive`, in two starts.
    await world.until(lambda: world.is_up and world.lives > 1, "the broker is back", 60)
    await world.until(lambda: not stage.world.net.is_blocked, "the lines are back", 60)
    stage.add_producers(1, 6, pause_s=0.1)
    await stage.finish()
    await remade.compare()


def _end(stage: Stage, index: int) -> int:
    partition = None if stage.world.broker is None else stage.world.broker.logs.partition(stage.topic, index)
    assert partition is not None
    return partition.log.high_watermark


async def _revive(stage: Stage) -> None:
    """Starts the broker again when its machine has died, twice: what it reads back is the same both times."""
    world = stage.world
    while True:
        await asyncio.sleep(0.05)
        if world.process is None or world.process.is_alive or HOST not in world.net.dark:
            continue
        world.cut_power()
        clients = [client.name for client in (*stage.producers, *stage.consumers)]
        for name in (*clients, "admin"):
            world.net.block(name, HOST)
        once = what_is_kept(await world.start())
        world.kill()
        twice = what_is_kept(await world.start())
        for what in once.keys() | twice.keys():
            if once.get(what) != twice.get(what):
                world.impossible.append(f"{what} was {once.get(what)}, and then {twice.get(what)}")
        world.net.heal()


def count_operations(seed: int = 0) -> int:
    """How many there are if nobody dies."""
    world = _world(seed)

    async def story() -> int:
        await _day(Stage(world))
        return world.disk.operations

    return world.run(story)


def die_at(operation: int, seed: int = 0) -> bool:
    """Whether it came to that operation at all. Raises ``Failed`` if it was not survived."""
    world = _world(seed)
    world.disk.cut_at = operation

    async def story() -> bool:
        stage = Stage(world)
        reviving = asyncio.ensure_future(_revive(stage))
        await _day(stage)
        reviving.cancel()
        if reviving.done() and not reviving.cancelled():
            reviving.result()
        return world.lives > 2

    try:
        return world.run(story)
    except Exception as failed:
        lines = "\n".join(world.lines)
        again = f"python tests/sim/crash_points.py {operation} --seeds {seed}"
        raise Failed(f"{lines}\n{type(failed).__name__}: {failed}\nplay it again: {again}") from failed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("operation", type=int, nargs="?")
    parser.add_argument("--seeds", default="0", help="one, or FIRST-LAST")
    args = parser.parse_args()
    first, dash, last = args.seeds.partition("-")
    failures = 0
    for seed in range(int(first), int(last if dash else first) + 1):
        count = count_operations(seed)
        points = range(FIRST, count + 1) if args.operation is None else [args.operation]
        died = 0
        for operation in points:
            try:
                died += die_at(operation, seed)
            except Failed as failed:
                failures += 1
                print(str(failed) if len(points) == 1 else str(failed)[-1500:], flush=True)
        print(f"seed {seed}: {count} operations, died at {died}, {failures} not survived so far", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
