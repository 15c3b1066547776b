"""Where the cluster's facts are kept: the partition log `__cluster_metadata-0`, in Apache Kafka's record format.

A commit is one batch, so all of it is there after a crash or none, and it is synced before anybody hears of it,
whatever `durability` says: it is rare, and the promise that a topic exists should outlive the power. When the log
holds ten times the records the state needs, a snapshot takes their place; what it covers is then let go.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from uuid import UUID

from leaselog.broker.cluster.records import decode_cluster_record, encode_cluster_record
from leaselog.broker.cluster.snapshot import find_snapshot, read_snapshot, remove_older, write_snapshot
from leaselog.coordination.cluster_names import CLUSTER_METADATA_TOPIC
from leaselog.coordination.cluster_records import ClusterRecord
from leaselog.log import Appended, Files, LogConfig, Origin, PartitionLog, UnusableLog, parse_directory_name
from leaselog.model import Refused, TopicId
from leaselog.wire.errors import DecodeError
from leaselog.wire.record_batch import iterate_headers
from leaselog.wire.records import Record, build_batch, read_records

__all__ = ["METADATA_TOPIC_ID", "ClusterLog"]

#: Kafka's own for this topic
METADATA_TOPIC_ID = TopicId(UUID(int=1))
#: there has only ever been one leader
EPOCH = 1
SNAPSHOT_FACTOR = 10
#: below so many records nobody minds reading them again
SNAPSHOT_MIN_RECORDS = 10_000
READ_BYTES = 1 << 20
CONFIG = LogConfig(
    retention_ms=-1,
    segment_bytes=16 << 20,
    segment_ms=2**62,
    file_delete_delay_ms=0,
    # One commit is one batch, and what it may hold is bounded where it is decided.
    max_message_bytes=2**31 - 1,
)


class ClusterLog:
    """One owner, `broker.cluster.cluster`, which lets only one commit be under way."""

    def __init__(self, files: Files, data_dir: str, directory_id: UUID, *, now_ms: Callable[[], int]) -> None:
        self._files = files
        self._data_dir = data_dir
        self._directory = f"{data_dir}/{CLUSTER_METADATA_TOPIC}-0"
        self._directory_id = directory_id
        self._now_ms = now_ms
        self._snapshot_end = 0
        self._log: PartitionLog | None = None

    @property
    def end_offset(self) -> int:
        """Counts the commits' records since the cluster began."""
        return self._opened().end_offset

    def open(self) -> Iterator[ClusterRecord]:
        """Every record that is to be replayed. Raises ``OSError`` and ``UnusableLog``."""
        # The directory is left to the log to make, which syncs only what it made itself.
        is_new = not self._files.exists(self._directory)
        snapshot_end = None if is_new else find_snapshot(self._files, self._directory)
        self._snapshot_end = snapshot_end or 0
        if is_new:
            self._refuse_orphans()
        log = self._log = self._open_log(self._snapshot_end)
        if log.end_offset < self._snapshot_end or log.start_offset > self._snapshot_end:
            raise UnusableLog(
                f"{self._directory} holds [{log.start_offset}, {log.end_offset}) behind a snapshot of the first "
                f"{self._snapshot_end} records"
            )
        if snapshot_end is not None:
            for value in read_snapshot(self._files, self._directory, snapshot_end, EPOCH):
                yield self._decode(value)
            # Either may be left from a crash between the snapshot and what follows it.
            remove_older(self._files, self._directory, snapshot_end)
            self._forget_before(snapshot_end)
        yield from self._read(log)

    def _open_log(
        self, start_offset: int, *, recovery_point: int = 0, upto: int | None = None
    ) -> PartitionLog:
        log = PartitionLog.open(
            self._files,
            self._directory,
            METADATA_TOPIC_ID,
            CONFIG,
            now_ms=self._now_ms(),
            clean=False,
            recovery_point=recovery_point,
            start_offset=start_offset,
            upto=upto,
        )
        log.flush()
        return log

    def _refuse_orphans(self) -> None:
        """Partitions without a cluster that knows them would be taken for those of deleted topics, and removed."""
        orphans = [
            name for name in self._files.names(self._data_dir) if parse_directory_name(name) is not None
        ]
        if orphans:
            raise UnusableLog(
                f"{self._directory} is not there, but {len(orphans)} partitions are ({orphans[0]} is one): "
                "bring it back, or move them away"
            )

    async def append(self, records: Sequence[ClusterRecord]) -> None:
        """Durable when this returns. After an ``OSError`` nothing more can be appended until ``reopen``."""
        log, now_ms = self._opened(), self._now_ms()
        values = [encode_cluster_record(record, self._directory_id) for record in records]
        batch = build_batch([Record(None, value, timestamp_ms=now_ms) for value in values])
        outcome = log.append(batch, leader_epoch=EPOCH, now_ms=now_ms, origin=Origin.COORDINATOR)
        if not isinstance(outcome, Appended):
            raise OSError(f"cluster log: {outcome.message}")
        await asyncio.to_thread(log.flush)

    def reopen(self) -> bool:
        """After a failure: takes changes again. Raises ``OSError``, ``UnusableLog`` if it still fails.

        What was not known to be safe is cut away: whoever asked for it was refused, and nobody has acted on it.
        """
        failed = self._opened()
        if failed.failure is None:
            return True
        remains = failed.remains()
        log = self._open_log(remains.start_offset, recovery_point=remains.recovery_point, upto=remains.upto)
        if log.end_offset != remains.recovery_point:
            raise UnusableLog(
                f"{self._directory} ends at {log.end_offset}, expected {remains.recovery_point}"
            )
        failed.abandon()
        self._log = log
        return True

    def wants_snapshot(self, live_records: int) -> bool:
        """Whether the log has outgrown a state of ``live_records`` records."""
        held = self.end_offset - self._snapshot_end
        return held > max(SNAPSHOT_MIN_RECORDS, SNAPSHOT_FACTOR * live_records)

    async def snapshot(self, state: Iterable[ClusterRecord]) -> None:
        """Puts ``state``, which nobody may change meanwhile, in the place of the log so far."""
        await asyncio.to_thread(self._snapshot, state)

    def close(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None

    def _snapshot(self, state: Iterable[ClusterRecord]) -> None:
        log, now_ms = self._opened(), self._now_ms()
        end_offset = log.end_offset
        values = (encode_cluster_record(record, self._directory_id) for record in state)
        write_snapshot(self._files, self._directory, end_offset, EPOCH, values, now_ms=now_ms)
        self._snapshot_end = end_offset
        log.roll(now_ms)
        log.flush()
        self._forget_before(end_offset)
        remove_older(self._files, self._directory, end_offset)

    def _forget_before(self, offset: int) -> None:
        log = self._opened()
        refused = log.delete_records(offset)
        if isinstance(refused, Refused):
            raise OSError(f"cluster log: {refused.message}")
        work = log.apply_retention(self._now_ms())
        for path in work.paths if work is not None else ():
            self._files.remove(path)

    def _read(self, log: PartitionLog) -> Iterator[ClusterRecord]:
        offset = log.start_offset
        while offset < log.end_offset:
            data = log.read(offset, READ_BYTES, log.end_offset)
            if isinstance(data, Refused):
                raise UnusableLog(f"{self._directory} at offset {offset}: {data.message}")
            try:
                for position, header in iterate_headers(data):
                    for record in () if header.is_control else read_records(data, header, position):
                        if record.offset >= offset:
                            yield self._decode(record.value or b"")
                    offset = header.end_offset
            except DecodeError as error:
                raise UnusableLog(f"{self._directory} at offset {offset}: {error}") from error

    def _decode(self, value: bytes) -> ClusterRecord:
        try:
            return decode_cluster_record(value)
        except DecodeError as error:
            raise UnusableLog(f"{self._directory}: {error}") from error

    def _opened(self) -> PartitionLog:
        assert self._log is not None, "the cluster log is used before it is open, or after it was closed"
        return self._log
