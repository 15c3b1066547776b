"""Files and directories that nobody needs any more, and that are removed when their time has come.

Each by itself: one that cannot be removed stays, is told of, and is tried again in the next round; one that is gone
already, because somebody else made room, is done.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.log import DeleteWork, Files, remove_tree

__all__ = ["DoomedFiles"]

T = TypeVar("T")

log = StructuredLog("logs")


class DoomedFiles:
    def __init__(self, files: Files) -> None:
        self._files = files
        #: directories of deleted partitions, and when they may go
        self._directories: list[tuple[int, str]] = []
        #: segments taken out of logs
        self._retired: list[DeleteWork] = []

    def __len__(self) -> int:
        return len(self._directories) + len(self._retired)

    def add_directory(self, path: str, due_ms: int) -> None:
        self._directories.append((due_ms, path))

    def add(self, work: DeleteWork) -> None:
        self._retired.append(work)

    def remove_due(self, now_ms: int) -> None:
        """Removes what is due. What is left of that is due again."""
        due, self._directories = _parted(self._directories, lambda doomed: doomed[0] <= now_ms)
        for directory in due:
            if not self._try(remove_tree, directory[1]):
                self._directories.append(directory)
        retired, self._retired = _parted(self._retired, lambda work: work.due_ms <= now_ms)
        for work in retired:
            left = tuple(path for path in work.paths if not self._try(_remove, path))
            if left:
                self._retired.append(DeleteWork(left, work.due_ms))

    def _try(self, remove: Callable[[Files, str], None], path: str) -> bool:
        try:
            with suppress(FileNotFoundError):
                remove(self._files, path)
        except OSError as failure:
            log.error(
                "files that are not needed cannot be removed, to be tried again", path=path, why=failure
            )
            return False
        return True


def _remove(files: Files, path: str) -> None:
    files.remove(path)


def _parted(things: list[T], is_first: Callable[[T], bool]) -> tuple[list[T], list[T]]:
    return [thing for thing in things if is_first(thing)], [thing for thing in things if not is_first(thing)]
