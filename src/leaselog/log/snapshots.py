"""The producer snapshots beside the segments: `<offset>.snapshot`, the producers' state up to that offset.

One is written whenever a segment is sealed, with the next sync, and at a clean close. They only save reading: a torn or
missing one means replaying from the one before, so nobody syncs them, and a damaged one just goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from leaselog.log.files import Files, read_whole, replace_whole
from leaselog.log.layout import SNAPSHOT, segment_path
from leaselog.log.producer_state import Producer, ProducerState, format_snapshot
from leaselog.log.recovery_point import RecoveryPoint
from leaselog.log.segment import Segment
from leaselog.wire.end_markers import read_end_marker
from leaselog.wire.errors import DecodeError

__all__ = ["SnapshotWrite", "restore_producers"]


class SnapshotWrite:
    """A snapshot to be written by another thread: there may be tens of thousands of producers."""

    def __init__(self, directory: str, offset: int, producers: Iterable[Producer]) -> None:
        self.path = segment_path(directory, offset, SNAPSHOT)
        self._producers = tuple(producers)

    def write(self, files: Files) -> None:
        """The state after everything below the offset; without it, what came after the one before is read again."""
        with suppress(OSError):
            replace_whole(files, self.path, format_snapshot(self._producers)).close()


def restore_producers(
    files: Files,
    directory: str,
    segments: Sequence[Segment],
    producers: ProducerState,
    *,
    snapshots: Sequence[int],
    now_ms: int,
    point: RecoveryPoint | None,
    unindexed_from: int,
) -> None:
    """Fill ``producers`` from the newest of the ``snapshots`` there are that fits, and from the batches behind it. A
    recovery ``point`` has one of its own.

    The transactions that were aborted at ``unindexed_from`` or later are added to their segments' indexes: what was
    open there must be known, so a later snapshot is of no use now.
    """
    end = segments[-1].end_offset
    useful = {segment.base_offset for segment in segments}
    replay_from, is_restored = segments[0].base_offset, False
    is_of_use = point is not None and point.end_offset <= unindexed_from
    if point is not None and is_of_use and _restored(point.producers, producers, now_ms):
        replay_from, is_restored = point.end_offset, True
    for offset in sorted(snapshots, reverse=True):
        path = segment_path(directory, offset, SNAPSHOT)
        is_later = unindexed_from < offset <= end
        if is_later and offset in useful:
            continue
        if offset <= end and not is_later and not is_restored:
            is_restored = _restored(read_whole(files, path), producers, now_ms)
            if is_restored:
                replay_from = offset
                continue
        if not is_restored or offset not in useful:
            files.remove(path)
    if any(offset > end for offset in snapshots):
        # They tell of batches that were cut off. Coming back after a crash they would tell of others.
        files.sync_directory(directory)
    for segment in segments:
        if segment.end_offset > replay_from:
            _replay(segment, replay_from, producers, unindexed_from)


def _restored(snapshot: bytes, producers: ProducerState, now_ms: int) -> bool:
    try:
        producers.restore(snapshot, now_ms)
    except DecodeError:
        return False
    return True


def _replay(segment: Segment, start: int, producers: ProducerState, unindexed_from: int) -> None:
    position = segment.batch_of(start) if start > segment.base_offset else 0
    for at, header in segment.headers(position):
        if not header.is_control:
            producers.replay(header)
            continue
        batch = segment.file().read_at(at, header.size_bytes)
        aborted = producers.replay(header, read_end_marker(batch, header))
        if aborted is not None and header.base_offset >= unindexed_from:
            segment.add_aborted(aborted)
