"""The producer snapshots beside the segments: `<offset>.snapshot`, the producers' state up to that offset.

One is written whenever a segment is sealed and at a clean close. They only save reading: a torn or missing one
means replaying from the one before, so nobody syncs them, and a damaged one just goes.
"""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.log.files import Files, read_whole, replace_whole
from leaselog.log.layout import SNAPSHOT, offset_of, segment_path
from leaselog.log.producer_state import ProducerState
from leaselog.log.segment import Segment
from leaselog.wire.errors import DecodeError

__all__ = ["restore_producers", "write_snapshot"]


def write_snapshot(files: Files, directory: str, offset: int, producers: ProducerState) -> str:
    """Keep the state after everything below ``offset``. Returns the path."""
    path = segment_path(directory, offset, SNAPSHOT)
    replace_whole(files, path, producers.snapshot()).close()
    return path


def restore_producers(
    files: Files, directory: str, segments: Sequence[Segment], producers: ProducerState, *, now_ms: int
) -> None:
    """Fill ``producers`` from the newest snapshot that fits, and from the batches behind it."""
    end = segments[-1].end_offset
    snapshots = [
        offset for name in files.names(directory) if (offset := offset_of(name, SNAPSHOT)) is not None
    ]
    useful = {segment.base_offset for segment in segments}
    replay_from, is_restored = segments[0].base_offset, False
    for offset in sorted(snapshots, reverse=True):
        path = segment_path(directory, offset, SNAPSHOT)
        if offset <= end and not is_restored:
            is_restored = _try_restore(files, path, producers, now_ms)
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
            _replay(segment, replay_from, producers)


def _try_restore(files: Files, path: str, producers: ProducerState, now_ms: int) -> bool:
    try:
        producers.restore(read_whole(files, path), now_ms)
    except DecodeError:
        return False
    return True


def _replay(segment: Segment, start: int, producers: ProducerState) -> None:
    position = segment.batch_of(start) if start > segment.base_offset else 0
    for _, header in segment.headers(position):
        producers.replay(header)
