"""Group commit: everything appended while one sync runs shares the next.

One round at a time takes every partition that has unsynced bytes and has them synced in a few parts, side by side.
Nobody waits for a timer: a round starts when something is dirty and ends when it is clean. In `interval` mode a round
starts at most every `durability.interval.ms`; in `os` mode there are none but the last, at a clean stop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from leaselog.broker.runtime.sync_threads import SyncThreads
from leaselog.log import SyncJob

if TYPE_CHECKING:
    from leaselog.broker.records.partition import Partition
    from leaselog.broker.runtime.machine import Syncs

__all__ = ["Flusher"]

PARTS = 4

_Jobs: TypeAlias = Sequence[tuple["Partition", SyncJob]]


@dataclass(slots=True)
class _Round:
    """Some partitions on their way to the disk, in parts."""

    parts_left: int
    started_s: float
    over: asyncio.Future[None]


class Flusher:
    def __init__(
        self, *, pause_s: float, observe_sync: Callable[[float], None], syncs: Syncs | None = None
    ) -> None:
        self._pause_s = pause_s
        self._observe_sync = observe_sync
        #: an ordered set: first dirtied, first synced
        self._dirty: dict[Partition, None] = {}
        #: what begins the next round, when one is due
        self._next: asyncio.Handle | None = None
        #: the round under way; it outlives a cancelled `run`, as its threads do
        self._current: _Round | None = None
        #: while rounds begin by themselves; a bug in one of them ends it
        self._running: asyncio.Future[None] | None = None
        self._syncs = SyncThreads() if syncs is None else syncs

    def mark_dirty(self, partition: Partition) -> None:
        """It is synced after this turn of the loop, with all that is dirty by then, or in the round after this one."""
        self._dirty[partition] = None
        if self._next is None and self._current is None and self._running is not None:
            self._next = self._running.get_loop().call_soon(self._begin)

    def forget(self, partition: Partition) -> None:
        self._dirty.pop(partition, None)

    async def run(self) -> None:
        """Syncs what gets dirty, until cancelled. Cancelling it stops no round: what a disk says is never lost."""
        self._running = asyncio.get_running_loop().create_future()
        if self._dirty and self._current is None:
            self._begin()
        try:
            await self._running
        finally:
            self._running = None
            if self._next is not None:
                self._next.cancel()
                self._next = None

    async def sync_all(self) -> None:
        """Returns when nothing appended before is unsynced; for a clean stop, with `run` cancelled."""
        while True:
            if self._current is None:
                self._begin()
            if self._current is None:
                return
            await self._current.over

    def close(self) -> None:
        self._syncs.close()

    def _begin(self) -> None:
        """Has what is dirty now synced."""
        self._next = None
        jobs = self._take_jobs()
        if not jobs:
            return
        over = asyncio.get_running_loop().create_future()
        share = -(-len(jobs) // PARTS)
        parts: list[_Jobs] = [jobs[i : i + share] for i in range(0, len(jobs), share)]
        # the loop's own clock may be rounded to milliseconds
        self._current = _Round(len(parts), time.perf_counter(), over)
        for part in parts:
            self._syncs.run([job for _, job in part], partial(self._part_done, self._current, part))

    def _take_jobs(self) -> list[tuple[Partition, SyncJob]]:
        dirty, self._dirty = self._dirty, {}
        return [
            (partition, job)
            for partition in dirty
            if not partition.is_deleted and (job := partition.log.pending_sync()) is not None
        ]

    def _part_done(self, round_: _Round, part: _Jobs, failures: list[OSError | None]) -> None:
        round_.parts_left -= 1
        try:
            for (partition, job), failure in zip(part, failures, strict=True):
                self._settle(partition, job, failure)
        except Exception as bug:
            if self._running is not None and not self._running.done():
                self._running.set_exception(bug)
            raise
        finally:
            if not round_.parts_left:
                self._over(round_)

    def _over(self, round_: _Round) -> None:
        self._observe_sync(time.perf_counter() - round_.started_s)
        self._current = None
        round_.over.set_result(None)
        if self._running is None or self._running.done():
            return
        if self._pause_s:
            self._next = self._running.get_loop().call_later(self._pause_s, self._begin)
        elif self._dirty:
            self._begin()

    @staticmethod
    def _settle(partition: Partition, job: SyncJob, failure: OSError | None) -> None:
        if failure is None:
            partition.log.synced(job)
            partition.synced()
        else:
            # What the disk lost stays lost after a failed fsync; asking again would be told a lie.
            partition.log.sync_failed(job, failure)
            partition.failed(f"sync failed: {failure}")
