"""Which leader wrote which stretch of a log: epochs and the offset each began at. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

__all__ = ["LeaderEpochs"]

UNKNOWN = (-1, -1)


class LeaderEpochs:
    """Epochs and start offsets, both rising. Every change returns whether there is something new to write down."""

    def __init__(self, entries: Iterable[tuple[int, int]] = ()) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []
        for epoch, start in entries:
            self.assign(epoch, start)

    @property
    def latest(self) -> int:
        return self._epochs[-1] if self._epochs else -1

    def entries(self) -> list[tuple[int, int]]:
        return list(zip(self._epochs, self._starts, strict=True))

    def assign(self, epoch: int, start: int) -> bool:
        """``epoch`` begins at ``start``. An epoch not above the latest changes nothing.

        An earlier epoch that would begin at or after ``start`` never wrote anything and goes, as in Kafka.
        """
        if epoch < 0 or epoch <= self.latest:
            return False
        self.cut_back(start)
        self._epochs.append(epoch)
        self._starts.append(start)
        return True

    def epoch_of(self, offset: int) -> int:
        """The epoch that wrote ``offset``, -1 if unknown."""
        at = bisect_right(self._starts, offset) - 1
        return self._epochs[at] if at >= 0 else -1

    def end_offset(self, epoch: int, log_end: int) -> tuple[int, int]:
        """(epoch, end offset) for a peer that last saw ``epoch``: what OffsetsForLeaderEpoch answers."""
        if epoch < 0 or epoch > self.latest:
            return UNKNOWN
        if epoch == self.latest:
            return epoch, log_end
        at = bisect_right(self._epochs, epoch)
        # Before the first known epoch, Java answers the epoch asked for and the first one's start.
        return (epoch if at == 0 else self._epochs[at - 1]), self._starts[at]

    def cut_back(self, end: int) -> bool:
        """The log now ends at ``end``: epochs that begin there or later never happened."""
        before = len(self._epochs)
        while self._starts and self._starts[-1] >= end:
            self._epochs.pop()
            self._starts.pop()
        return len(self._epochs) != before

    def cut_front(self, start: int) -> bool:
        """The log now starts at ``start``: of the epochs before it only the one that wrote it stays, from there."""
        at = bisect_right(self._starts, start) - 1
        if at < 0 or (at == 0 and self._starts[0] == start):
            return False
        del self._epochs[:at], self._starts[:at]
        self._starts[0] = start
        return True
