"""Group commit: everything appended while one sync runs shares the next.

One round at a time takes every partition that has unsynced bytes and syncs them in a few threads, since most of an
fdatasync is waiting. Nobody waits for a timer: a round starts when something is dirty and ends when it is clean.
In `interval` mode a round starts at most every `durability.interval.ms`; in `os` mode there are none but the last,
at a clean stop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from leaselog.log import SyncJob

if TYPE_CHECKING:
    from leaselog.broker.partition import Partition

__all__ = ["Flusher"]

SYNC_THREADS = 4


class Flusher:
    def __init__(self, *, pause_s: float, observe_sync: Callable[[float], None]) -> None:
        self._pause_s = pause_s
        self._observe_sync = observe_sync
        #: an ordered set: first dirtied, first synced
        self._dirty: dict[Partition, None] = {}
        self._work = asyncio.Event()
        #: the round under way; it outlives a cancelled `run`, as its threads do
        self._current: asyncio.Future[None] | None = None
        self._threads = ThreadPoolExecutor(SYNC_THREADS, thread_name_prefix="sync")

    def mark_dirty(self, partition: Partition) -> None:
        self._dirty[partition] = None
        self._work.set()

    def forget(self, partition: Partition) -> None:
        self._dirty.pop(partition, None)

    async def run(self) -> None:
        """Syncs what gets dirty, until cancelled."""
        while True:
            await self._work.wait()
            self._work.clear()
            await self._one_round()
            if self._pause_s:
                await asyncio.sleep(self._pause_s)

    async def sync_all(self) -> None:
        """Returns when nothing appended before is unsynced; for a clean stop, with `run` cancelled."""
        if self._current is not None:
            await self._current
        while self._dirty:
            await self._one_round()

    def close(self) -> None:
        self._threads.shutdown()

    async def _one_round(self) -> None:
        """Syncs what is dirty now. Cancelling it stops the wait, not the round: what a disk says is never lost."""
        jobs = self._take_jobs()
        if jobs:
            self._current = asyncio.ensure_future(self._round(jobs))
            await asyncio.shield(self._current)

    def _take_jobs(self) -> list[tuple[Partition, SyncJob]]:
        dirty, self._dirty = self._dirty, {}
        return [
            (partition, job)
            for partition in dirty
            if not partition.is_deleted and (job := partition.log.pending_sync()) is not None
        ]

    async def _round(self, jobs: list[tuple[Partition, SyncJob]]) -> None:
        loop = asyncio.get_running_loop()
        share = max(1, -(-len(jobs) // SYNC_THREADS))
        parts = [jobs[i : i + share] for i in range(0, len(jobs), share)]
        started_s = time.perf_counter()  # the loop's own clock may be rounded to milliseconds
        done = await asyncio.gather(
            *(loop.run_in_executor(self._threads, _run_all, [job for _, job in part]) for part in parts)
        )
        self._observe_sync(time.perf_counter() - started_s)
        for part, failures in zip(parts, done, strict=True):
            for (partition, job), failure in zip(part, failures, strict=True):
                self._settle(partition, job, failure)

    @staticmethod
    def _settle(partition: Partition, job: SyncJob, failure: OSError | None) -> None:
        if failure is None:
            partition.log.synced(job)
            partition.synced()
        else:
            # What the disk lost stays lost after a failed fsync; asking again would be told a lie.
            partition.log.sync_failed(job, failure)
            partition.failed(f"sync failed: {failure}")


def _run_all(jobs: Sequence[SyncJob]) -> list[OSError | None]:
    outcomes: list[OSError | None] = []
    for job in jobs:
        try:
            job.run()
            outcomes.append(None)
        except OSError as failure:
            outcomes.append(failure)
    return outcomes
