"""Which transactions are open in one partition, and so how far a reader of committed records may see. Pure.

A transaction is open from its first batch until its marker can be read. A marker that is in the log and not yet durable
holds readers up as if it were not there: a crash may still take it, and the transaction's end with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from leaselog.log.aborted_index import AbortedTransaction

__all__ = ["OpenTransactions"]


class _Ended(NamedTuple):
    first_offset: int
    #: one past its marker
    end_offset: int


class OpenTransactions:
    """By their producers, each of which has one at most."""

    __slots__ = ("_ended", "_open")

    def __init__(self, open_ones: Iterable[tuple[int, int]] = ()) -> None:
        """Each with its producer and its first offset."""
        #: in the order they began
        self._open = dict(sorted(open_ones, key=lambda one: one[1]))
        #: in the order of their markers, of which readers have not been offered the last ones
        self._ended = deque[_Ended]()

    def __len__(self) -> int:
        return len(self._open)

    def begin(self, producer_id: int, first_offset: int) -> None:
        self._open[producer_id] = first_offset

    def end(self, producer_id: int, marker_offset: int) -> AbortedTransaction | None:
        """The marker is in the log. What an index would say of the transaction if it was aborted; None if there was
        none, which is no transaction that any reader must know of."""
        first_offset = self._open.pop(producer_id, None)
        if first_offset is None:
            return None
        self._ended.append(_Ended(first_offset, marker_offset + 1))
        stable = next(iter(self._open.values()), marker_offset + 1)
        return AbortedTransaction(producer_id, first_offset, marker_offset, stable)

    def first_open(self) -> int | None:
        """Where the oldest begins that has no marker; None without any."""
        return next(iter(self._open.values()), None)

    def stable_end(self, visible_end: int) -> int:
        """The last stable offset where readers may see up to ``visible_end``, which never goes back."""
        if not self._open and not self._ended:
            return visible_end
        ended = self._ended
        while ended and ended[0].end_offset <= visible_end:
            ended.popleft()
        return min(
            visible_end, next(iter(self._open.values()), visible_end), *(one.first_offset for one in ended)
        )
