"""The data directory as a whole: its lock, its clean-shutdown marker and its checkpoints. Kafka's file names.

.lock                              held while a broker uses the directory
.kafka_cleanshutdown               there while no broker runs and the last one stopped in good order
recovery-point-offset-checkpoint   per partition, up to where everything is on disk
log-start-offset-checkpoint        per partition, the first offset that DeleteRecords or retention left
cleaner-offset-checkpoint          per compacted partition, up to where it has been cleaned
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Mapping
from uuid import UUID, uuid4

from leaselog.broker.structured_log import StructuredLog
from leaselog.log import Files, format_offsets, parse_offsets, read_whole
from leaselog.model import TopicPartition

__all__ = ["DataDirectory", "DataDirectoryLock", "LockedByAnother"]

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
START_OFFSETS = "log-start-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
LOCK = ".lock"

log = StructuredLog("data-dir")


class LockedByAnother(Exception):
    """Another process uses the data directory."""


class DataDirectoryLock:
    """Held for the life of the process. The kernel lets go of it even after a kill -9."""

    def __init__(self, directory: str) -> None:
        path = os.path.join(directory, LOCK)
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._fd)
            raise LockedByAnother(
                f"data directory {directory} is in use by another broker (it holds the lock on {path})"
            ) from None

    def release(self) -> None:
        os.close(self._fd)


class DataDirectory:
    def __init__(self, files: Files, path: str, *, new_uuid: Callable[[], UUID] = uuid4) -> None:
        self.files = files
        self.path = path
        #: for names that nobody has
        self.new_uuid = new_uuid

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

    def recovery_points(self) -> dict[TopicPartition, int]:
        return self._offsets(RECOVERY_POINTS)

    def start_offsets(self) -> dict[TopicPartition, int]:
        return self._offsets(START_OFFSETS)

    def cleaner_offsets(self) -> dict[TopicPartition, int]:
        return self._offsets(CLEANER_OFFSETS)

    def keep_recovery_points(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._replace(RECOVERY_POINTS, format_offsets(offsets))

    def keep_start_offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._replace(START_OFFSETS, format_offsets(offsets))

    def keep_cleaner_offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._replace(CLEANER_OFFSETS, format_offsets(offsets))

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

    def _offsets(self, name: str) -> dict[TopicPartition, int]:
        path = f"{self.path}/{name}"
        if not self.files.exists(path):
            return {}
        try:
            return parse_offsets(read_whole(self.files, path))
        except ValueError as wrong:
            # Everything in a checkpoint can be found out again from the logs; it only saves the work.
            log.warning("checkpoint is not readable, going on without it", path=path, why=wrong)
            return {}
