"""Runs of offsets: one way of saying each set, and set arithmetic that agrees with plain sets."""

from __future__ import annotations

import pytest

from leaselog.spark.runs import Run, count, first, from_json, overlaps, runs_of, split, subtract, to_json


def run(start: int, end: int, value: int = 1, partition: int = 0, topic: str = "t") -> Run:
    return Run(topic, partition, start, end, value)


def test_neighbours_of_one_value_are_one_run() -> None:
    assert runs_of([run(5, 9), run(0, 5)]) == (run(0, 9),)


def test_neighbours_of_two_values_and_of_two_partitions_stay_apart() -> None:
    assert runs_of([run(5, 9, 2), run(0, 5, 1)]) == (run(0, 5, 1), run(5, 9, 2))
    assert runs_of([run(5, 9, partition=1), run(0, 5)]) == (run(0, 5), run(5, 9, partition=1))


def test_the_later_delivery_of_an_offset_is_the_one_that_counts() -> None:
    assert runs_of([run(0, 10, 1), run(4, 6, 2)]) == (run(0, 4, 1), run(4, 6, 2), run(6, 10, 1))


def test_a_run_in_the_middle_is_cut_out() -> None:
    assert subtract([run(0, 10)], [run(2, 4), run(6, 7)]) == [run(0, 2), run(4, 6), run(7, 10)]


def test_the_first_so_many_offsets_are_the_lowest_ones() -> None:
    some = (run(0, 3), run(5, 9), run(0, 2, partition=1))
    assert first(some, 5) == (run(0, 3), run(5, 7))
    assert first(some, 100) == some
    assert first(some, 0) == ()


def test_an_overlap_tells_what_both_say() -> None:
    found = list(overlaps([run(0, 10, 3)], [run(8, 20, 5), run(0, 9, 7, partition=1)]))
    assert [(o.run, o.other_value) for o in found] == [(run(8, 10, 3), 5)]


def test_one_partition_makes_as_many_tasks_as_asked_for() -> None:
    shares = split((run(0, 1000),), 8)
    assert [count(share) for share in shares] == [125] * 8
    assert shares[0][0].start == 0
    assert shares[-1][-1].end == 1000


def test_fewer_records_than_tasks_make_a_task_each() -> None:
    assert split((run(3, 5),), 8) == [(run(3, 4),), (run(4, 5),)]


def test_nothing_makes_no_task() -> None:
    assert split((), 8) == []


def test_runs_survive_the_offset_log() -> None:
    some = runs_of([run(0, 3, 1), run(3, 4, 2), run(7, 9, 1, 1, "u")])
    assert to_json(some) == {"t": {"0": [[0, 3, 1], [3, 4, 2]]}, "u": {"1": [[7, 9, 1]]}}
    assert from_json(to_json(some)) == some


@pytest.mark.parametrize("bad", [None, [], {"t": 3}, {"t": {"0": [[1, 2]]}}, {"t": {"x": [[1, 2, 3]]}}])
def test_what_is_not_runs_is_refused(bad: object) -> None:
    with pytest.raises(ValueError, match="not ranges of offsets"):
        from_json(bad)
