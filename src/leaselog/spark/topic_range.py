"""Which offsets of a topic a batch query reads, and how its tasks share them. Pure.

The log is asked once, when the query is planned; from then on the range is a set of numbers, whatever is written or
deleted meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from leaselog.client import ConfigError
from leaselog.model import TopicPartition
from leaselog.spark.runs import Run, Runs, count, runs_of, split

__all__ = [
    "EARLIEST_EDGE",
    "LATEST_EDGE",
    "AtTime",
    "Boundary",
    "Edge",
    "LogBounds",
    "Offsets",
    "Planned",
    "chosen_places",
    "plan",
    "tasks_of",
    "whole_partitions",
]


class Edge(Enum):
    """Of the log, as it is when the query is planned."""

    EARLIEST = "earliest"
    LATEST = "latest"


EARLIEST_EDGE, LATEST_EDGE = Edge.EARLIEST, Edge.LATEST


@dataclass(frozen=True, slots=True)
class AtTime:
    """The first record that is as young as this or younger; where there is none, the end of the log."""

    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class Offsets:
    """One for each partition that is read."""

    by_place: Mapping[TopicPartition, int | Edge]


#: where a range begins, or where it ends
Boundary = Edge | AtTime | Offsets


@dataclass(frozen=True, slots=True)
class LogBounds:
    """Of one partition: where its log begins, and the offset its next record will have."""

    earliest: int
    latest: int


@dataclass(frozen=True, slots=True)
class Planned:
    ranges: Runs
    #: what was asked for and is not in the log, in words
    losses: tuple[str, ...]


def chosen_places(
    topics: Mapping[str, tuple[int, ...] | None], existing: Mapping[str, int]
) -> list[TopicPartition]:
    """The partitions to read. ``existing`` is how many each topic has. Raises ``ConfigError`` for one too many."""
    places: list[TopicPartition] = []
    for topic, numbers in topics.items():
        numbers = tuple(range(existing[topic])) if numbers is None else numbers
        if numbers and numbers[-1] >= existing[topic]:
            raise ConfigError(
                f"assign names partition {numbers[-1]} of topic {topic}, which has {existing[topic]}"
            )
        places += [TopicPartition(topic, number) for number in numbers]
    return places


def plan(
    bounds: Mapping[TopicPartition, LogBounds],
    start: Boundary,
    end: Boundary,
    by_time: Mapping[AtTime, Mapping[TopicPartition, int]],
) -> Planned:
    """What to read of each place in ``bounds``. ``by_time`` is what the log says of each `AtTime`, -1 for nothing."""
    _check_named("startingOffsets", start, bounds)
    _check_named("endingOffsets", end, bounds)
    ranges: list[Run] = []
    losses: list[str] = []
    for where, log in bounds.items():
        first, last = (_resolved(which, where, log, by_time) for which in (start, end))
        if first < last:
            kept_first, kept_last = max(first, log.earliest), min(last, log.latest)
            if first < kept_first:
                losses.append(f"{where} begins at {log.earliest}, asked for from {first}")
            if last > kept_last:
                losses.append(f"{where} ends at {log.latest}, asked for up to {last}")
            ranges.append(Run(where.topic, where.partition, kept_first, kept_last, 0))
    return Planned(runs_of(ranges), tuple(losses))


def _check_named(name: str, boundary: Boundary, places: Iterable[TopicPartition]) -> None:
    """Like Spark's own source: whoever names one partition names all that are read, and no other."""
    if not isinstance(boundary, Offsets):
        return
    named, read = set(boundary.by_place), set(places)
    for missing in sorted(read - named):
        raise ConfigError(f"{name} says nothing of {missing}; -2 is earliest there and -1 latest")
    for other in sorted(named - read):
        raise ConfigError(f"{name} names {other}, which is not read")


def _resolved(
    boundary: Boundary,
    where: TopicPartition,
    log: LogBounds,
    by_time: Mapping[AtTime, Mapping[TopicPartition, int]],
) -> int:
    named: int | Edge
    match boundary:
        case AtTime():
            found = by_time[boundary][where]
            named = Edge.LATEST if found < 0 else found
        case Offsets():
            named = boundary.by_place[where]
        case Edge():
            named = boundary
    if isinstance(named, int):
        return named
    return log.earliest if named is Edge.EARLIEST else log.latest


def tasks_of(ranges: Runs, parallelism: int, max_task_records: int | None) -> list[Runs]:
    """The work of each task, of nearly the same number of offsets; more tasks than asked for if these were too big."""
    if max_task_records is not None:
        parallelism = max(parallelism, -(-count(ranges) // max_task_records))
    return split(ranges, parallelism)


def whole_partitions(ranges: Iterable[Run], parallelism: int) -> list[Runs]:
    """Tasks for ranges that must not be torn: the largest first, each to whoever has the least."""
    tasks: list[list[Run]] = [[] for _ in range(parallelism)]
    for run in sorted(ranges, key=lambda run: run.start - run.end):
        if run.start < run.end:
            min(tasks, key=count).append(run)
    return [runs_of(task) for task in tasks if task]
