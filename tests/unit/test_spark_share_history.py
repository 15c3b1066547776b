"""What the state topic tells of a share partition's records: words that only move up, a start, and silence."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model import RecordState
from leaselog.spark.share_history import PASSED, ShareHistory
from leaselog.spark.state_records import SNAPSHOT, UPDATE, SharePlace, StateEntry, Stretch

AVAILABLE, ACKNOWLEDGED, ARCHIVED = RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED
PLACE = SharePlace("g", UUID(int=7), 0)
Said = tuple[int, int, int, int]


def snapshot(start: int | None, *stretches: Said) -> StateEntry:
    return StateEntry(SNAPSHOT, PLACE, start, stretches=tuple(Stretch(*one) for one in stretches))


def update(start: int | None, *stretches: Said) -> StateEntry:
    return StateEntry(UPDATE, PLACE, start, stretches=tuple(Stretch(*one) for one in stretches))


def told(entries: Sequence[StateEntry]) -> list[tuple[int, int, int | str, int]]:
    history = ShareHistory()
    for entry in entries:
        history.add(entry)
    return [
        (stretch.start, stretch.end, word or RecordState(stretch.state), stretch.delivery_count)
        for stretch, word in history.records()
    ]


def test_a_record_has_the_last_word_that_was_said_of_it() -> None:
    entries = [
        snapshot(0),
        update(0, (0, 10, AVAILABLE, 1)),
        update(0, (0, 6, ACKNOWLEDGED, 2), (6, 8, AVAILABLE, 2)),
        update(6, (6, 7, ARCHIVED, 3)),
    ]
    assert told(entries) == [
        (0, 6, ACKNOWLEDGED, 2),
        (6, 7, ARCHIVED, 3),
        (7, 8, AVAILABLE, 2),
        (8, 10, AVAILABLE, 1),
    ]


def test_updates_that_arrive_in_another_order_say_the_same() -> None:
    one, other = update(None, (0, 5, AVAILABLE, 1)), update(None, (2, 3, ACKNOWLEDGED, 2))
    assert told([snapshot(0), one, other]) == told([snapshot(0), other, one])


def test_what_was_said_of_records_behind_the_start_outlives_the_snapshots_that_leave_it_out() -> None:
    entries = [
        snapshot(0),
        update(0, (0, 4, ACKNOWLEDGED, 1), (4, 6, AVAILABLE, 2)),
        snapshot(4, (4, 6, AVAILABLE, 2)),
        update(4, (4, 6, ARCHIVED, 3)),
        snapshot(6),
    ]
    assert told(entries) == [(0, 4, ACKNOWLEDGED, 1), (4, 6, ARCHIVED, 3)]


def test_silence_and_unfinished_words_behind_the_start_are_told_as_passed() -> None:
    """The topic's beginning may be pruned, and a start may be moved over records."""
    entries = [snapshot(3, (5, 6, ACKNOWLEDGED, 1), (6, 8, AVAILABLE, 2)), update(7)]
    assert told(entries) == [
        (3, 5, PASSED, -1),
        (5, 6, ACKNOWLEDGED, 1),
        (6, 7, PASSED, 2),
        (7, 8, AVAILABLE, 2),
    ]


def test_a_group_that_was_set_back_begins_anew_there() -> None:
    entries = [
        snapshot(0),
        update(0, (0, 10, ACKNOWLEDGED, 1)),
        snapshot(10),
        snapshot(4),  # an administrator's
        update(4, (4, 5, ACKNOWLEDGED, 1)),
    ]
    assert told(entries) == [(0, 5, ACKNOWLEDGED, 1)]


def test_a_group_that_has_not_begun_tells_nothing() -> None:
    assert told([snapshot(None)]) == []
