"""A worker as a process, with every kind of failing handler: `worker_life.py ADDRESS TOPIC GROUP FILE FLAVOUR`.

A record's value is its number, and the number says how its handler fails: at its first delivery, or for good. What it
has done is a line in FILE with the number, so whoever reads it knows which side effects there were.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from leaselog.client import Reject, ShareConsumer, ShareRecord, Worker

#: of so many jobs one fails in each way
ROUND = 50
#: the lease is a second
SLOW_S = 2.0


def fail(number: int, deliveries: int) -> object:
    """What the handler of this number returns, if it does."""
    kind = number % ROUND
    if kind == 6:
        raise Reject(f"{number} is not wanted")
    if kind == 4 and deliveries == 1:
        time.sleep(SLOW_S)
    if kind == 5:
        return (ValueError, [object()], iter(()))
    if kind == 7 and deliveries <= 2:
        raise RecursionError("twice")
    if deliveries == 1:
        match kind:
            case 0:
                raise KeyError(number)
            case 1:
                raise TimeoutError
            case 2:
                raise StopIteration
            case 3:
                sys.exit(EXIT)
    return None


EXIT = 3


def is_rejected(number: int) -> bool:
    return number % ROUND == 6


def handler(path: str) -> Callable[[Any], object]:
    done = os.open(path, os.O_WRONLY | os.O_APPEND)

    def work(record: ShareRecord[bytes, bytes]) -> object:
        number = int(record.value)
        returned = fail(number, record.delivery_count)
        os.write(done, b"%d\n" % number)  # at once, so that no two lines mix
        return returned

    return work


def main(address: str, topic: str, group: str, path: str, flavour: str) -> None:
    work = handler(path)
    if flavour == "worker":
        worker = Worker(address, group=group, concurrency=8, retry_delays=(0.1, 0.2))

        @worker.handler(topic)
        def work_on(number: int, record: ShareRecord[bytes, bytes]) -> object:
            return work(record)

        worker.run()
    else:
        with ShareConsumer(address, group_id=group) as consumer:
            consumer.subscribe([topic])
            consumer.run(work, concurrency=8, retry_delays=(0.1, 0.2))


if __name__ == "__main__":
    main(*sys.argv[1:])
