"""The directories of partitions: where they lie, and how they go when their topics do.

A deleted partition's directory is renamed first, so that its name is free at once, and removed later. A disk that would
not rename it is asked again in every round of upkeep, and before a partition of that name is opened: nothing of the old
one may be taken for the new one's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress

from leaselog.broker.records.data_dir import DataDirectory
from leaselog.broker.records.doomed_files import DoomedFiles
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.log import (
    DeleteWork,
    deleted_directory_name,
    directory_name,
    is_deleted_directory,
    parse_directory_name,
)
from leaselog.log.layout import METADATA
from leaselog.model import TopicPartition

__all__ = ["PartitionDirectories"]

log = StructuredLog("logs")


class PartitionDirectories:
    """Owned by the log store."""

    def __init__(self, directory: DataDirectory, *, now_ms: Callable[[], int]) -> None:
        self._files = directory.files
        self._parent = directory.path
        self._new_uuid = directory.new_uuid
        self._now_ms = now_ms
        self._doomed = DoomedFiles(directory.files)
        #: of deleted partitions, and could not be renamed
        self._stuck: set[TopicPartition] = set()
        #: something was renamed, and a power cut may take that back
        self._has_unsynced_names = False

    def path(self, name: TopicPartition) -> str:
        return f"{self._parent}/{directory_name(name)}"

    def exists(self, name: TopicPartition) -> bool:
        return self._files.exists(self.path(name))

    def found(self) -> list[TopicPartition]:
        """Whoever has one. Raises OSError."""
        parsed = (parse_directory_name(name) for name in self._files.names(self._parent))
        return [name for name in parsed if name is not None]

    def doom_leftovers(self) -> None:
        """Those that an earlier broker renamed and did not come to remove. Raises OSError."""
        for name in self._files.names(self._parent):
            if is_deleted_directory(name):
                self._doomed.add_directory(f"{self._parent}/{name}", 0)

    def make_way(self, name: TopicPartition) -> None:
        """Before a partition is opened: nothing of a deleted one lies there, nor can it come back. Raises OSError."""
        if name in self._stuck:
            self.put_away(name, self._now_ms())
        self._sync_names()

    def put_away(self, name: TopicPartition, due_ms: int) -> None:
        """Renames it, to be removed when that is due; without one the partition never had a record. Raises OSError."""
        if self.exists(name):
            doomed = f"{self._parent}/{deleted_directory_name(name, self._new_uuid())}"
            self._files.rename(self.path(name), doomed)
            self._doomed.add_directory(doomed, due_ms)
            self._has_unsynced_names = True
        self._stuck.discard(name)

    def try_put_away(self, names: Collection[TopicPartition], due_ms: int) -> None:
        """Each of them, now or in a round to come."""
        for name in names:
            try:
                self.put_away(name, due_ms)
            except OSError as failure:
                log.error(
                    "the files of a deleted partition cannot be renamed, to be tried again",
                    partition=name,
                    why=failure,
                )
                self._stuck.add(name)
                self._sync_name_tag(name)
        self.try_sync_names()

    def _sync_name_tag(self, name: TopicPartition) -> None:
        """It may not be on the disk yet, and tells the next broker whose records these are, should we die."""
        with suppress(OSError):
            self._files.open(f"{self.path(name)}/{METADATA}").sync()
            self._files.sync_directory(self.path(name))

    def try_sync_names(self) -> None:
        """What was renamed stays renamed, now or from a round to come on."""
        try:
            self._sync_names()
        except OSError as failure:
            log.error("deletions are not durable yet, to be synced later", path=self._parent, why=failure)

    def _sync_names(self) -> None:
        """Else a power cut might bring one back under the name of a topic that was made since."""
        if self._has_unsynced_names:
            self._files.sync_directory(self._parent)
            self._has_unsynced_names = False

    def retire(self, work: DeleteWork) -> None:
        """Files that a log has no use for any more."""
        self._doomed.add(work)

    def remove_due(self, is_open: Callable[[TopicPartition], bool]) -> None:
        """A round of upkeep. What ``is_open`` is left to whoever opens it."""
        stuck = [name for name in self._stuck if not is_open(name)]
        self.try_put_away(stuck, self._now_ms())
        self._doomed.remove_due(self._now_ms())
