"""Where the newest batches of a segment lie, so that a reader at the tail needs no scan. Private to this room."""

from __future__ import annotations

from array import array
from bisect import bisect_right

__all__ = ["Tail"]

#: forgotten in halves, so between 256 and 512 batches are known: 8 KiB a partition
_LIMIT = 512


class Tail:
    """End offset and position of recent batches. Answers None for what it no longer, or does not yet, know."""

    __slots__ = ("_end_offsets", "_first_offset", "_positions")

    def __init__(self) -> None:
        #: the first offset of the first batch known
        self._first_offset = 0
        #: both rising, every batch of the file from the first one on
        self._end_offsets = array("q")
        self._positions = array("q")

    def append(self, base_offset: int, end_offset: int, position: int) -> None:
        if not self._positions:
            self._first_offset = base_offset
        elif len(self._positions) == _LIMIT:
            self._first_offset = self._end_offsets[_LIMIT // 2 - 1]
            del self._end_offsets[: _LIMIT // 2], self._positions[: _LIMIT // 2]
        self._end_offsets.append(end_offset)
        self._positions.append(position)

    def last_position(self) -> int | None:
        """Where the last batch begins."""
        return self._positions[-1] if self._positions else None

    def batch_of(self, offset: int) -> int | None:
        """The position of the first batch that reaches past ``offset``."""
        if offset < self._first_offset:
            return None
        at = bisect_right(self._end_offsets, offset)
        return self._positions[at] if at < len(self._positions) else None

    def boundary_after(self, position: int, segment_bytes: int) -> int | None:
        """Where the batch at ``position`` ends."""
        at = bisect_right(self._positions, position)
        if not at:
            return None
        return self._positions[at] if at < len(self._positions) else segment_bytes

    def boundary_before(self, position: int) -> int | None:
        """The last batch boundary at or below ``position``, which is inside the segment."""
        at = bisect_right(self._positions, position)
        return self._positions[at - 1] if at else None
