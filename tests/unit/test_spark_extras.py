"""Delays and reasons of a query's outcomes: they reach the records they were said of, and no others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from leaselog.client import AcknowledgeType
from leaselog.client.share.extras import Extra
from leaselog.model import TopicPartition
from leaselog.spark.extras import extra_columns, extras_of, fits, from_json, joined, placed, to_json
from leaselog.spark.options import BoxOptions
from leaselog.spark.outcome_box import OutcomeBox
from leaselog.spark.outcomes import OUTCOME_COLUMNS
from leaselog.spark.runs import Run

COLUMNS = (*OUTCOME_COLUMNS, "delay_ms", "reason")
LATER, WHY = Extra(delay_ms=500), Extra(reason="bad")


def run(start: int, end: int) -> Run:
    return Run("t", 0, start, end, 0)


def said(*rows: tuple[int, str, Any, Any]) -> Mapping[Extra, Any]:
    return extras_of(COLUMNS, (("t", 0, *row) for row in rows))


def test_only_columns_that_are_there_are_asked_for() -> None:
    assert extra_columns(["topic", "offset", "ack", "partition", "value"]) == ()
    assert extra_columns(["reason", *OUTCOME_COLUMNS]) == (*OUTCOME_COLUMNS, "reason")
    assert extra_columns(COLUMNS) == COLUMNS


def test_records_with_equal_extras_are_one_run() -> None:
    rows = [(offset, "release", 500, None) for offset in range(5)] + [(5, "reject", None, "bad")]
    assert said(*rows) == {LATER: (run(0, 5),), WHY: (run(5, 6),)}


def test_what_does_not_belong_to_the_outcome_is_dropped() -> None:
    assert said((0, "accept", 500, "bad"), (1, "release", None, "bad"), (2, "reject", 500, None)) == {}


def test_a_time_that_has_passed_means_at_once() -> None:
    assert said((0, "RELEASE", -7, None), (1, "release", 0, None)) == {Extra(delay_ms=0): (run(0, 2),)}


def test_a_delay_that_is_no_number_names_its_record() -> None:
    with pytest.raises(ValueError, match="t-0 offset 3: delay_ms is 'soon'"):
        said((3, "release", "soon", None))


def test_several_tasks_are_one_report() -> None:
    assert joined([{LATER: (run(0, 2),)}, {LATER: (run(2, 4),), WHY: (run(9, 10),)}]) == {
        LATER: (run(0, 4),),
        WHY: (run(9, 10),),
    }


def test_the_later_report_holds() -> None:
    by_place = placed([{LATER: (run(0, 3),)}, {Extra(delay_ms=9): (run(1, 2),)}])
    assert by_place == {TopicPartition("t", 0): {0: LATER, 1: Extra(delay_ms=9), 2: LATER}}


def test_what_is_read_is_what_was_written() -> None:
    extras = {LATER: (run(0, 3), run(7, 8)), WHY: (run(4, 5),)}
    assert from_json(to_json(extras)) == extras
    with pytest.raises(ValueError, match="not delays and reasons"):
        from_json([["soon", None, {}]])


def test_a_report_keeps_them_in_its_folder(tmp_path: Path) -> None:
    box = OutcomeBox(BoxOptions("h:1", "g", str(tmp_path), ""))
    box.drop(7, (Run("t", 0, 0, 3, 2),), {LATER: (run(0, 3),)})
    box.drop(8, (Run("t", 0, 3, 4, 1),))
    assert [(report.batch_id, report.extras) for report in box.read()] == [
        (7, {LATER: (run(0, 3),)}),
        (8, {}),
    ]


def test_an_extra_goes_with_one_outcome() -> None:
    assert [fits(LATER, kind) for kind in AcknowledgeType] == [False, True, False, False]
    assert [fits(WHY, kind) for kind in AcknowledgeType] == [False, False, True, False]
