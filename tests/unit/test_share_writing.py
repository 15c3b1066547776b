"""What one write makes durable: one batch for neighbours that are to be alike, in whatever order they come."""

from __future__ import annotations

from share_driver import A

from leaselog.share import RecordState, StateSpan, WriteToken
from leaselog.share.inflight import Cell
from leaselog.share.writing import Writing

AVAILABLE, ACQUIRED, ARCHIVED = RecordState.AVAILABLE, RecordState.ACQUIRED, RecordState.ARCHIVED
TOKEN = WriteToken(7)
BACK = Cell(AVAILABLE, 2)
MARKED = Cell(ACQUIRED, 2, A, 100, TOKEN, AVAILABLE)


def test_neighbours_that_are_to_be_alike_are_one_batch() -> None:
    writing = Writing(TOKEN)
    assert writing.add([(0, 3, BACK), (3, 5, MARKED), (5, 6, Cell(ARCHIVED, 2)), (8, 9, BACK)]) == 7
    assert writing.spans() == (
        StateSpan(0, 5, AVAILABLE, 2),
        StateSpan(5, 6, ARCHIVED, 2),
        StateSpan(8, 9, AVAILABLE, 2),
    )


def test_other_counts_are_other_batches() -> None:
    writing = Writing(TOKEN)
    writing.add([(0, 3, BACK), (3, 5, Cell(AVAILABLE, 1))])
    assert writing.spans() == (StateSpan(0, 3, AVAILABLE, 2), StateSpan(3, 5, AVAILABLE, 1))


def test_what_comes_out_of_order_is_put_in_order() -> None:
    writing = Writing(TOKEN)
    writing.add([(6, 9, BACK)])
    writing.add([(0, 3, MARKED)])
    writing.add([(3, 6, BACK)])
    assert writing.spans() == (StateSpan(0, 9, AVAILABLE, 2),)
    assert writing.marked() == [(0, 3)]


def test_only_what_carries_the_token_waits_for_the_write() -> None:
    writing = Writing(TOKEN)
    writing.add([(0, 2, MARKED), (2, 4, MARKED), (4, 5, BACK), (5, 6, MARKED._replace(write=8))])
    assert writing.marked() == [(0, 4)]


def test_nothing_gathered_is_nothing_to_write() -> None:
    assert Writing(TOKEN).spans() == ()
