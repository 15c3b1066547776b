"""A few threads that wait for the disk: most of an fdatasync is waiting.

What lies between a write and its sync is bare: a queue to the threads and one call back to the loop, instead of an
executor, its futures and the turns that they take.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import TypeAlias

from leaselog.log import SyncJob

__all__ = ["Outcomes", "SyncThreads", "run_jobs"]

#: of each job in its order: why it failed, or None
Outcomes: TypeAlias = list[OSError | None]
_Work: TypeAlias = tuple[Sequence[SyncJob], asyncio.AbstractEventLoop, Callable[[Outcomes], None]]


class SyncThreads:
    """As many threads as were ever busy at once; who asks for more at once than is good gets them."""

    def __init__(self) -> None:
        self._work: SimpleQueue[_Work | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._busy = 0

    def run(self, jobs: Sequence[SyncJob], done: Callable[[Outcomes], None]) -> None:
        """Runs the jobs one after the other, then ``done`` on the loop."""

        def back(outcomes: Outcomes) -> None:
            self._busy -= 1
            done(outcomes)

        self._busy += 1
        if self._busy > len(self._threads):
            thread = threading.Thread(target=self._live, name="sync", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._work.put((jobs, asyncio.get_running_loop(), back))

    def close(self) -> None:
        """Returns when nothing runs any more."""
        for _ in self._threads:
            self._work.put(None)
        for thread in self._threads:
            thread.join()

    def _live(self) -> None:
        while (work := self._work.get()) is not None:
            jobs, loop, back = work
            loop.call_soon_threadsafe(back, run_jobs(jobs))


def run_jobs(jobs: Sequence[SyncJob]) -> Outcomes:
    return [_run(job) for job in jobs]


def _run(job: SyncJob) -> OSError | None:
    try:
        job.run()
    except OSError as failure:
        return failure
    return None
