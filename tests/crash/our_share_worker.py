"""A process full of leaselog's own share consumers: those of the simulation, on a real loop, lines and clock.

    our_share_worker.py ADDRESS TOPIC GROUP NAME CONSUMERS DIRECTORY SEED

One task and one file of history for each consumer; ends when its standard input does. What `share_worker.py` does with
librdkafka's; to those habits chance adds implicit acknowledgement, commits nobody waits for, and both acquire modes.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from random import Random
from typing import Any, TextIO

from crash.storm import parse
from leaselog.testing.share_history import Event, to_line
from leaselog.testing.sim_clients import Habits, SimConsumer

CLOSE_S = 40.0
#: longer than the leases of the test
DAWDLE_S = 2.3


class History:
    """What is appended is written down at once: whoever is killed has told all it knew."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def append(self, event: Event) -> None:
        self._file.write(to_line(event) + "\n")


class RealWorld:
    """As much of a world as a consumer asks for."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.impossible: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []

    def now_ns(self) -> int:
        return time.monotonic_ns()

    def spawn(self, process: object, life: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(asyncio.ensure_future(life))

    def note(self, what: str) -> None:
        """Answers and failures on the way: what matters of them is in the history."""


async def main() -> int:
    address, topic, group, name, consumers, directory, seed = sys.argv[1:]
    world, alive = RealWorld(seed), list[SimConsumer]()
    for number in range(int(consumers)):
        own = f"{name}-{number}"
        file = (Path(directory) / f"{own}.jsonl").open("w", buffering=1)
        habits = Habits.by_chance(Random(f"{seed}-{own}"), dawdle_s=DAWDLE_S, closes=0.01, dawdles=0.02)
        given: Any = (world, own, group, topic, History(file), habits)
        alive.append(SimConsumer(*given, address=address, record_of=_record))
    for consumer in alive:
        consumer.start()
    await asyncio.to_thread(sys.stdin.read)
    for consumer in alive:
        consumer.is_over = True
    done, late = await asyncio.wait(world.tasks, timeout=CLOSE_S)
    for task in done:
        task.result()
    if late or world.impossible:
        print(f"{name}: {len(late)} have not closed in {CLOSE_S} s; {world.impossible}", file=sys.stderr)
        return 1
    return 0


def _record(value: bytes) -> str:
    number, partition, sequence = parse(value)
    return f"{number}/{partition}/{sequence}"


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
