"""Compacts topics whose policy asks for it: one job at a time, its reading and writing in a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from leaselog.broker.records.log_store import LogStore
from leaselog.broker.records.partition import Partition
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.log import CleaningJob
from leaselog.wire.errors import DecodeError

__all__ = ["Cleaner"]

log = StructuredLog("cleaner")


class Cleaner:
    """Started only where `log.cleaner.enable` is true."""

    def __init__(self, logs: LogStore, *, backoff_ms: Callable[[], int], now_ms: Callable[[], int]) -> None:
        self._logs = logs
        self._backoff_ms = backoff_ms
        self._now_ms = now_ms
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="cleaner")

    async def run(self) -> None:
        """Cleans what is worth it, rests for `log.cleaner.backoff.ms` when nothing is; until cancelled."""
        while True:
            if not await self.clean_all():
                await asyncio.sleep(self._backoff_ms() / 1000)

    async def clean_all(self) -> int:
        """Cleans every partition that is dirty enough; how many there were."""
        cleaned = 0
        for partition in list(self._logs.partitions()):
            job = None if partition.is_gone else self._plan(partition)
            if job is not None:
                cleaned += await self._clean(partition, job)
        if cleaned:
            try:
                self._logs.checkpoint_cleaned()
            except OSError as failure:
                # Without it the next start looks at clean records once more, and that is all.
                log.error("how far logs are cleaned cannot be written down", why=failure)
        return cleaned

    def _plan(self, partition: Partition) -> CleaningJob | None:
        try:
            return partition.log.plan_cleaning(self._now_ms())
        except (
            OSError,
            DecodeError,
        ) as failure:  # the others are cleaned all the same, and this one another time
            log.error("a log cannot be looked at for cleaning", partition=partition.name, why=failure)
            return None

    def close(self) -> None:
        self._thread.shutdown()

    async def _clean(self, partition: Partition, job: CleaningJob) -> bool:
        work = asyncio.get_running_loop().run_in_executor(self._thread, job.run)
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            # The broker stops. What the job wrote is swept at the next start.
            raise
        except (OSError, DecodeError) as failure:
            log.error("cleaning failed, the log stays as it was", partition=partition.name, why=failure)
            partition.log.drop_cleaning(job)
            return False
        if partition.is_gone or partition.log.failure is not None:
            partition.log.drop_cleaning(job)
            return False
        self._logs.retire(partition.log.install(job, self._now_ms()))
        partition.tell_failure()
        log.info(
            "cleaned",
            partition=partition.name,
            read_bytes=job.bytes_read,
            written_bytes=job.bytes_written,
            clean_to=job.cleaned_to,
        )
        return True
