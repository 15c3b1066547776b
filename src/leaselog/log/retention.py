"""Which segments a log may forget. Pure: descriptions in, a count of oldest segments out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leaselog.log.config import LogConfig

__all__ = ["DeleteWork", "SegmentInfo", "count_expired"]


@dataclass(frozen=True, slots=True)
class SegmentInfo:
    """One segment as metrics, DescribeLogDirs and retention see it."""

    base_offset: int
    end_offset: int
    size_bytes: int
    #: when this process first saw it, if its records carry no timestamp
    largest_timestamp_ms: int


@dataclass(frozen=True, slots=True)
class DeleteWork:
    """Files out of use, already renamed: remove them once ``due_ms`` has come. Open sweeps what a crash forgets."""

    paths: tuple[str, ...]
    due_ms: int


def count_expired(
    segments: Sequence[SegmentInfo], config: LogConfig, *, now_ms: int, start_offset: int, visible_end: int
) -> int:
    """How many of the oldest segments have no reason to stay: all records before the start, too old, or too much.

    Nothing readers have not been offered yet goes: a segment reaching past ``visible_end`` stays.
    """
    excess = sum(segment.size_bytes for segment in segments) - config.retention_bytes
    count = 0
    for segment in segments:
        if segment.end_offset > visible_end or segment.size_bytes == 0:
            break
        is_old = 0 <= config.retention_ms < now_ms - segment.largest_timestamp_ms
        is_excess = config.retention_bytes >= 0 and excess >= segment.size_bytes
        is_expired = config.deletes_old and (is_old or is_excess)
        if not is_expired and segment.end_offset > start_offset:
            break
        excess -= segment.size_bytes
        count += 1
    return count
