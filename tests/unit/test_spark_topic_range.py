"""Which offsets a batch query over topics reads, and how its tasks share them."""

from __future__ import annotations

import pytest

from leaselog.client import ConfigError
from leaselog.model import TopicPartition
from leaselog.spark.runs import Run, count
from leaselog.spark.topic_range import (
    EARLIEST_EDGE,
    LATEST_EDGE,
    AtTime,
    Boundary,
    LogBounds,
    Offsets,
    Planned,
    chosen_places,
    plan,
    tasks_of,
)

ONE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)
LOG = {ONE: LogBounds(10, 50), OTHER: LogBounds(0, 5)}


def planned(start: Boundary = EARLIEST_EDGE, end: Boundary = LATEST_EDGE) -> Planned:
    return plan(LOG, start, end, {AtTime(7): {ONE: 30, OTHER: -1}})


def run(partition: int, start: int, end: int) -> Run:
    return Run("t", partition, start, end, 0)


def test_a_whole_topic_is_what_its_log_holds() -> None:
    assert planned() == Planned((run(0, 10, 50), run(1, 0, 5)), ())


def test_offsets_and_edges_may_be_mixed() -> None:
    start, end = Offsets({ONE: 20, OTHER: EARLIEST_EDGE}), Offsets({ONE: LATEST_EDGE, OTHER: 3})
    assert planned(start, end).ranges == (run(0, 20, 50), run(1, 0, 3))


def test_a_time_is_the_first_record_so_young_and_else_the_end() -> None:
    assert planned(start=AtTime(7)).ranges == (run(0, 30, 50),)
    assert planned(end=AtTime(7)).ranges == (run(0, 10, 30), run(1, 0, 5))


def test_what_the_log_does_not_hold_is_told_and_left_out() -> None:
    found = planned(Offsets({ONE: 5, OTHER: 2}), Offsets({ONE: 8, OTHER: 9}))
    assert found.ranges == (run(1, 2, 5),)
    assert found.losses == (
        "t-0 begins at 10, asked for from 5",
        "t-1 ends at 5, asked for up to 9",
    )


def test_a_range_that_ends_before_it_begins_is_empty_and_no_loss() -> None:
    assert planned(Offsets({ONE: 40, OTHER: 99}), Offsets({ONE: 40, OTHER: 1})) == Planned((), ())


def test_who_names_offsets_names_exactly_the_partitions_that_are_read() -> None:
    with pytest.raises(ConfigError, match="says nothing of t-1"):
        planned(Offsets({ONE: 1}))
    with pytest.raises(ConfigError, match="endingOffsets names t-2"):
        planned(end=Offsets({ONE: 1, OTHER: 1, TopicPartition("t", 2): 1}))


def test_partitions_are_those_there_are_or_those_that_are_named() -> None:
    assert chosen_places({"t": None, "u": (1,)}, {"t": 2, "u": 2}) == [ONE, OTHER, TopicPartition("u", 1)]
    with pytest.raises(ConfigError, match="names partition 2 of topic t, which has 2"):
        chosen_places({"t": (0, 2)}, {"t": 2})


def test_tasks_are_as_many_as_asked_for_and_more_if_each_would_have_too_much() -> None:
    ranges = planned().ranges
    assert [count(task) for task in tasks_of(ranges, 3, None)] == [15, 15, 15]
    assert [count(task) for task in tasks_of(ranges, 3, 10)] == [9, 9, 9, 9, 9]
    assert tasks_of((), 3, 10) == []
