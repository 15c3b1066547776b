"""The one door to the disk: what the log asks of a file system, and the real one.

Every operation that can fail raises ``OSError``. Nothing is durable until it is asked for: a file's bytes by
``sync``, a directory's names (files made, renamed, removed) by ``sync_directory``. There is no buffering
here; a write is one system call.

Three implementations keep one contract (tests/contract/test_files.py): ``OsFiles``, ``MemoryFiles`` and the
test kit's ``SimDisk``.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import Protocol, runtime_checkable

from leaselog.log._file_system import sync_file_system

if sys.platform == "darwin":
    import fcntl

__all__ = ["Buffer", "File", "Files", "OsFiles", "read_whole", "remove_tree", "replace_whole"]

Buffer = bytes | bytearray | memoryview


@runtime_checkable
class File(Protocol):
    """An open file. Closed by ``close`` or when the last reference goes, whichever comes first."""

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """At most ``size_bytes`` from ``position``; fewer only where the file ends."""

    def write_at(self, position: int, data: Buffer) -> None:
        """All of ``data`` at ``position``. After an ``OSError`` any part of it may have been written."""

    def truncate(self, size_bytes: int) -> None: ...

    def size_bytes(self) -> int: ...

    def sync(self) -> None:
        """Return once the bytes, and the size, survive a power cut. The only operation another thread may call."""

    def sync_file_system(self) -> None:
        """Return once everything on the file system of this file survives a power cut: bytes, sizes and names.

        Raises ``OSError`` if something there was not written since this file was opened, and where the system cannot
        tell that for certain. Nothing is known of any other file then: a ``sync`` of each is, as if nobody had asked.
        """

    def is_beside(self, path: str) -> bool:
        """Whether ``path`` is on the file system of this file."""

    def forget_cached(self, *, read_ahead: bool = False) -> None:
        """What is read from here on comes from the disk, as far as the system can: not from memory, where bytes stay
        that a failed sync has lost. With ``read_ahead`` the disk is asked for all of it now, and nobody waits."""

    def close(self) -> None: ...

    def fileno(self) -> int | None:
        """The descriptor, for sendfile; None where there is none."""


@runtime_checkable
class Files(Protocol):
    """A file system. Paths are absolute or relative strings with "/" between the parts."""

    def open(self, path: str, *, writable: bool = False, create: bool = False) -> File: ...

    def names(self, directory: str) -> list[str]:
        """The names in a directory, sorted."""

    def exists(self, path: str) -> bool: ...

    def size_bytes(self, path: str) -> int: ...

    def make_directory(self, path: str) -> None:
        """Make it, and what is above it; an existing one is fine."""

    def rename(self, source: str, target: str) -> None:
        """Move a file or a directory; a file at ``target`` is replaced in one step."""

    def remove(self, path: str) -> None: ...

    def remove_directory(self, path: str) -> None:
        """Remove an empty directory."""

    def sync_directory(self, path: str) -> None: ...


def read_whole(files: Files, path: str) -> bytes:
    """A small file's bytes: a checkpoint, an index. Never a segment."""
    file = files.open(path)
    try:
        return file.read_at(0, file.size_bytes())
    finally:
        file.close()


def empty(file: File) -> None:
    """A new file is left alone: ext4 would begin to write at once what it gets next, as it does for who is afraid of
    losing the old bytes and the new."""
    if file.size_bytes():
        file.truncate(0)


def replace_whole(files: Files, path: str, data: bytes) -> File:
    """Put ``data`` in place of what ``path`` held, all or nothing for a reader of a running system.

    Not yet durable: the open file comes back so that the caller can sync it, and the directory, when it suits.
    A power cut before that may leave the old file, the new one or an empty one.
    """
    temporary = path + ".tmp"
    file = files.open(temporary, writable=True, create=True)
    empty(file)
    file.write_at(0, data)
    files.rename(temporary, path)
    return file


def remove_tree(files: Files, directory: str) -> None:
    """Remove a partition's directory and the files in it. Directories inside are not expected and refuse.

    What somebody else removes meanwhile is fine; that the directory is not there raises ``FileNotFoundError``.
    """
    for name in files.names(directory):
        with suppress(FileNotFoundError):
            files.remove(f"{directory}/{name}")
    files.remove_directory(directory)


class _OsFile:
    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def read_at(self, position: int, size_bytes: int) -> bytes:
        return os.pread(self._fd, size_bytes, position)

    def write_at(self, position: int, data: Buffer) -> None:
        written = os.pwrite(self._fd, data, position)
        if written == len(data):
            return
        # Short writes come from a full disk or a signal; the next one says which.
        rest = memoryview(data)[written:]
        while rest:
            position += written
            written = os.pwrite(self._fd, rest, position)
            rest = rest[written:]

    def truncate(self, size_bytes: int) -> None:
        os.ftruncate(self._fd, size_bytes)

    def size_bytes(self) -> int:
        return os.fstat(self._fd).st_size

    def sync(self) -> None:
        if sys.platform == "darwin":
            fcntl.fcntl(self._fd, fcntl.F_FULLFSYNC)  # fsync alone stops at the drive's cache there
        else:
            os.fdatasync(self._fd)

    def sync_file_system(self) -> None:
        sync_file_system(self._fd)

    def is_beside(self, path: str) -> bool:
        return os.stat(path).st_dev == os.fstat(self._fd).st_dev

    def forget_cached(self, *, read_ahead: bool = False) -> None:
        if hasattr(os, "posix_fadvise"):
            # Pages that are not written yet stay, and are written by the next sync, whose word counts again.
            os.posix_fadvise(self._fd, 0, 0, os.POSIX_FADV_DONTNEED)
            if read_ahead:
                os.posix_fadvise(self._fd, 0, 0, os.POSIX_FADV_WILLNEED)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def fileno(self) -> int | None:
        return self._fd

    def __del__(self) -> None:
        # A slice on its way out to a socket may outlive the segment that opened the file.
        self.close()


class OsFiles:
    """The operating system's files. ``spare`` descriptors are kept for when there are none left: sockets take theirs
    from the same store, and whoever opens many connections must not be able to end a log."""

    def __init__(self, *, spare: int = 0) -> None:
        self._spare_wanted = spare
        self._spare: list[int] = []
        self._keep_spare()

    def open(self, path: str, *, writable: bool = False, create: bool = False) -> File:
        flags = os.O_RDWR if writable else os.O_RDONLY
        if create:
            flags |= os.O_CREAT
        return _OsFile(self._open(path, flags))

    def _open(self, path: str, flags: int) -> int:
        while True:
            try:
                fd = os.open(path, flags | os.O_CLOEXEC, 0o644)
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE) or not self._give_spare():
                    raise
                continue
            if len(self._spare) < self._spare_wanted:
                self._keep_spare()
            return fd

    def _keep_spare(self) -> None:
        with suppress(OSError):
            while len(self._spare) < self._spare_wanted:
                self._spare.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))

    def _give_spare(self) -> bool:
        """One is free, unless somebody takes it first: another thread may ask at the same time."""
        try:
            os.close(self._spare.pop())
        except IndexError:
            return False
        return True

    def names(self, directory: str) -> list[str]:
        return sorted(os.listdir(directory))

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def size_bytes(self, path: str) -> int:
        return os.stat(path).st_size

    def make_directory(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def rename(self, source: str, target: str) -> None:
        os.replace(source, target)

    def remove(self, path: str) -> None:
        os.remove(path)

    def remove_directory(self, path: str) -> None:
        os.rmdir(path)

    def sync_directory(self, path: str) -> None:
        fd = self._open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
