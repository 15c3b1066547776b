"""What has been said to whoever keeps share state, and whether what is read back and where starts are moved fits it.

Dull on purpose, as the checker of histories is: a line for every offset and every pair of state and delivery count that
was ever to be written of it, whether or not the write was answered. Two rules:

    what is read     is what was answered or more; and nothing that nobody ever asked to have written
    a start          passes what is finished for good, and what the log does not hold; nothing else

A write that has not been answered may have been done or not. A new beginning (an administrator sets offsets, or the
group goes) starts a new page.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from leaselog.coordination.share_state_batches import NO_OFFSET, StateBatch
from leaselog.coordination.share_state_commands import StateRead, WriteState
from leaselog.share import RecordState

__all__ = ["Asked", "StateBook"]

_ARCHIVED = RecordState.ARCHIVED.value
_TERMINAL = (RecordState.ACKNOWLEDGED.value, _ARCHIVED)


class _Rank(NamedTuple):
    """Of two that speak of one offset the higher holds."""

    delivery_count: int
    state: int
    due_ms: int


#: below all that is ever said
NOTHING = _Rank(-1, 0, 0)


@dataclass(slots=True)
class _Page:
    """From one beginning to the next."""

    #: something has been read
    is_known: bool = False
    #: the highest that was ever asked for, and the highest that certainly is written; None before there is one
    start: int | None = None
    answered_start: int = NO_OFFSET
    #: all that may have been written, by offset
    asked: dict[int, set[_Rank]] = field(default_factory=dict)
    #: what certainly was
    answered: dict[int, _Rank] = field(default_factory=dict)
    #: finished, although writing it failed: leases that ended for the last time, dead letters that are written
    stands: set[int] = field(default_factory=set)

    def is_finished(self, offset: int) -> bool:
        known = self.answered.get(offset)
        return offset in self.stands or (known is not None and known.state in _TERMINAL)


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A question that is under way."""

    page: _Page
    #: of the writes that had been answered when it was asked
    answered: dict[int, _Rank] = field(default_factory=dict)
    answered_start: int = NO_OFFSET


class StateBook:
    """Of one key."""

    def __init__(self) -> None:
        self._page = _Page()

    def begins_anew(self) -> None:
        self._page = _Page()

    def write_asked(self, ask: WriteState) -> tuple[Asked, list[int]]:
        """The offsets that the start passes with it and that are not known to be finished."""
        page = self._page
        passed = []
        if page.start is not None and ask.start_offset != NO_OFFSET:
            passed = [o for o in range(page.start, ask.start_offset) if not page.is_finished(o)]
        if ask.start_offset != NO_OFFSET:
            page.start = max(page.start or 0, ask.start_offset)
        for offset, rank in _each(ask.batches):
            page.asked.setdefault(offset, set()).add(rank)
        return Asked(page), passed

    def write_ended(self, asked: Asked, ask: WriteState, *, ok: bool) -> None:
        page = asked.page
        if ok:
            page.answered_start = max(page.answered_start, ask.start_offset)
        for offset, rank in _each(ask.batches):
            if ok:
                page.answered[offset] = max(rank, page.answered.get(offset, rank))
            elif rank.state == _ARCHIVED:
                page.stands.add(offset)

    def read_asked(self) -> Asked:
        page = self._page
        return Asked(page, dict(page.answered), page.answered_start)

    def read_answered(self, asked: Asked, told: StateRead) -> list[str]:
        """What is wrong with the answer. What it says is what there is from now on."""
        page = asked.page
        if page is not self._page:
            return []
        found, start = dict(_each(told.batches)), told.start_offset
        wrong: list[str] = []
        if page.is_known:
            wrong = [*_too_little(asked, start, found), *_too_much(page, found)]
            if not asked.answered_start <= start <= max(asked.answered_start, page.start or start):
                wrong.append(
                    f"the start is {start}, {asked.answered_start} was answered, {page.start} asked for"
                )
        page.is_known = True
        page.answered_start = max(page.answered_start, start)
        if start != NO_OFFSET:
            page.start = max(page.start or 0, start)
        for offset, rank in found.items():
            page.asked.setdefault(offset, set()).add(rank)
            page.answered[offset] = max(rank, page.answered.get(offset, rank))
        return wrong


def _too_little(asked: Asked, start: int, found: dict[int, _Rank]) -> Iterator[str]:
    for offset, rank in asked.answered.items():
        if offset >= start and found.get(offset, NOTHING) < rank:
            yield f"{offset} was answered as {rank} and is read as {found.get(offset)}"


def _too_much(page: _Page, found: dict[int, _Rank]) -> Iterator[str]:
    for offset, rank in found.items():
        if rank not in page.asked.get(offset, ()):
            yield f"{offset} is read as {rank}, which nobody ever wrote"


def _each(batches: Collection[StateBatch]) -> Iterator[tuple[int, _Rank]]:
    for batch in batches:
        rank = _Rank(*batch.rank)
        for offset in range(batch.start, batch.end):
            yield offset, rank
