"""One sync of all that the data directory's file system has, where very many logs would each wait for their own.

Ten thousand logs that died before their first recovery point, or that are closed, are twenty thousand syncs and more;
what they have to write is a few megabytes, which the system can write all at once. A few logs are synced one by one all
the same: what others have on that file system is none of their business, and may be much.

Where it is refused, or fails, everything is as if nobody had tried (ADR 0027).
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.log import File, Files, forget_tail

__all__ = ["CommonSync"]

log = StructuredLog("logs")


class CommonSync:
    """Owned by the log store. ``file`` is any in the data directory, open since before anything was written there."""

    def __init__(self, file: File | None, *, few: int) -> None:
        self._file = file
        self._few = few
        #: logs that have asked since the start
        self._asked = 0
        #: how it went, once it was tried for logs that are recovered
        self._is_synced: bool | None = None
        #: what memory had of these has been let go of since then
        self._forgotten: set[str] = set()

    def covers(self, directory: str) -> bool:
        """Of a log that is recovered (see ``leaselog.log.CommonSync``). The first few are to sync for themselves."""
        self._asked += 1
        if self._asked <= self._few:
            return False
        if self._is_synced is None:
            self._is_synced = self._try_sync()
        return self._is_synced and self._reaches(directory)

    def has_forgotten(self, directory: str) -> bool:
        return directory in self._forgotten

    def foresee(self, files: Files, directories: Iterable[str]) -> None:
        """These are opened next: what they have to read from the disk is asked for at once, if there are so many."""
        if not self._is_synced:
            return
        self._forgotten.clear()
        for directory in directories:
            with suppress(OSError):  # whoever opens it is told
                if forget_tail(files, directory):
                    self._forgotten.add(directory)

    def try_sync(self, directories: list[str]) -> set[str]:
        """Syncs what was written to so many directories, if they are more than a few. Those that this was true of."""
        if len(directories) <= self._few or not self._try_sync():
            return set()
        return {directory for directory in directories if self._reaches(directory)}

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _try_sync(self) -> bool:
        if self._file is None:
            return False
        try:
            self._file.sync_file_system()
        except OSError as refused:
            log.info("logs are synced one by one", why=refused)
            return False
        return True

    def _reaches(self, directory: str) -> bool:
        """It may be a link to another disk."""
        try:
            return self._file is not None and self._file.is_beside(directory)
        except OSError:
            return False
