"""How far delivery of a share partition's records has come: stretches of offsets with their state and count, and
until when they wait.

Kept as few sorted stretches as can say it. Where two stretches speak of the same offset the one with the higher
delivery count wins, for equal counts the higher state, then the later due time: what is stored only ever moves up. So
the order in which writes are merged, and what was merged beforehand, makes no difference to the outcome.

A write touches a few stretches among thousands, so it is spliced in between its neighbours.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from leaselog.model import BrokenInvariant

__all__ = ["NO_OFFSET", "StateBatch", "StateBatches", "combine"]

#: a start offset that is not known, or is to stay what it is
NO_OFFSET = -1

_START, _END = itemgetter(0), itemgetter(1)


class StateBatch(NamedTuple):
    """Offsets in ``[start, end)`` of one delivery state (Kafka's number for it) and one delivery count."""

    start: int
    end: int
    state: int
    delivery_count: int
    #: the time of day before which they are not delivered again; 0: at once
    due_ms: int = 0

    @property
    def rank(self) -> tuple[int, int, int]:
        """Of two that speak of one offset, the higher holds."""
        return self.delivery_count, self.state, self.due_ms


class StateBatches:
    """Sorted, disjoint, and no two neighbours alike."""

    def __init__(self, batches: Iterable[StateBatch] = ()) -> None:
        self._batches: list[StateBatch] = []
        self.add(batches)

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[StateBatch]:
        return iter(self._batches)

    @property
    def end(self) -> int:
        """NO_OFFSET without any."""
        return self._batches[-1].end if self._batches else NO_OFFSET

    def copy(self) -> StateBatches:
        twin = StateBatches()
        twin._batches = self._batches.copy()
        return twin

    def add(self, batches: Iterable[StateBatch]) -> None:
        """Merges them in, in any order. Each costs what it touches."""
        for batch in batches:
            if batch.start < batch.end:
                self._splice(batch)

    def cut(self, start: int) -> None:
        """Forgets all below ``start``."""
        batches = self._batches
        if not batches or batches[0].start >= start:
            return
        del batches[: bisect_right(batches, start, key=_END)]
        if batches and batches[0].start < start:
            batches[0] = batches[0]._replace(start=start)

    def _splice(self, batch: StateBatch) -> None:
        # Also neighbours that merely touch, which may be alike.
        first = bisect_left(self._batches, batch.start, key=_END)
        end = bisect_right(self._batches, batch.end, lo=first, key=_START)
        if first == end:
            self._batches.insert(first, batch)
        else:
            held = self._batches[first:end]
            self._batches[first:end] = _joined(held, batch) or _merged(held, batch)

    def check(self) -> None:
        """Raise ``BrokenInvariant`` unless this is the shortest way to say what it says."""
        for a, b in zip(self._batches, self._batches[1:], strict=False):
            if a.end > b.start or (a.end == b.start and a.rank == b.rank):
                raise BrokenInvariant(f"{a} before {b}")
        if any(b.start >= b.end for b in self._batches):
            raise BrokenInvariant(f"an empty stretch among {self._batches!r:.500}")


def combine(*groups: Sequence[StateBatch], start: int = NO_OFFSET) -> tuple[StateBatch, ...]:
    """All of them as one, without what lies below ``start`` unless that is unknown."""
    if len(groups) == 1 and len(groups[0]) == 1 and start <= groups[0][0].start < groups[0][0].end:
        return tuple(groups[0])  # nothing to merge or to cut: nearly every write says one thing
    merged = StateBatches(batch for group in groups for batch in group)
    if start != NO_OFFSET:
        merged.cut(start)
    return tuple(merged)


def _joined(held: list[StateBatch], new: StateBatch) -> list[StateBatch] | None:
    """What ``_merged`` makes of them if all say the same: the one stretch that they cover. None if they do not.

    What is delivered in order is acknowledged in about that order, so nearly every write only makes a stretch longer.
    """
    said = new[2:]
    for old in held:
        if old[2:] != said:
            return None
    start, end = held[0].start, held[-1].end
    if new.start < start:
        start = new.start
    if new.end > end:
        end = new.end
    return [StateBatch(start, end, *said)]


def _merged(held: list[StateBatch], new: StateBatch) -> list[StateBatch]:
    """``held``, sorted and touching ``new``, with ``new`` among them."""
    pieces: list[StateBatch] = []
    position = new.start  # up to here ``new`` is dealt with
    for old in held:
        _append(pieces, new, position, min(old.start, new.end))
        _append(pieces, old, old.start, min(old.end, new.start))
        _append(pieces, max(old, new, key=_rank), max(old.start, new.start), min(old.end, new.end))
        _append(pieces, old, max(old.start, new.end), old.end)
        position = max(position, old.end)
    _append(pieces, new, position, new.end)
    return pieces


def _append(pieces: list[StateBatch], like: StateBatch, start: int, end: int) -> None:
    if start >= end:
        return
    if pieces and pieces[-1].end == start and pieces[-1].rank == like.rank:
        start = pieces.pop().start
    pieces.append(StateBatch(start, end, like.state, like.delivery_count, like.due_ms))


def _rank(batch: StateBatch) -> tuple[int, int, int]:
    return batch.delivery_count, batch.state, batch.due_ms
