"""Every partition of this node: opened at start, made and removed while running, synced and closed at the end.

Owned by the event loop. Syncs run in the flusher's threads; retention and checkpoints run here, a step at a time.

Each partition stands alone, and so does each step of upkeep: what a disk refuses of one costs the others nothing. A log
that fails, or cannot be opened, is opened anew later (see `revival`); until then it takes no writes, and is read if it
was open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from leaselog.broker.config import TopicConfig
from leaselog.broker.records.common_sync import CommonSync
from leaselog.broker.records.data_dir import DataDirectory
from leaselog.broker.records.flusher import Flusher
from leaselog.broker.records.log_checkpoints import LogCheckpoints
from leaselog.broker.records.log_work import LogWork
from leaselog.broker.records.partition import Partition
from leaselog.broker.records.partition_directories import PartitionDirectories
from leaselog.broker.records.revival import Revival
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.log import (
    DeleteWork,
    ForeignLog,
    LogConfig,
    OpenSegments,
    PartitionLog,
    ProducerLimit,
    Remains,
    SyncJob,
    UnusableLog,
)
from leaselog.model import TopicId, TopicIdPartition, TopicPartition
from leaselog.wire.errors import DecodeError

__all__ = ["LogStore", "TopicLogs"]

#: recovery points written with one round of syncs, half a millisecond or so, and what lies between two rounds
POINTS_AT_ONCE = 8
POINTS_PAUSE_S = 0.005

log = StructuredLog("logs")


@dataclass(slots=True)
class TopicLogs:
    """One topic's partitions on this node."""

    name: str
    id: TopicId
    config: TopicConfig
    #: those whose logs are open; what is missing up to ``count`` could not be opened
    partitions: dict[int, Partition] = field(default_factory=dict)
    count: int = 0


class LogStore:
    def __init__(
        self,
        directory: DataDirectory,
        flusher: Flusher,
        *,
        log_settings: Callable[[], Mapping[str, object]],
        wake: Callable[[Partition], None],
        now_ms: Callable[[], int],
        work: LogWork | None = None,
        few_syncs: int = 0,
    ) -> None:
        self.directory = directory
        self._work = LogWork() if work is None else work
        self._flusher = flusher
        #: what is the broker's to set, now: durability, producer id expiration
        self._log_settings = log_settings
        self._wake = wake
        self._now_ms = now_ms
        #: asked before a log's beginning goes; whoever keeps something of its own among the records sets it
        self.may_cut: Callable[[Partition, int], Awaitable[bool]] | None = None
        #: told of a partition that is open, or open again, after it was not
        self.on_return: Callable[[Partition], None] = lambda partition: None
        self.revival = Revival()
        self._topics: dict[str, TopicLogs] = {}
        #: of all topics there are; a directory of any other is that of one which was deleted
        self._ids: set[TopicId] = set()
        self._directories = PartitionDirectories(directory, now_ms=now_ms)
        self._open_segments = OpenSegments()
        self._producer_limit = ProducerLimit()
        #: whether the last broker stopped in good order: logs end where it ended them
        self.is_clean = False
        self._few_syncs = few_syncs
        #: from ``begin`` to ``close``
        self._common_sync: CommonSync | None = None
        #: logs are opened that nobody has had open since the last broker ended
        self._is_starting = True
        self._checkpoints = LogCheckpoints(directory)
        #: partitions that are deleted, of which the checkpoints may still say something
        self._gone: set[TopicIdPartition] = set()

    # -- what there is --------------------------------------------------------------------------------------

    def partition(self, topic: str, index: int) -> Partition | None:
        logs = self._topics.get(topic)
        return None if logs is None else logs.partitions.get(index)

    def partitions(self) -> Iterator[Partition]:
        for logs in self._topics.values():
            yield from logs.partitions.values()

    def topic(self, name: str) -> TopicLogs | None:
        return self._topics.get(name)

    # -- start and stop -------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Reads what the last broker left; partitions may be opened after this."""
        self.is_clean = self.directory.take_clean_marker()
        self._checkpoints.read()
        self._common_sync = CommonSync(self.directory.any_file(), few=self._few_syncs)
        if not self.is_clean and self._directories.found():
            log.info("recovering after an unclean stop", data_dir=self.directory.path)
            # Directories that nobody had synced are read from now on, and what is read is there for good.
            self.directory.files.sync_directory(self.directory.path)
        self._directories.doom_leftovers()

    def close(self) -> None:
        """Closes every log, all of it synced, and leaves word of a clean stop unless a disk failed."""
        is_clean = not len(self.revival)
        is_clean &= self._close_logs()
        is_clean &= self._try("checkpoint", self.checkpoint)
        if is_clean:
            self._try("clean marker", self.directory.leave_clean_marker)

    def _close_logs(self) -> bool:
        """False if one of them failed before, or fails now."""
        closing: list[tuple[Partition, SyncJob]] = []
        is_clean = True
        for partition in self.partitions():
            if partition.log.failure is not None:
                is_clean = False
                continue
            try:
                job = partition.log.begin_close()
            except OSError as failure:
                is_clean = False
                log.error("a log cannot be closed", partition=partition.name, why=failure)
                continue
            if job is None:
                partition.log.abandon()
            else:
                job.prepare()
                closing.append((partition, job))
        synced = set[str]()
        if self._common_sync is not None:
            synced = self._common_sync.try_sync([partition.log.directory for partition, _ in closing])
            self._common_sync.close()
        for partition, job in closing:
            is_clean &= _end_close(partition, job, is_synced=partition.log.directory in synced)
        return is_clean

    # -- topics ---------------------------------------------------------------------------------------------

    def open_topic(self, name: str, topic_id: TopicId, count: int, config: TopicConfig) -> None:
        """Opens the partitions 0 to ``count`` of a topic; one that has no directory gets it with its first record.

        One that cannot be opened is told of, and tried again later.
        """
        logs = self._topics.get(name)
        if logs is None:
            logs = self._topics[name] = TopicLogs(name, topic_id, config)
            self._ids.add(topic_id)
        log_config = self._log_config(logs.config)
        if self._is_starting and self._common_sync is not None:
            to_open = (TopicPartition(name, index) for index in range(logs.count, count))
            self._common_sync.foresee(self.directory.files, map(self._directories.path, to_open))
        for index in range(logs.count, count):
            logs.count = index + 1
            try:
                logs.partitions[index] = self._open(logs, index, log_config)
            except (OSError, UnusableLog) as failure:
                self._unopened(logs, index, failure)

    def delete_topic(self, name: str) -> None:
        """Takes the topic away at once; its files are renamed now and removed after `file.delete.delay.ms`.

        A disk that refuses is tried again; the topic is gone all the same, and its name is free.
        """
        logs = self._topics.pop(name, None)
        if logs is None:
            return
        self._ids.discard(logs.id)
        for partition in logs.partitions.values():
            self._flusher.forget(partition)
            partition.deleted()
            partition.log.abandon()
        names = [TopicPartition(name, index) for index in range(logs.count)]
        for key in (TopicIdPartition(logs.id, index) for index in range(logs.count)):
            self._gone.add(key)
            self._checkpoints.unopened.discard(key)
            self.revival.forget(key)
        self._directories.try_put_away(names, self._now_ms() + logs.config.file_delete_delay_ms)

    def update_config(self, name: str, config: TopicConfig) -> None:
        logs = self._topics.get(name)
        if logs is None:
            return
        logs.config, log_config = config, self._log_config(config)
        for partition in logs.partitions.values():
            partition.log.update_config(log_config)

    def remove_strays(self, wanted: Mapping[str, TopicId]) -> None:
        """Renames away directories of topics that the cluster no longer knows: deleted just before a crash."""
        self._ids = set(wanted.values())
        strays = [name for name in self._directories.found() if name.topic not in wanted]
        for name in strays:
            log.warning("removing a partition of an unknown topic", partition=name)
        self._directories.try_put_away(strays, self._now_ms())

    def _open(
        self, logs: TopicLogs, index: int, config: LogConfig, remains: Remains | None = None
    ) -> Partition:
        """Raises OSError, UnusableLog."""
        name = TopicPartition(logs.name, index)
        self._directories.make_way(name)
        try:
            opened = self._open_log(logs, name, config, remains)
        except ForeignLog as foreign:
            if foreign.topic_id in self._ids:
                raise
            log.warning("removing a partition of a deleted topic", partition=name, id=foreign.topic_id)
            self._directories.put_away(name, self._now_ms())
            self._directories.make_way(name)
            opened = self._open_log(logs, name, config, remains)
        return Partition(
            name,
            logs.id,
            opened,
            mark_dirty=self._flusher.mark_dirty,
            wake=self._wake,
            work=self._work,
            on_failure=partial(self._failed, logs),
        )

    def _open_log(
        self, logs: TopicLogs, name: TopicPartition, config: LogConfig, remains: Remains | None
    ) -> PartitionLog:
        key = TopicIdPartition(logs.id, name.partition)
        opened = PartitionLog.open(
            self.directory.files,
            self._directories.path(name),
            logs.id,
            config,
            now_ms=self._now_ms(),
            clean=self.is_clean and remains is None,
            recovery_point=self._checkpoints.recovery_point(key)
            if remains is None
            else remains.recovery_point,
            start_offset=self._checkpoints.start_offset(key) if remains is None else remains.start_offset,
            opened=self._open_segments,
            in_all=self._producer_limit,
            upto=None if remains is None else remains.upto,
            common=self._common_sync if self._is_starting else None,
        )
        if opened.cut_bytes:
            log.warning(
                "cut off the half-written end of a log",
                partition=name,
                cut_bytes=opened.cut_bytes,
                end=opened.end_offset,
            )
        if remains is None:
            self._checkpoints.tell(opened, name, key)
        else:
            opened.cleaned_to = min(remains.cleaned_to, opened.end_offset)
        return opened

    # -- when a log fails -----------------------------------------------------------------------------------

    def _failed(self, logs: TopicLogs, partition: Partition) -> None:
        index = partition.name.partition
        self.revival.failed(partition.key, partition.name, partial(self._reopen, logs, index))

    def _unopened(self, logs: TopicLogs, index: int, failure: Exception) -> None:
        name, key = TopicPartition(logs.name, index), TopicIdPartition(logs.id, index)
        log.error("a partition cannot be opened", partition=name, why=failure)
        self._checkpoints.unopened.add(key)
        self.revival.failed(key, name, partial(self._reopen, logs, index))

    def _reopen(self, logs: TopicLogs, index: int) -> bool:
        """Opens a log anew that failed, or was never open. False while a thread is at work on it.

        What the old one knows for certain is kept, and it is read until the new one is there; the partition that takes
        its place is another. Raises OSError, UnusableLog.
        """
        failed = logs.partitions.get(index)
        if failed is not None and failed.waits_for_disk:
            return False
        remains = None if failed is None else self._remains(failed)
        partition = self._open(logs, index, self._log_config(logs.config), remains)
        logs.partitions[index] = partition
        self._checkpoints.unopened.discard(partition.key)
        if failed is not None:
            self._flusher.forget(failed)
            failed.replaced()
            failed.log.abandon()
        self.on_return(partition)
        return True

    def _remains(self, failed: Partition) -> Remains:
        remains = failed.log.remains()
        if remains.end_offset and not self._directories.exists(failed.name):
            log.error(
                "the files of a partition are gone, it begins anew",
                partition=failed.name,
                start=remains.end_offset,
            )
            return remains._replace(start_offset=remains.end_offset)
        return remains

    def _log_config(self, config: TopicConfig) -> LogConfig:
        return LogConfig.of({**config.log_settings, **self._log_settings()})

    # -- upkeep ---------------------------------------------------------------------------------------------

    async def keep_house(
        self,
        retention_check_s: float,
        checkpoint_s: float,
    ) -> None:
        """Retention, removal of doomed files and checkpoints, until cancelled."""
        loop = asyncio.get_running_loop()
        next_retention = loop.time() + retention_check_s
        while True:
            await asyncio.sleep(min(checkpoint_s, retention_check_s))
            is_due = loop.time() >= next_retention
            if is_due:
                next_retention = loop.time() + retention_check_s
            await self.do_upkeep(with_retention=is_due)

    async def do_upkeep(self, *, with_retention: bool) -> None:
        """One round. A disk that refuses is told of and tried again in the next: nothing of this is urgent."""
        self.remove_doomed()
        if with_retention:
            await self.apply_retention()
        self._try("recovery points", self._checkpoint_recovery_points)
        self._try("start offsets", self.checkpoint_starts)
        await self._have_points_written()

    @staticmethod
    def _try(what: str, step: Callable[[], None]) -> bool:
        try:
            step()
        except OSError as failure:
            log.error("upkeep failed, to be tried again", what=what, why=failure)
            return False
        return True

    async def _have_points_written(self) -> None:
        """Recovery points of logs that have grown a little, so that a start has little to read of each of many.

        A few at a time: whoever waits for a sync now waits for these, too.
        """
        asked = 0
        for partition in list(self.partitions()):
            if not partition.is_gone and partition.log.ask_for_point():
                self._flusher.mark_dirty(partition)
                asked += 1
                if asked % POINTS_AT_ONCE == 0:
                    await asyncio.sleep(POINTS_PAUSE_S)
            else:
                await self._work.breathe()

    async def apply_retention(self) -> None:
        """Each partition by itself: the others still want theirs when one cannot be looked at."""
        for partition in list(self.partitions()):
            if partition.is_gone or partition.log.failure is not None:
                continue
            try:
                work = await self._retain(partition)
            except (OSError, DecodeError) as failure:
                log.error("retention left out, to be tried again", partition=partition.name, why=failure)
                continue
            partition.tell_failure()
            self.retire(work)
            if work is not None:
                partition.begins_later()
                log.info("old segments removed", partition=partition.name, start=partition.log.start_offset)
            await asyncio.sleep(0)

    async def _retain(self, partition: Partition) -> DeleteWork | None:
        if self.may_cut is None:
            return partition.log.apply_retention(self._now_ms())
        upto = partition.log.retention_end(self._now_ms())
        if upto is None or not await self.may_cut(partition, upto) or partition.is_gone:
            return None
        return partition.log.apply_retention(self._now_ms(), upto=upto)

    async def make_way(self, partition: Partition, before: int) -> bool:
        """To be asked before a log begins at ``before``. False: not now, something in there is still needed."""
        return self.may_cut is None or await self.may_cut(partition, before)

    def retire(self, work: DeleteWork | None) -> None:
        """Remembers files that a log has no use for any more, to remove them when their time has come."""
        if work is not None:
            self._directories.retire(work)

    async def expire_producers(self, check_s: float) -> None:
        """Forgets producers silent for `producer.id.expiration.ms`, every ``check_s``, until cancelled."""
        while True:
            await asyncio.sleep(check_s)
            for partition in list(self.partitions()):
                await self._work.carry(partition.log.expire_producers(self._now_ms()))

    def remove_doomed(self) -> None:
        """Deletes the files whose time has come, and renames those that a disk would not have renamed before."""
        self._directories.remove_due(self._is_open)

    def _is_open(self, name: TopicPartition) -> bool:
        """Or is to be opened."""
        logs = self._topics.get(name.topic)
        return logs is not None and name.partition < logs.count

    def checkpoint(self) -> None:
        """Writes down how far each log is safe and where it starts. Raises OSError."""
        self._checkpoint_recovery_points()
        self.checkpoint_starts()

    def _checkpoint_recovery_points(self) -> None:
        self._checkpoints.keep_recovery_points(self.partitions())

    def checkpoint_starts(self) -> None:
        """Writes down where each log starts. Records deleted on request stay deleted from here on."""
        self._checkpoints.keep_starts(self.partitions())

    def checkpoint_cleaned(self) -> None:
        """Writes down how far each compacted log is clean."""
        self._checkpoints.keep_cleaned(self.partitions())

    def adopt(self) -> None:
        """All topics are open: what an earlier version kept by their names is kept by their ids from now on."""
        self._is_starting = False
        try:
            self._checkpoints.adopt(self.partitions())
        except OSError as failure:
            log.error("checkpoints of an earlier version remain, to be read again", why=failure)

    def purge(self) -> None:
        """Lets the checkpoints forget partitions that were deleted. After an ``OSError`` it is to be tried again."""
        gone, self._gone = self._gone, set()
        try:
            self._checkpoints.purge(gone)
        except OSError:
            self._gone |= gone
            raise


def _end_close(partition: Partition, job: SyncJob, *, is_synced: bool) -> bool:
    """Makes durable what is not ``is_synced``, and lets go. False if that fails."""
    try:
        if not is_synced:
            job.sync()
    except OSError as failure:
        partition.log.sync_failed(job, failure)
        log.error("a log cannot be closed", partition=partition.name, why=failure)
        return False
    job.conclude()
    partition.log.synced(job)
    partition.log.abandon()
    return True
