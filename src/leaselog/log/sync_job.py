"""Making bytes durable: the one thing a log does that may run on another thread."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from leaselog.log.files import File, Files

__all__ = ["SyncJob", "Unsynced"]


class SyncJob(NamedTuple):
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


class Unsynced:
    """What the next job is to take besides the active segment. A list that empties with every job."""

    def __init__(self, paths: Iterable[str], directories: Iterable[str]) -> None:
        self.files: list[File] = []
        # Ordered sets.
        self._paths = dict.fromkeys(paths)
        self._directories = dict.fromkeys(directories)
        self._late_paths: list[str] = []

    def add_late(self, path: str) -> None:
        """Small content that recovery makes anew if it is lost: nobody waits for its sync. It goes with a sealed
        segment, or with the last job."""
        self._late_paths.append(path)

    def add(self, *, path: str | None = None, directory: str) -> None:
        """A name was made or changed in ``directory``, with small content to sync if ``path``."""
        if path is not None:
            self._paths[path] = None
        self._directories[directory] = None

    def take(self, files: Files, end_offset: int, active: File | None, *, with_late: bool) -> SyncJob | None:
        """A job for all of it, and the active segment's file if given; None if there is nothing."""
        if with_late or self.files:
            self._paths |= dict.fromkeys(self._late_paths)
            self._late_paths = []
        captured = self.files if active is None else [*self.files, active]
        if not captured and not self._paths and not self._directories:
            return None
        job = SyncJob(end_offset, tuple(captured), tuple(self._paths), tuple(self._directories), files)
        self.files, self._paths, self._directories = [], {}, {}
        return job
