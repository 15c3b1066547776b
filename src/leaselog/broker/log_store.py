"""Every partition of this node: opened at start, made and removed while running, synced and closed at the end.

Owned by the event loop. Syncs run in the flusher's threads; retention and checkpoints run here, a step at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from leaselog.broker.config import TopicConfig
from leaselog.broker.data_dir import DataDirectory
from leaselog.broker.flusher import Flusher
from leaselog.broker.log_checkpoints import LogCheckpoints
from leaselog.broker.log_work import LogWork
from leaselog.broker.partition import Partition
from leaselog.broker.structured_log import StructuredLog
from leaselog.log import (
    DeleteWork,
    LogConfig,
    OpenSegments,
    PartitionLog,
    deleted_directory_name,
    directory_name,
    is_deleted_directory,
    parse_directory_name,
    remove_tree,
)
from leaselog.model import TopicId, TopicIdPartition, TopicPartition
from leaselog.wire.errors import DecodeError

__all__ = ["LogStore", "TopicLogs"]

log = StructuredLog("logs")


@dataclass(slots=True)
class TopicLogs:
    """One topic's partitions on this node."""

    name: str
    id: TopicId
    config: TopicConfig
    partitions: dict[int, Partition] = field(default_factory=dict)


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
        self._topics: dict[str, TopicLogs] = {}
        #: directories of deleted partitions, and when their files may go
        self._doomed: list[tuple[int, str]] = []
        #: segments taken out of logs, whose files go later
        self._retired: list[DeleteWork] = []
        self._open_segments = OpenSegments()
        self._clean = False
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
        self._clean = self.directory.take_clean_marker()
        self._checkpoints.read()
        if not self._clean and any(
            map(parse_directory_name, self.directory.files.names(self.directory.path))
        ):
            log.info("recovering after an unclean stop", data_dir=self.directory.path)
        for name in self.directory.files.names(self.directory.path):
            if is_deleted_directory(name):
                self._doomed.append((0, f"{self.directory.path}/{name}"))

    def close(self) -> None:
        """Closes every log, all of it synced, and leaves word of a clean stop unless a disk failed."""
        failed = [p for p in self.partitions() if p.log.failure is not None]
        for partition in self.partitions():
            if partition.log.failure is None:
                partition.log.close()
        self.checkpoint()
        if not failed:
            self.directory.leave_clean_marker()

    # -- topics ---------------------------------------------------------------------------------------------

    def open_topic(self, name: str, topic_id: TopicId, count: int, config: TopicConfig) -> None:
        """Opens the partitions 0 to ``count`` of a topic; one that has no directory gets it with its first record.

        Raises OSError, UnusableLog.
        """
        logs = self._topics.get(name)
        if logs is None:
            logs = self._topics[name] = TopicLogs(name, topic_id, config)
        log_config = self._log_config(logs.config)
        for index in range(len(logs.partitions), count):
            logs.partitions[index] = self._open(logs, index, log_config)

    def delete_topic(self, name: str) -> None:
        """Takes the topic away at once; its files are renamed now and removed after `file.delete.delay.ms`."""
        logs = self._topics.pop(name, None)
        if logs is None:
            return
        for partition in logs.partitions.values():
            self._gone.add(partition.key)
            self._flusher.forget(partition)
            partition.deleted()
            partition.log.abandon()
            if not self.directory.files.exists(self._path(partition.name)):
                continue  # it never had a record
            doomed = self._doomed_path(partition.name)
            self.directory.files.rename(self._path(partition.name), doomed)
            self._doomed.append((self._now_ms() + logs.config.file_delete_delay_ms, doomed))
        self.directory.files.sync_directory(self.directory.path)

    def update_config(self, name: str, config: TopicConfig) -> None:
        logs = self._topics.get(name)
        if logs is None:
            return
        logs.config, log_config = config, self._log_config(config)
        for partition in logs.partitions.values():
            partition.log.update_config(log_config)

    def remove_strays(self, wanted: Iterable[str]) -> None:
        """Renames away directories of topics that the cluster no longer knows: deleted just before a crash."""
        known, has_strays = set(wanted), False
        for name in self.directory.files.names(self.directory.path):
            partition = parse_directory_name(name)
            if partition is not None and partition.topic not in known:
                doomed, has_strays = self._doomed_path(partition), True
                log.warning("removing a partition of an unknown topic", partition=partition)
                self.directory.files.rename(f"{self.directory.path}/{name}", doomed)
                self._doomed.append((self._now_ms(), doomed))
        if has_strays:
            # Else a power cut might bring one back under the name of a topic that was made since.
            self.directory.files.sync_directory(self.directory.path)

    def _open(self, logs: TopicLogs, index: int, log_config: LogConfig) -> Partition:
        name, key = TopicPartition(logs.name, index), TopicIdPartition(logs.id, index)
        partition_log = PartitionLog.open(
            self.directory.files,
            self._path(name),
            logs.id,
            log_config,
            now_ms=self._now_ms(),
            clean=self._clean,
            recovery_point=self._checkpoints.recovery_point(key),
            start_offset=self._checkpoints.start_offset(key),
            opened=self._open_segments,
        )
        if partition_log.cut_bytes:
            log.warning(
                "cut off what was not whole",
                partition=name,
                cut_bytes=partition_log.cut_bytes,
                end=partition_log.end_offset,
            )
        self._checkpoints.tell(partition_log, name, key)
        return Partition(
            name,
            logs.id,
            partition_log,
            mark_dirty=self._flusher.mark_dirty,
            wake=self._wake,
            work=self._work,
        )

    def _path(self, name: TopicPartition) -> str:
        return f"{self.directory.path}/{directory_name(name)}"

    def _doomed_path(self, name: TopicPartition) -> str:
        return f"{self.directory.path}/{deleted_directory_name(name, self.directory.new_uuid())}"

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
        try:
            self.remove_doomed()
            if with_retention:
                await self.apply_retention()
            self.checkpoint()
        except OSError as failure:
            log.error("upkeep failed, to be tried again", why=failure)

    async def apply_retention(self) -> None:
        for partition in list(self.partitions()):
            if partition.is_deleted or partition.log.failure is not None:
                continue
            try:
                work = await self._retain(partition)
            except DecodeError as damage:  # the others still want theirs, and this one another time
                log.error(
                    "retention left out, the files do not make sense", partition=partition.name, why=damage
                )
                continue
            self.retire(work)
            if work is not None:
                partition.begins_later()
                log.info("old segments removed", partition=partition.name, start=partition.log.start_offset)
            await asyncio.sleep(0)

    async def _retain(self, partition: Partition) -> DeleteWork | None:
        if self.may_cut is None:
            return partition.log.apply_retention(self._now_ms())
        upto = partition.log.retention_end(self._now_ms())
        if upto is None or not await self.may_cut(partition, upto) or partition.is_deleted:
            return None
        return partition.log.apply_retention(self._now_ms(), upto=upto)

    async def make_way(self, partition: Partition, before: int) -> bool:
        """To be asked before a log begins at ``before``. False: not now, something in there is still needed."""
        return self.may_cut is None or await self.may_cut(partition, before)

    def retire(self, work: DeleteWork | None) -> None:
        """Remembers files that a log has no use for any more, to remove them when their time has come."""
        if work is not None:
            self._retired.append(work)

    async def expire_producers(self, check_s: float) -> None:
        """Forgets producers silent for `producer.id.expiration.ms`, every ``check_s``, until cancelled."""
        while True:
            await asyncio.sleep(check_s)
            for partition in self.partitions():
                partition.log.expire_producers(self._now_ms())

    def remove_doomed(self) -> None:
        """Deletes the files whose time has come."""
        now_ms, files = self._now_ms(), self.directory.files
        for _, path in [d for d in self._doomed if d[0] <= now_ms]:
            remove_tree(files, path)
        for path in [path for work in self._retired if work.due_ms <= now_ms for path in work.paths]:
            if files.exists(path):  # its partition may be gone by now, and the file with it
                files.remove(path)
        self._doomed = [d for d in self._doomed if d[0] > now_ms]
        self._retired = [work for work in self._retired if work.due_ms > now_ms]

    def checkpoint(self) -> None:
        """Writes down how far each log is safe and where it starts."""
        self._checkpoints.keep_recovery_points(self.partitions())
        self.checkpoint_starts()

    def checkpoint_starts(self) -> None:
        """Writes down where each log starts. Records deleted on request stay deleted from here on."""
        self._checkpoints.keep_starts(self.partitions())

    def checkpoint_cleaned(self) -> None:
        """Writes down how far each compacted log is clean."""
        self._checkpoints.keep_cleaned(self.partitions())

    def adopt(self) -> None:
        """All topics are open: what an earlier version kept by their names is kept by their ids from now on."""
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
