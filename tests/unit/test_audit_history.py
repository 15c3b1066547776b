"""What an audit saw, judged by the checker of the simulations: what is wrong for one is wrong for the other."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from leaselog.cli.audit_history import judged
from leaselog.spark.verdicts import Seen
from leaselog.testing.share_history import read_lines
from leaselog.testing.share_history_check import RecordPosition, Rules, judge

WANTED, OTHER = 0x11, -2


def seen(**changes: object) -> Seen:
    """A record that was accepted at its first delivery."""
    return Seen(0, 7, True, WANTED, WANTED, 1, "acknowledged", 1)._replace(**changes)  # type: ignore[arg-type]


def rules_broken(*records: Seen) -> set[str]:
    return {violation.rule for violation in judged(records)[0].violations}


@pytest.mark.parametrize(
    "record",
    [
        seen(),
        seen(state="passed"),
        seen(deliveries=4),
        seen(deliveries=None),
        seen(wanted=None, found=None, rows=0, state="archived"),
        seen(wanted=None, found=None, rows=0, state="passed"),
        seen(found=None, rows=0, state="archived", deliveries=5),
    ],
)
def test_a_record_that_is_accounted_for_breaks_no_rule(record: Seen) -> None:
    assert rules_broken(record) == set()


@pytest.mark.parametrize(
    ("record", "rule"),
    [
        (seen(rows=0, found=None), "lost"),
        (seen(rows=0, found=None, state="passed"), "lost"),
        (seen(rows=0, found=None, state="open"), "lost"),
        (seen(rows=0, found=None, state="acquired"), "lost"),
        (seen(state="open"), "lost"),
        (seen(rows=2), "undone"),
        (seen(state="archived"), "undone"),
        (seen(found=OTHER), "invented"),
        (seen(wanted=None, found=OTHER), "invented"),
        (seen(is_record=False, wanted=None, found=OTHER), "invented"),
        (seen(wanted=None, rows=0, found=None, state="acknowledged"), "lost"),
    ],
)
def test_each_way_of_not_being_accounted_for_breaks_its_rule(record: Seen, rule: str) -> None:
    assert rule in rules_broken(record)


def test_what_is_wrong_with_one_record_is_said_of_no_other() -> None:
    verdict, _ = judged([seen(offset=5), seen(offset=6, rows=2), seen(offset=7), seen(partition=1, rows=0)])
    assert {violation.place for violation in verdict.violations} == {
        RecordPosition(0, 6),
        RecordPosition(1, 7),
    }


def test_every_combination_that_can_be_is_judged_without_complaint_of_the_history_itself() -> None:
    states = ("acknowledged", "archived", "passed", "open", "available", "acquired", "archiving")
    for is_record, wanted, rows, state in product((True, False), (WANTED, None), (0, 1, 2), states):
        record = seen(
            is_record=is_record, wanted=wanted, rows=rows, state=state, found=WANTED if rows else None
        )
        judged([record])


def test_the_history_that_is_written_down_is_the_one_that_was_judged(tmp_path: Path) -> None:
    records = [seen(offset=5), seen(offset=6, rows=2)]
    verdict, events = judged(records, tmp_path / "history.jsonl")
    with (tmp_path / "history.jsonl").open() as lines:
        again = list(read_lines(lines))
    assert len(again) == events
    assert judge(again, Rules(100, 0, through={0: 7})).violations == verdict.violations
