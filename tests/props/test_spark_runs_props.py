"""Runs of offsets against plain sets of offsets, and batches that lose and invent nothing when they are split."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from leaselog.client import AcknowledgeType
from leaselog.spark.batch import Batch
from leaselog.spark.outcomes import decide, merged
from leaselog.spark.runs import Run, count, overlaps, runs_of, split, subtract

Place = tuple[str, int, int]

raw_runs = st.lists(
    st.builds(
        lambda topic, partition, start, size, value: Run(topic, partition, start, start + size, value),
        st.sampled_from("ab"),
        st.integers(0, 2),
        st.integers(0, 40),
        st.integers(0, 12),
        st.integers(1, 3),
    ),
    max_size=12,
)
runs = raw_runs.map(runs_of)


def values(some: object) -> dict[Place, int]:
    result = dict[Place, int]()
    for run in some:  # type: ignore[attr-defined]
        for offset in range(run.start, run.end):
            place = (run.topic, run.partition, offset)
            result[place] = max(result.get(place, 0), run.value)
    return result


@given(raw_runs)
def test_runs_say_each_offset_once_with_its_highest_value_and_as_briefly_as_can_be(raw: list[Run]) -> None:
    made = runs_of(raw)
    assert values(made) == values(raw)
    assert count(made) == len(values(raw))
    assert runs_of(reversed(made)) == made
    for one, other in pairwise(made):
        assert one < other
        assert (one.topic, one.partition, one.end, one.value) != (
            other.topic,
            other.partition,
            other.start,
            other.value,
        )


@given(runs, runs)
def test_subtracting_and_overlapping_are_what_they_are_for_sets(
    some: tuple[Run, ...], others: tuple[Run, ...]
) -> None:
    left, right = values(some), values(others)
    assert values(subtract(some, others)) == {p: v for p, v in left.items() if p not in right}
    both = [(found.run, found.other_value) for found in overlaps(some, others)]
    assert values(run for run, _ in both) == {p: v for p, v in left.items() if p in right}
    assert values(run._replace(value=other) for run, other in both) == {
        p: v for p, v in right.items() if p in left
    }


@given(runs, st.integers(1, 40))
def test_tasks_share_a_batch_evenly_and_completely(some: tuple[Run, ...], parts: int) -> None:
    shares = split(some, parts)
    assert len(shares) == min(parts, count(some))
    assert [place for share in shares for place in values(share)] == list(values(some))
    if shares:
        sizes = [count(share) for share in shares]
        assert max(sizes) - min(sizes) <= 1


@given(st.integers(0, 10**9), runs)
def test_a_batch_comes_back_from_the_offset_log_as_it_went(number: int, some: tuple[Run, ...]) -> None:
    batch = Batch(number, some)
    text = json.dumps(batch.to_offset())
    assert Batch.from_offset(json.loads(text)) == batch
    assert json.dumps(Batch.from_offset(json.loads(text)).to_offset()) == text


@given(
    runs, st.lists(raw_runs, max_size=3), st.sampled_from([AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE])
)
def test_every_record_of_a_batch_has_one_outcome_and_no_other_record_has(
    batch: tuple[Run, ...], reports: list[list[Run]], unmentioned: AcknowledgeType
) -> None:
    said = dict[Place, set[int]]()
    for report in reports:
        for run in report:
            for place in values([run]):
                said.setdefault(place, set()).add(run.value)
    decision = decide(batch, merged(reports), unmentioned)
    found = {
        place: outcome
        for outcome, some in (
            (AcknowledgeType.ACCEPT, decision.accepted),
            (AcknowledgeType.RELEASE, decision.released),
            (AcknowledgeType.REJECT, decision.rejected),
        )
        for place in values(some)
    }
    assert found.keys() == values(batch).keys()
    assert count(decision.accepted) + count(decision.released) + count(decision.rejected) == count(batch)
    careful = [AcknowledgeType.RELEASE, AcknowledgeType.REJECT, AcknowledgeType.ACCEPT]
    for place, outcome in found.items():
        expected = next((kind for kind in careful if kind in said.get(place, ())), unmentioned)
        assert outcome == expected
