"""Making bytes durable: the one thing a log does that may run on another thread."""

from __future__ import annotations

from dataclasses import dataclass

from leaselog.log.files import File, Files

__all__ = ["SyncJob"]


@dataclass(frozen=True, slots=True)
class SyncJob:
    """Everything to sync before offsets up to ``end_offset`` are durable.

    ``run`` touches only what is captured here. It raises the ``OSError`` of the first sync that fails; the
    log's owner then calls ``PartitionLog.sync_failed``, else ``PartitionLog.synced``. Never run twice: after
    a failed fsync the kernel may call the lost pages clean.
    """

    end_offset: int
    files: tuple[File, ...]
    #: small files that nobody holds open
    paths: tuple[str, ...]
    directories: tuple[str, ...]
    file_system: Files

    def run(self) -> None:
        for file in self.files:
            file.sync()
        for path in self.paths:
            self.file_system.open(path).sync()
        for directory in self.directories:
            self.file_system.sync_directory(directory)
