"""Files that live in memory: `serve --ephemeral`, and tests that need no disk. Nothing survives, nothing fails."""

from __future__ import annotations

import errno
import os

from leaselog.log.files import Buffer, File

__all__ = ["MemoryFiles"]


class _Contents:
    """The bytes of one file. Outlives its name, as an inode does, while something holds it open."""

    __slots__ = ("data",)

    def __init__(self) -> None:
        self.data = bytearray()


class _MemoryFile:
    __slots__ = ("_contents", "_writable")

    def __init__(self, contents: _Contents, writable: bool) -> None:
        self._contents: _Contents | None = contents
        self._writable = writable

    def _open(self, *, to_write: bool = False) -> bytearray:
        if self._contents is None or (to_write and not self._writable):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return self._contents.data

    def read_at(self, position: int, size_bytes: int) -> bytes:
        return bytes(memoryview(self._open())[position : position + size_bytes])

    def write_at(self, position: int, data: Buffer) -> None:
        contents = self._open(to_write=True)
        if position > len(contents):
            contents.extend(bytes(position - len(contents)))
        contents[position : position + len(data)] = data

    def truncate(self, size_bytes: int) -> None:
        contents = self._open(to_write=True)
        if size_bytes > len(contents):
            contents.extend(bytes(size_bytes - len(contents)))
        else:
            del contents[size_bytes:]

    def size_bytes(self) -> int:
        return len(self._open())

    def sync(self) -> None:
        self._open()

    def sync_file_system(self) -> None:
        self._open()

    def is_beside(self, path: str) -> bool:
        return True

    def forget_cached(self, *, read_ahead: bool = False) -> None:
        self._open()

    def close(self) -> None:
        self._contents = None

    def fileno(self) -> int | None:
        return None


class MemoryFiles:
    """One tree of files. Two instances share nothing."""

    def __init__(self) -> None:
        self._files: dict[str, _Contents] = {}
        self._directories: set[str] = {"", "/"}

    def open(self, path: str, *, writable: bool = False, create: bool = False) -> File:
        contents = self._files.get(path)
        if contents is None:
            if not create:
                raise _missing(path)
            self._require_directory(_parent(path))
            contents = self._files[path] = _Contents()
        return _MemoryFile(contents, writable)

    def names(self, directory: str) -> list[str]:
        self._require_directory(directory)
        below = directory.rstrip("/") + "/" if directory else ""
        entries = (
            path for path in (*self._files, *self._directories) if path.startswith(below) and path != below
        )
        return sorted({path[len(below) :] for path in entries if "/" not in path[len(below) :]} - {""})

    def exists(self, path: str) -> bool:
        return path in self._files or path.rstrip("/") in self._directories

    def size_bytes(self, path: str) -> int:
        if path not in self._files:
            raise _missing(path)
        return len(self._files[path].data)

    def make_directory(self, path: str) -> None:
        path = path.rstrip("/")
        while path and path not in self._directories:
            self._directories.add(path)
            path = _parent(path)

    def rename(self, source: str, target: str) -> None:
        if source in self._files:
            self._require_directory(_parent(target))
            self._files[target] = self._files.pop(source)
        elif source in self._directories:
            self._rename_directory(source, target)
        else:
            raise _missing(source)

    def _rename_directory(self, source: str, target: str) -> None:
        if target in self._directories and self.names(target):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), target)
        below = source + "/"
        for path in [path for path in self._files if path.startswith(below)]:
            self._files[f"{target}/{path[len(below) :]}"] = self._files.pop(path)
        moved = [path for path in self._directories if path == source or path.startswith(below)]
        self._directories.difference_update(moved)
        self._directories.update(target + path[len(source) :] for path in moved)

    def remove(self, path: str) -> None:
        if self._files.pop(path, None) is None:
            raise _missing(path)

    def remove_directory(self, path: str) -> None:
        self._require_directory(path)
        if self.names(path):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
        self._directories.discard(path)

    def sync_directory(self, path: str) -> None:
        self._require_directory(path)

    def _require_directory(self, path: str) -> None:
        if path.rstrip("/") not in self._directories:
            raise _missing(path)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _missing(path: str) -> OSError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
