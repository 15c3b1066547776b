"""What became of the records of a share partition, as far as the state topic tells. Pure.

Of two words about one record the one with the higher delivery count holds, and for equal counts the higher state: that
is how the share coordinator merges what it is told, so the order of updates makes no difference. A snapshot says all
that the coordinator knows from its start offset on; what was said of records behind that stays as it was said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from leaselog.model import RecordState
from leaselog.spark.runs import Run, runs_of, subtract
from leaselog.spark.state_records import SNAPSHOT, StateEntry, Stretch

__all__ = ["PASSED", "ShareHistory"]

#: The group is past the record and the topic does not say how: the word was pruned, or the start was moved over it, by
#: an administrator or because the topic's log begins later now.
PASSED = "passed"
_TERMINAL = (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)
#: a delivery count and a state in one number, which sorts as they do
_STATES = 256


class ShareHistory:
    """One share partition. Feed it its entries in the order of the topic."""

    def __init__(self) -> None:
        self.start_offset: int | None = None
        #: the first offset that the group is known to have been given
        self._begun: int | None = None
        #: of records before the start offset of some snapshot; in no order, and none is behind `_behind_end`
        self._behind: list[Run] = []
        self._behind_end = 0
        #: said by the last snapshot and since then
        self._said: list[Run] = []

    def add(self, entry: StateEntry) -> None:
        """Any entry but a tombstone."""
        if entry.kind == SNAPSHOT:
            self._put_behind(entry.start_offset)
            self._move(entry.start_offset)
        elif entry.start_offset is not None:
            self._move(entry.start_offset)
        self._said += map(_run, entry.stretches)

    def _put_behind(self, start_offset: int | None) -> None:
        """Keep what was said of records before a snapshot's start; all else the snapshot says anew."""
        kept = _below(runs_of(self._said), start_offset)
        if start_offset is None or start_offset < self._behind_end:  # an administrator has set the group back
            self._behind = _below(self._behind, start_offset)
        self._behind += kept
        self._behind_end = start_offset or 0
        self._said = []

    def _move(self, start_offset: int | None) -> None:
        self.start_offset = start_offset
        if start_offset is not None:
            self._begun = start_offset if self._begun is None else min(self._begun, start_offset)

    def records(self) -> Iterator[tuple[Stretch, str | None]]:
        """Everything the topic tells, in order. With a word in the place of a state where it does not tell enough.

        Silence about records from the start offset on means that they were not delivered yet, or for the first time.
        """
        start = self.start_offset
        known = runs_of([*self._behind, *self._said])
        if start is None or self._begun is None:
            yield from ((_stretch(run), None) for run in known)
            return
        silent = subtract([_offsets(self._begun, start)], known)
        for run in sorted([*known, *silent]):
            stretch = _stretch(run)
            if run.value >= 0 and stretch.state in _TERMINAL:
                yield stretch, None
                continue
            if stretch.start < start:
                yield stretch._replace(end=min(stretch.end, start)), PASSED
            if stretch.end > start:
                yield stretch._replace(start=max(stretch.start, start)), None


def _run(stretch: Stretch) -> Run:
    return _offsets(stretch.start, stretch.end, stretch.delivery_count * _STATES + stretch.state)


def _offsets(start: int, end: int, value: int = -1) -> Run:
    return Run("", 0, start, end, value)


def _stretch(run: Run) -> Stretch:
    delivery_count, state = divmod(run.value, _STATES) if run.value >= 0 else (-1, -1)
    return Stretch(run.start, run.end, state, delivery_count)


def _below(some: Iterable[Run], offset: int | None) -> list[Run]:
    """The parts before an offset; nothing if there is none."""
    if offset is None:
        return []
    return [run._replace(end=min(run.end, offset)) for run in some if run.start < offset]
