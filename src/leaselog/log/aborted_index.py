"""The `.txnindex` of a segment: the aborted transactions whose markers lie in it. Kafka's file format.

    version:2  producer id:8  first offset:8  last offset:8  last stable offset:8

The last offset is the marker's, so entries rise by it; the last stable offset is that after the marker, and tells a
reader when it has found every transaction that its records may belong to. A segment without any has no file.

Everything here follows from the batches, so a crash may take it: recovery finds it again.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from struct import Struct
from typing import NamedTuple

__all__ = ["AbortedIndex", "AbortedTransaction"]

_VERSION = 0
_ENTRY = Struct(">hqqqq")


class AbortedTransaction(NamedTuple):
    """Inclusive offsets, as Kafka tells them."""

    producer_id: int
    first_offset: int
    #: of its marker
    last_offset: int
    #: readers of committed records saw so far once the marker was there
    last_stable_offset: int


class AbortedIndex:
    """Of one segment, oldest marker first. In memory four flat arrays."""

    ENTRY_BYTES = _ENTRY.size

    __slots__ = ("_first", "_last", "_producers", "_stable")

    def __init__(self) -> None:
        #: all of one length
        self._producers, self._first = array("q"), array("q")
        #: strictly rising
        self._last = array("q")
        #: never falls: what is open after one marker began before what is open after the next
        self._stable = array("q")

    def __len__(self) -> int:
        return len(self._last)

    def append(self, transaction: AbortedTransaction) -> None:
        producer_id, first_offset, last_offset, stable = transaction
        self._producers.append(producer_id)
        self._first.append(first_offset)
        self._last.append(last_offset)
        self._stable.append(stable)

    def collect(self, start: int, end: int) -> tuple[list[AbortedTransaction], bool]:
        """Those that may have records in ``[start, end)``, and whether no later segment can know of another."""
        found = []
        for at in range(bisect_left(self._last, start), len(self)):
            if self._first[at] < end:
                found.append(self._entry(at))
            if self._stable[at] >= end:
                return found, True
        return found, False

    def _entry(self, at: int) -> AbortedTransaction:
        return AbortedTransaction(self._producers[at], self._first[at], self._last[at], self._stable[at])

    def entries(self) -> list[AbortedTransaction]:
        return [self._entry(at) for at in range(len(self))]

    def is_full(self, limit_bytes: int) -> bool:
        return len(self) >= limit_bytes // _ENTRY.size

    def to_bytes(self, first: int = 0) -> bytes:
        """The entries from the ``first`` on."""
        return b"".join(_ENTRY.pack(_VERSION, *self._entry(at)) for at in range(first, len(self)))

    @classmethod
    def from_bytes(cls, base_offset: int, data: bytes) -> AbortedIndex | None:
        """The index a file holds, or None if no index was ever written like this."""
        if len(data) % _ENTRY.size:
            return None
        index, before, stable_before = cls(), base_offset - 1, -1
        for version, *fields in _ENTRY.iter_unpack(data):
            entry = AbortedTransaction(*fields)
            is_sound = 0 <= entry.first_offset < entry.last_offset and before < entry.last_offset
            is_stable = stable_before <= entry.last_stable_offset <= entry.last_offset + 1
            if version != _VERSION or entry.producer_id < 0 or not (is_sound and is_stable):
                return None
            before, stable_before = entry.last_offset, entry.last_stable_offset
            index.append(entry)
        return index
