"""The data directory as a whole: its clean-shutdown marker and its checkpoints.

.lock                                    held while a broker uses the directory (`broker.runtime.directory_lock`)
.kafka_cleanshutdown                     there while no broker runs and the last one stopped in good order
recovery-point-offset-checkpoint-by-id   per partition, up to where everything is on disk
log-start-offset-checkpoint-by-id        per partition, the first offset that DeleteRecords or retention left
cleaner-offset-checkpoint-by-id          per compacted partition, up to where it has been cleaned

Partitions go by their topic's id: a topic that is made again under its name has nothing of the one before (ADR 0020).
Kafka's own files, without `-by-id`, go by names; those that earlier versions left are read once and removed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar
from uuid import UUID, uuid4

from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.log import File, Files, format_offsets_by_id, parse_offsets, parse_offsets_by_id, read_whole
from leaselog.model import TopicIdPartition, TopicPartition

__all__ = ["META_PROPERTIES", "DataDirectory"]

RECOVERY_POINTS = "recovery-point-offset-checkpoint-by-id"
START_OFFSETS = "log-start-offset-checkpoint-by-id"
CLEANER_OFFSETS = "cleaner-offset-checkpoint-by-id"
#: what earlier versions wrote instead
STARTS_BY_NAME = "log-start-offset-checkpoint"
BY_NAME = ("recovery-point-offset-checkpoint", STARTS_BY_NAME, "cleaner-offset-checkpoint")
#: whose directory it is
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"

K = TypeVar("K")

log = StructuredLog("data-dir")


class DataDirectory:
    def __init__(self, files: Files, path: str, *, new_uuid: Callable[[], UUID] = uuid4) -> None:
        self.files = files
        self.path = path
        #: for names that nobody has
        self.new_uuid = new_uuid

    def any_file(self) -> File | None:
        """One that is always there, open."""
        try:
            return self.files.open(f"{self.path}/{META_PROPERTIES}")
        except OSError:
            return None

    def take_clean_marker(self) -> bool:
        """Whether the last broker stopped cleanly. The marker is gone, durably, before anything is written."""
        marker = f"{self.path}/{CLEAN_SHUTDOWN}"
        if not self.files.exists(marker):
            return False
        self.files.remove(marker)
        self.files.sync_directory(self.path)
        return True

    def leave_clean_marker(self) -> None:
        self._replace(CLEAN_SHUTDOWN, b'{"version":0,"brokerEpoch":-1}')

    def recovery_points(self) -> dict[TopicIdPartition, int]:
        return self._read(RECOVERY_POINTS, parse_offsets_by_id)

    def start_offsets(self) -> dict[TopicIdPartition, int]:
        return self._read(START_OFFSETS, parse_offsets_by_id)

    def cleaner_offsets(self) -> dict[TopicIdPartition, int]:
        return self._read(CLEANER_OFFSETS, parse_offsets_by_id)

    def start_offsets_by_name(self) -> dict[TopicPartition, int]:
        """What an earlier version left, until ``forget_names``; each may be that of a topic which is gone."""
        if self.files.exists(f"{self.path}/{START_OFFSETS}"):
            return {}
        return self._read(STARTS_BY_NAME, parse_offsets)

    def forget_names(self) -> None:
        """What earlier versions left is not needed any more."""
        left = [name for name in BY_NAME if self.files.exists(f"{self.path}/{name}")]
        for name in left:
            self.files.remove(f"{self.path}/{name}")
        if left:
            self.files.sync_directory(self.path)

    def keep_recovery_points(self, offsets: Mapping[TopicIdPartition, int]) -> None:
        self._replace(RECOVERY_POINTS, format_offsets_by_id(offsets))

    def keep_start_offsets(self, offsets: Mapping[TopicIdPartition, int]) -> None:
        self._replace(START_OFFSETS, format_offsets_by_id(offsets))

    def keep_cleaner_offsets(self, offsets: Mapping[TopicIdPartition, int]) -> None:
        self._replace(CLEANER_OFFSETS, format_offsets_by_id(offsets))

    def _replace(self, name: str, data: bytes) -> None:
        """The whole of the new or the whole of the old is there after a crash at any moment."""
        temporary = f"{self.path}/{name}.tmp"
        file = self.files.open(temporary, writable=True, create=True)
        try:
            file.truncate(0)
            file.write_at(0, data)
            file.sync()
        finally:
            file.close()
        self.files.rename(temporary, f"{self.path}/{name}")
        self.files.sync_directory(self.path)

    def _read(self, name: str, parse: Callable[[bytes], dict[K, int]]) -> dict[K, int]:
        path = f"{self.path}/{name}"
        if not self.files.exists(path):
            return {}
        try:
            return parse(read_whole(self.files, path))
        except ValueError as wrong:
            # The logs tell all of it again, but for records that were deleted on request and are still there.
            log.warning("checkpoint is not readable, going on without it", path=path, why=wrong)
            return {}
