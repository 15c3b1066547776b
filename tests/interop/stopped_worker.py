"""A worker as a process of its own, to be told to stop: `stopped_worker.py ADDRESS TOPIC GROUP FLAVOUR SECONDS`.

Says on standard output which record it begins and finishes, a line each; each takes so many seconds. It is the blocking
one or asyncio's.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

from leaselog.client import AsyncShareConsumer, ShareConsumer


def main(address: str, topic: str, group: str, flavour: str, seconds: str) -> None:
    config = {"bootstrap.servers": address, "group.id": group}

    def say(what: str, record: Any) -> None:
        print(what, record.offset, flush=True)

    def work(record: Any) -> None:
        say("begun", record)
        time.sleep(float(seconds))
        say("finished", record)

    async def work_async(record: Any) -> None:
        say("begun", record)
        await asyncio.sleep(float(seconds))
        say("finished", record)

    async def live() -> None:
        async with AsyncShareConsumer(config) as consumer:
            consumer.subscribe([topic])
            await consumer.run(work_async)

    if flavour == "asyncio":
        asyncio.run(live())
    else:
        with ShareConsumer(config) as consumer:
            consumer.subscribe([topic])
            consumer.run(work)
    print("ended", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
