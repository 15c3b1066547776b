"""A log's segments in order: finding the right one, adding one, taking some away, putting a cleaned one in.

Belongs to the log's owner. What fails here fails with ``OSError``, and the log then takes no more writes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice

from leaselog.log.aborted_index import AbortedTransaction
from leaselog.log.cleaner import Candidate, Cleaned, Source
from leaselog.log.files import File, Files
from leaselog.log.layout import CLEANED
from leaselog.log.open_segments import OpenSegments
from leaselog.log.retention import SegmentInfo
from leaselog.log.segment import FileSlice, Segment

__all__ = ["SegmentList"]


class SegmentList:
    """Never empty; only the last segment takes appends."""

    def __init__(self, files: Files, directory: str, opened: OpenSegments, segments: list[Segment]) -> None:
        self._files = files
        self._directory = directory
        self._opened = opened
        #: bases rise; each ends where the next begins
        self._segments = segments

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __contains__(self, segment: object) -> bool:
        """Whether it is still here."""
        if not isinstance(segment, Segment):
            return False
        at = bisect_right(self._segments, segment.base_offset, key=_base_offset) - 1
        return at >= 0 and self._segments[at] is segment

    @property
    def active(self) -> Segment:
        return self._segments[-1]

    @property
    def base_offset(self) -> int:
        return self._segments[0].base_offset

    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self._segments)

    def infos(self) -> list[SegmentInfo]:
        return [SegmentInfo(s.base_offset, s.end_offset, s.size_bytes, _age_from(s)) for s in self._segments]

    def candidates(self) -> list[Candidate]:
        """The sealed ones, as the cleaner's decision sees them."""
        return [
            Candidate(s.base_offset, s.end_offset, s.size_bytes, s.first_timestamp(), _age_from(s))
            for s in self._segments[:-1]
        ]

    def sources(self, count: int) -> tuple[Source, ...]:
        return tuple(map(_source, self._segments[:count]))

    def locate(self, start: int, max_bytes: int, end: int, *, min_one_batch: bool) -> FileSlice:
        """As ``Segment.locate``, in the segment that has ``start`` or, where compaction left nothing, the next."""
        at = len(self._segments) - 1
        if start < self._segments[at].base_offset:
            at = bisect_right(self._segments, start, key=_base_offset) - 1
        found = self._segments[at].locate(start, max_bytes, end, min_one_batch=min_one_batch)
        # Behind the last batch, not in front of one that is too large.
        while found.position >= self._segments[at].size_bytes and at + 1 < len(self._segments):
            at += 1
            found = self._segments[at].locate(start, max_bytes, end, min_one_batch=min_one_batch)
        return found

    @property
    def has_aborted(self) -> bool:
        """Whether any of them has an index of aborted transactions."""
        return any(segment.has_aborted for segment in self._segments)

    def aborted_in(self, start: int, end: int) -> list[AbortedTransaction]:
        """The aborted transactions that may have records in ``[start, end)``. Raises ``DecodeError``, ``OSError``."""
        found = list[AbortedTransaction]()
        first = max(bisect_right(self._segments, start, key=_base_offset) - 1, 0)
        for segment in islice(self._segments, first, None):
            if segment.has_aborted:
                more, is_all = segment.aborted_index().collect(start, end)
                found += more
                if is_all:
                    break
        return found

    def roll(self, now_ms: int) -> list[File]:
        """Seal the active segment and begin the next. Returns the files to sync."""
        unsynced = self.active.seal()
        segment = self._new(self.active.end_offset, self.active.end_offset, now_ms, "")
        segment.create()
        self._segments.append(segment)
        return unsynced

    def new_cleaned(self, base_offset: int, end_offset: int, now_ms: int) -> Segment:
        """A segment for the cleaner to fill, not in the list."""
        return self._new(base_offset, end_offset, now_ms, CLEANED)

    def _new(self, base_offset: int, end_offset: int, now_ms: int, name_suffix: str) -> Segment:
        return Segment(
            self._files,
            self._directory,
            base_offset,
            size_bytes=0,
            end_offset=end_offset,
            created_ms=now_ms,
            opened=self._opened,
            name_suffix=name_suffix,
        )

    def rename_oldest(self, count: int) -> list[str]:
        """Take the oldest away. Returns the paths that wait to be removed."""
        # Oldest first, so that a crash between two leaves a log without its beginning, not one with a hole.
        paths = [path for segment in self._segments[:count] for path in segment.rename_away()]
        for segment in self._segments[:count]:
            self._opened.forget(segment)
        del self._segments[:count]
        return paths

    def swap_in(self, cleaned: Cleaned) -> list[str]:
        """Put a cleaned segment in place of its sources. Returns the paths that wait to be removed.

        If a source is no longer here the cleaned segment is removed instead.
        """
        if cleaned.segment is None:
            return []
        at = max(bisect_right(self._segments, cleaned.sources[0].base_offset, key=_base_offset) - 1, 0)
        replaced = self._segments[at : at + len(cleaned.sources)]
        if tuple(map(_source, replaced)) != cleaned.sources:
            cleaned.segment.remove_files()
            return []
        cleaned.segment.commit_swap()
        # The producers' state at the first one's base is still true there.
        paths = replaced[0].rename_away(with_snapshot=False)
        paths += [path for segment in replaced[1:] for path in segment.rename_away()]
        cleaned.segment.take_over()
        self._segments[at : at + len(replaced)] = [cleaned.segment]
        for segment in replaced:
            self._opened.forget(segment)
        return paths

    def forget(self) -> None:
        """Let go of every file."""
        for segment in self._segments:
            self._opened.forget(segment)


def _base_offset(segment: Segment) -> int:
    return segment.base_offset


def _source(segment: Segment) -> Source:
    return Source(segment.path(), segment.base_offset, segment.end_offset, segment.size_bytes)


def _age_from(segment: Segment) -> int:
    largest = segment.largest().timestamp
    return largest if largest >= 0 else segment.created_ms
