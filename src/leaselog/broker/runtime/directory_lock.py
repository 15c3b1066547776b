"""One data directory belongs to one broker."""

from __future__ import annotations

import os
import sys

__all__ = ["DataDirectoryLock", "LockedByAnother"]

LOCK = ".lock"


class LockedByAnother(Exception):
    """Another process uses the data directory."""


class DataDirectoryLock:
    """Held for the life of the process. The kernel lets go of it even after a kill -9."""

    def __init__(self, directory: str) -> None:
        if sys.platform == "win32":
            raise NotImplementedError("a broker keeps its data on Linux and macOS; on Windows only in memory")
        import fcntl

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
