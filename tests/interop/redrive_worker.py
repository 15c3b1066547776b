"""A process that puts dead letters back, to be killed. Ends with 0 when nothing remains, with 3 when it was stopped."""

from __future__ import annotations

import asyncio
import sys

from leaselog.admin import RedriveStopped, redrive
from leaselog.client.cluster import Cluster

SESSION_TIMEOUT_MS = 1_000


async def main(address: str, group: str, topic: str, rate: str) -> int:
    async with Cluster(address) as cluster:
        try:
            result = await redrive(
                cluster, group, topic=topic, rate=float(rate), session_timeout_ms=SESSION_TIMEOUT_MS
            )
        except RedriveStopped as stopped:
            print(stopped, file=sys.stderr)
            return 3
    print(result)
    return 0 if result.remaining == 0 else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
