"""What the data directory keeps about all logs together: where each is safe up to, begins, and is clean up to.

Partitions go by their topic's id. What earlier versions kept by name is believed where a log bears it out: the topic of
that name may have been deleted and made again since (ADR 0020).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from leaselog.broker.records.data_dir import DataDirectory
from leaselog.broker.records.partition import Partition
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.log import PartitionLog
from leaselog.model import TopicIdPartition, TopicPartition

__all__ = ["LogCheckpoints"]

log = StructuredLog("logs")


class LogCheckpoints:
    """Owned by the log store. What is written fails with ``OSError``, and the file is then as it was."""

    def __init__(self, directory: DataDirectory) -> None:
        self._directory = directory
        #: as the files have them
        self._recovery_points: Mapping[TopicIdPartition, int] = {}
        self._start_offsets: Mapping[TopicIdPartition, int] = {}
        self._cleaner_offsets: Mapping[TopicIdPartition, int] = {}
        self._starts_by_name: Mapping[TopicPartition, int] = {}
        #: partitions whose logs could not be opened: what is kept of them stays
        self.unopened: set[TopicIdPartition] = set()

    def read(self) -> None:
        """What the last broker left."""
        self._recovery_points = self._directory.recovery_points()
        self._start_offsets = self._directory.start_offsets()
        self._cleaner_offsets = self._directory.cleaner_offsets()
        self._starts_by_name = self._directory.start_offsets_by_name()

    def recovery_point(self, key: TopicIdPartition) -> int:
        return self._recovery_points.get(key, 0)

    def start_offset(self, key: TopicIdPartition) -> int:
        return self._start_offsets.get(key, 0)

    def tell(self, opened: PartitionLog, name: TopicPartition, key: TopicIdPartition) -> None:
        """Tells a log that was just opened what it cannot know by itself."""
        opened.cleaned_to = min(self._cleaner_offsets.get(key, 0), opened.end_offset)
        start = self._starts_by_name.get(name, 0)
        if opened.start_offset < start <= opened.end_offset:
            opened.delete_records(start)
        elif start > opened.end_offset:
            log.warning("a start offset of another topic is left out", partition=name, start=start)

    def adopt(self, partitions: Iterable[Partition]) -> None:
        """All partitions are open: what was kept by name is kept by id from now on."""
        if self.unopened:
            return  # their starts are known by name only
        if self._starts_by_name:
            self.keep_starts(partitions)
            self._starts_by_name = {}
        self._directory.forget_names()

    def keep_recovery_points(self, partitions: Iterable[Partition]) -> None:
        points = self._of_unopened(self._recovery_points)
        points |= {p.key: p.log.durable_end for p in partitions}
        self._directory.keep_recovery_points(points)
        self._recovery_points = points

    def keep_starts(self, partitions: Iterable[Partition]) -> None:
        starts = self._of_unopened(self._start_offsets)
        starts |= {p.key: p.log.start_offset for p in partitions if p.log.start_offset}
        self._directory.keep_start_offsets(starts)
        self._start_offsets = starts

    def keep_cleaned(self, partitions: Iterable[Partition]) -> None:
        cleaned = self._of_unopened(self._cleaner_offsets)
        cleaned |= {p.key: p.log.cleaned_to for p in partitions if p.log.cleaned_to}
        self._directory.keep_cleaner_offsets(cleaned)
        self._cleaner_offsets = cleaned

    def _of_unopened(self, offsets: Mapping[TopicIdPartition, int]) -> dict[TopicIdPartition, int]:
        return {key: offsets[key] for key in self.unopened if key in offsets}

    def purge(self, gone: Collection[TopicIdPartition]) -> None:
        """Takes out what is kept of partitions that are gone: their ids never come back, but a file should not grow.

        Recovery points are left to the next checkpoint, which writes them anew anyway.
        """
        starts = _without(self._start_offsets, gone)
        if len(starts) < len(self._start_offsets):
            self._directory.keep_start_offsets(starts)
            self._start_offsets = starts
        cleaned = _without(self._cleaner_offsets, gone)
        if len(cleaned) < len(self._cleaner_offsets):
            self._directory.keep_cleaner_offsets(cleaned)
            self._cleaner_offsets = cleaned


def _without(
    offsets: Mapping[TopicIdPartition, int], gone: Collection[TopicIdPartition]
) -> dict[TopicIdPartition, int]:
    return {key: offset for key, offset in offsets.items() if key not in gone}
