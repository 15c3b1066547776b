"""The two sparse indexes of a segment: offset to position, timestamp to offset. Kafka's file formats.

    .index      relative offset:4  position:4     the last offset of a batch and where that batch begins
    .timeindex  timestamp:8        relative offset:4   no batch up to that offset has a later timestamp

An index is a hint that recovery can always rebuild, so nobody syncs it per append: entries gather in memory
and go to the file when the segment is sealed or the log closed. In memory each is two flat arrays, looked up
by ``bisect``: a full index of a 1 GiB segment is 2 MiB.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from struct import Struct

from leaselog.log.files import File

__all__ = ["MAX_RELATIVE_OFFSET", "OffsetIndex", "TimeIndex"]

MAX_RELATIVE_OFFSET = 2**31 - 1

_OFFSET_ENTRY_BYTES = 8
_TIME_ENTRY = Struct(">qi")


class OffsetIndex:
    """Where to begin reading for an offset."""

    ENTRY_BYTES = _OFFSET_ENTRY_BYTES

    __slots__ = ("_positions", "_relative_offsets", "base_offset")

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        #: strictly rising, both of one length
        self._relative_offsets = array("i")
        self._positions = array("i")

    def __len__(self) -> int:
        return len(self._positions)

    def append(self, last_offset: int, position: int) -> None:
        """An entry for the batch at ``position`` that ends with ``last_offset``. Not past the last one: dropped."""
        relative = last_offset - self.base_offset
        if not self._relative_offsets or relative > self._relative_offsets[-1]:
            self._relative_offsets.append(relative)
            self._positions.append(position)

    def position_before(self, offset: int) -> int:
        """The position of an indexed batch at or before the one holding ``offset``; 0 when there is none."""
        # An entry holds its batch's last offset: one equal to ``offset`` is the very batch.
        at = bisect_right(self._relative_offsets, offset - self.base_offset) - 1
        return self._positions[at] if at >= 0 else 0

    def boundary_before(self, position: int) -> int:
        """The last indexed batch that begins at or below ``position``."""
        at = bisect_right(self._positions, position) - 1
        return self._positions[at] if at >= 0 else 0

    def last_position(self) -> int:
        return self._positions[-1] if self._positions else 0

    def is_full(self, limit_bytes: int) -> bool:
        return len(self._positions) >= limit_bytes // _OFFSET_ENTRY_BYTES

    def to_bytes(self, first: int = 0) -> bytes:
        """The entries from the ``first`` on."""
        mixed = array("i", bytes(_OFFSET_ENTRY_BYTES * (len(self) - first)))
        mixed[0::2], mixed[1::2] = self._relative_offsets[first:], self._positions[first:]
        if sys.byteorder == "little":
            mixed.byteswap()
        return mixed.tobytes()

    @classmethod
    def from_bytes(cls, base_offset: int, data: bytes) -> OffsetIndex | None:
        """The index a file holds, or None if no index was ever written like this."""
        if len(data) % _OFFSET_ENTRY_BYTES:
            return None
        mixed = array("i", data)
        if sys.byteorder == "little":
            mixed.byteswap()
        index = cls(base_offset)
        index._relative_offsets, index._positions = mixed[0::2], mixed[1::2]
        index._drop_preallocated()
        return index if index._is_rising() else None

    def _drop_preallocated(self) -> None:
        # Apache Kafka leaves an active segment's index at full length, the rest zero.
        while len(self) > 1 and self._relative_offsets[-1] == 0:
            self._relative_offsets.pop()
            self._positions.pop()
        if len(self) == 1 and self._relative_offsets[0] == 0 and self._positions[0] == 0:
            self._relative_offsets.pop()
            self._positions.pop()

    def _is_rising(self) -> bool:
        pairs = ((self._relative_offsets, 0), (self._positions, 0))
        return all(_rises(values, least) for values, least in pairs)


class TimeIndex:
    """From where on to look for a timestamp."""

    ENTRY_BYTES = _TIME_ENTRY.size

    __slots__ = ("_relative_offsets", "_timestamps", "base_offset")

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        #: strictly rising; the offsets beside them rise or stay
        self._timestamps = array("q")
        self._relative_offsets = array("i")

    def __len__(self) -> int:
        return len(self._timestamps)

    def append(self, timestamp: int, offset: int) -> None:
        """``timestamp`` is the largest so far, of the batch ending with ``offset``. No later than the last: dropped."""
        if timestamp >= 0 and (not self._timestamps or timestamp > self._timestamps[-1]):
            self._timestamps.append(timestamp)
            self._relative_offsets.append(offset - self.base_offset)

    def offset_before(self, timestamp: int) -> int:
        """An offset up to which every batch's timestamps are no later than ``timestamp``; the base if unknown."""
        at = bisect_right(self._timestamps, timestamp) - 1
        return self.base_offset + self._relative_offsets[at] if at >= 0 else self.base_offset

    def largest_before(self, offset: int) -> tuple[int, int] | None:
        """The last entry of a batch that ends before ``offset``: nothing up to that batch has a larger timestamp."""
        at = bisect_left(self._relative_offsets, offset - self.base_offset) - 1
        return self._entry(at) if at >= 0 else None

    def last_entry(self) -> tuple[int, int] | None:
        """The largest timestamp indexed, and the last offset of its batch."""
        return self._entry(-1) if self._timestamps else None

    def _entry(self, at: int) -> tuple[int, int]:
        return self._timestamps[at], self.base_offset + self._relative_offsets[at]

    @classmethod
    def last_entry_of(cls, base_offset: int, file: File) -> tuple[int, int] | None:
        """The last entry of an index file; None if that needs the whole file, or there is none."""
        size_bytes = file.size_bytes()
        if size_bytes == 0 or size_bytes % _TIME_ENTRY.size:
            return None
        data = file.read_at(size_bytes - _TIME_ENTRY.size, _TIME_ENTRY.size)
        if len(data) != _TIME_ENTRY.size:
            return None  # a short read
        timestamp, relative = _TIME_ENTRY.unpack(data)
        return (timestamp, base_offset + relative) if timestamp > 0 and relative >= 0 else None

    def is_full(self, limit_bytes: int) -> bool:
        # One entry stays free for the largest timestamp, which is added when the segment is sealed.
        return len(self._timestamps) >= limit_bytes // _TIME_ENTRY.size - 1

    def to_bytes(self, first: int = 0) -> bytes:
        """The entries from the ``first`` on."""
        pack = _TIME_ENTRY.pack
        return b"".join(map(pack, self._timestamps[first:], self._relative_offsets[first:]))

    @classmethod
    def from_bytes(cls, base_offset: int, data: bytes) -> TimeIndex | None:
        """The index a file holds, or None if no index was ever written like this."""
        if len(data) % _TIME_ENTRY.size:
            return None
        index = cls(base_offset)
        for timestamp, relative in _TIME_ENTRY.iter_unpack(data):
            if timestamp == 0 and relative == 0 and index._timestamps:
                break  # the preallocated rest
            index._timestamps.append(timestamp)
            index._relative_offsets.append(relative)
        if index._timestamps == array("q", [0]) and data.count(0) == len(data):
            return cls(base_offset)
        return index if _rises(index._timestamps, 0) and _never_falls(index._relative_offsets) else None


def _rises(values: array[int], least: int) -> bool:
    if len(values) and values[0] < least:
        return False
    return all(map(int.__lt__, values, values[1:]))


def _never_falls(values: array[int]) -> bool:
    if len(values) and values[0] < 0:
        return False
    return all(map(int.__le__, values, values[1:]))
