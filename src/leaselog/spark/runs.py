"""Offsets of partitions as runs: stretches with one value in common, such as a delivery count. Pure.

A batch of a queue is not one range of a partition but many, with holes where others hold records or where work is
done. Everything planned here is in such runs, so that it costs what the number of runs costs, never what the number
of records does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

__all__ = [
    "Overlap",
    "Run",
    "Runs",
    "count",
    "first",
    "from_json",
    "overlaps",
    "runs_of",
    "split",
    "subtract",
    "to_json",
]


class Run(NamedTuple):
    topic: str
    partition: int
    start: int
    #: not part of it
    end: int
    #: what all its offsets have in common: the delivery count, or the outcome
    value: int


#: sorted and disjoint, and neighbours differ in value: one way of saying each thing
Runs = tuple[Run, ...]


class Overlap(NamedTuple):
    """Where two runs meet, and what each says."""

    run: Run
    other_value: int


def runs_of(some: Iterable[Run]) -> Runs:
    """The runs in order. Of offsets that are named more than once the highest value holds."""
    levels = dict[int, list[Run]]()
    for run in some:
        if run.start < run.end:
            levels.setdefault(run.value, []).append(run)
    result: list[Run] = []
    for value in sorted(levels, reverse=True):
        level = _joined(sorted(levels[value]))
        result = sorted([*result, *subtract(level, result)])
    return tuple(_joined(result))


def _joined(some: Iterable[Run]) -> list[Run]:
    """Neighbours and overlapping runs of one value as one; ``some`` is sorted."""
    joined: list[Run] = []
    for run in some:
        last = joined[-1] if joined else None
        if last is not None and _may_join(last, run):
            joined[-1] = last._replace(end=max(last.end, run.end))
        else:
            joined.append(run)
    return joined


def _may_join(last: Run, run: Run) -> bool:
    same_place = last.topic == run.topic and last.partition == run.partition
    return same_place and last.end >= run.start and last.value == run.value


def count(some: Iterable[Run]) -> int:
    return sum(run.end - run.start for run in some)


def first(some: Iterable[Run], most: int) -> Runs:
    """The ``most`` lowest offsets, or all there are."""
    taken: list[Run] = []
    for run in some:
        if most <= 0:
            break
        taken.append(run._replace(end=min(run.end, run.start + most)))
        most -= count(taken[-1:])
    return tuple(taken)


def overlaps(some: Iterable[Run], others: Iterable[Run]) -> Iterator[Overlap]:
    """The parts of ``some`` that are in ``others`` too. Both are sorted and disjoint."""
    left, right = list(some), list(others)
    at = 0
    for run in left:
        while at < len(right) and _is_before(right[at], run):
            at += 1
        here = at
        while here < len(right) and _meets(right[here], run):
            other = right[here]
            start, end = max(run.start, other.start), min(run.end, other.end)
            yield Overlap(run._replace(start=start, end=end), other.value)
            here += 1


def _is_before(one: Run, other: Run) -> bool:
    return (one.topic, one.partition, one.end) <= (other.topic, other.partition, other.start)


def _meets(one: Run, other: Run) -> bool:
    same_place = (one.topic, one.partition) == (other.topic, other.partition)
    return same_place and one.start < other.end and other.start < one.end


def subtract(some: Iterable[Run], others: Iterable[Run]) -> list[Run]:
    """``some`` without the offsets of ``others``. Both are sorted and disjoint."""
    some = list(some)
    taken = deque(found.run for found in overlaps(some, others))
    left: list[Run] = []
    for run in some:
        position = run.start
        while taken and _meets(taken[0], run):
            gone = taken.popleft()
            if position < gone.start:
                left.append(run._replace(start=position, end=gone.start))
            position = gone.end
        if position < run.end:
            left.append(run._replace(start=position))
    return left


def split(some: Runs, parts: int) -> list[Runs]:
    """At most ``parts`` shares of nearly the same number of offsets, in order; none of them is empty."""
    total = count(some)
    parts = max(1, min(parts, total))
    shares: list[list[Run]] = [[] for _ in range(parts)]
    seen = at = 0
    for run in some:
        start = run.start
        while start < run.end:
            room = total * (at + 1) // parts - seen
            if room == 0:
                at += 1
                continue
            end = min(run.end, start + room)
            shares[at].append(run._replace(start=start, end=end))
            seen += end - start
            start = end
    return [tuple(share) for share in shares if share]


Json = Mapping[str, Mapping[str, list[list[int]]]]


def to_json(some: Iterable[Run]) -> dict[str, dict[str, list[list[int]]]]:
    """``{topic: {partition: [[start, end, value], …]}}``, always spelled the same for the same runs."""
    places = dict[str, dict[str, list[list[int]]]]()
    for run in some:
        places.setdefault(run.topic, {}).setdefault(str(run.partition), []).append(
            [run.start, run.end, run.value]
        )
    return places


def from_json(places: Any) -> Runs:
    """Raises ``ValueError`` for what `to_json` cannot have made."""
    try:
        return runs_of(
            Run(topic, int(partition), int(start), int(end), int(value))
            for topic, partitions in places.items()
            for partition, entries in partitions.items()
            for start, end, value in entries
        )
    except (AttributeError, TypeError, ValueError) as bad:
        raise ValueError(f"not ranges of offsets: {places!r:.200}") from bad
