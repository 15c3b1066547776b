"""Making bytes durable: the one thing a log does that may run on another thread."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from leaselog.log.files import File, Files
from leaselog.log.recovery_point import PointWrite

__all__ = ["SyncJob", "Unsynced"]


class Write(Protocol):
    """Touches nothing of the log's, and raises nothing that a disk may say."""

    def write(self, files: Files) -> None: ...


class SyncJob(NamedTuple):
    """Everything to sync before offsets up to ``end_offset`` are durable.

    ``run`` touches only what is captured here. It raises the ``OSError`` of the first sync that fails; the
    log's owner then calls ``PartitionLog.sync_failed``, else ``PartitionLog.synced``. Never run twice: after
    a failed fsync the kernel may call the lost pages clean.

    Its three parts are for who has very many jobs, and one sync for all of them in place of each one's ``sync``.
    """

    end_offset: int
    files: tuple[File, ...]
    #: small files that nobody holds open
    paths: tuple[str, ...]
    directories: tuple[str, ...]
    file_system: Files
    #: files that may as well not be written, as they only save reading at the next start
    writes: tuple[Write, ...] = ()
    #: to be written once all is synced
    point: PointWrite | None = None

    def run(self) -> None:
        self.prepare()
        self.sync()
        self.conclude()

    def prepare(self) -> None:
        for write in self.writes:
            write.write(self.file_system)

    def sync(self) -> None:
        for file in self.files:
            file.sync()
        for path in self.paths:
            self.file_system.open(path).sync()
        for directory in self.directories:
            self.file_system.sync_directory(directory)

    def conclude(self) -> None:
        if self.point is not None:
            self.point.write(self.file_system)


class Unsynced:
    """What the next job is to take besides the active segment. A list that empties with every job."""

    def __init__(self, paths: Iterable[str], directories: Iterable[str]) -> None:
        self.files: list[File] = []
        # Ordered sets.
        self._paths = dict.fromkeys(paths)
        self._directories = dict.fromkeys(directories)
        self._late_paths: list[str] = []
        #: to be written by the next job
        self.writes: list[Write] = []

    def add_late(self, path: str) -> None:
        """Small content that recovery makes anew if it is lost: nobody waits for its sync. It goes with a sealed
        segment, or with the last job."""
        self._late_paths.append(path)

    def add(self, *, path: str | None = None, directory: str) -> None:
        """A name was made or changed in ``directory``, with small content to sync if ``path``."""
        if path is not None:
            self._paths[path] = None
        self._directories[directory] = None

    def take(
        self,
        files: Files,
        end_offset: int,
        active: File | None,
        *,
        with_late: bool,
        point: PointWrite | None = None,
    ) -> SyncJob | None:
        """A job for all of it, the active segment's file if given, and a recovery point; None if there is nothing."""
        if with_late or self.files:
            self._paths |= dict.fromkeys(self._late_paths)
            self._late_paths = []
        captured = self.files if active is None else [*self.files, active]
        if not captured and not self._paths and not self._directories and not self.writes and point is None:
            return None
        paths, directories = tuple(self._paths), tuple(self._directories)
        job = SyncJob(end_offset, tuple(captured), paths, directories, files, tuple(self.writes), point)
        self.files, self._paths, self._directories, self.writes = [], {}, {}, []
        return job
