"""What a row of the comparison is, and what comes out of one: cases, figures, medians, ratios.

Owns the arithmetic. Knows nothing of brokers, clients and tables.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["LEASELOG", "KAFKA", "Case", "Figure", "Line", "Measured", "Metric", "Row", "Run", "lines"]

LEASELOG, KAFKA = "leaselog", "kafka"


@dataclass(frozen=True, slots=True)
class Metric:
    """One column of figures. Ratios say how many times better leaselog is, whichever way is better."""

    name: str
    unit: str
    bigger_is_better: bool = True
    #: the ratio that is asked for; None: only told
    target: float | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One line within a row: what is varied, and where its targets differ from the metric's."""

    label: str
    values: Mapping[str, Any] = field(default_factory=dict)
    targets: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measured:
    """What a case came to: a value for each metric, and what the broker's processor did for it."""

    values: Mapping[str, float]
    #: records or jobs in the time that was taken, for the processor time of one
    operations: float = 0
    broker_processor_s: float = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the issue's table. `measure` gets what `bench.stage.Stage` offers, and a case."""

    name: str
    title: str
    client: str
    metrics: tuple[Metric, ...]
    cases: tuple[Case, ...]
    measure: Callable[[Any, Case], Measured]
    #: what one operation is, for the processor time
    operation: str = "record"
    #: cases of `--quick`, by label; none: all
    quick: tuple[str, ...] = ()
    #: what a case takes on a quiet machine of two cores, roughly: for the timetable
    case_s: float = 15.0
    #: settings of both brokers, over their defaults
    settings: Mapping[str, str] = field(default_factory=dict)
    kinds: tuple[str, ...] = (LEASELOG, KAFKA)
    durabilities: tuple[str, ...] = ("os", "fsync")
    #: on a broker that is fresh and knows no other row: for memory, settings, and what ends brokers itself
    has_own_broker: bool = False
    #: whether that runs, and has had some work, before the first case; a row that times a start does it itself
    starts_broker: bool = True
    #: not part of a whole run
    only_when_named: bool = False

    def chosen(self, is_quick: bool) -> tuple[Case, ...]:
        if not (is_quick and self.quick):
            return self.cases
        return tuple(case for case in self.cases if case.label in self.quick)


@dataclass(frozen=True, slots=True)
class Figure:
    """One case of one row on one broker in one round: values, or why there are none."""

    row: str
    case: str
    kind: str
    durability: str
    round: int
    values: Mapping[str, float] = field(default_factory=dict)
    failed: str = ""
    broker_us_per_operation: float = 0
    resident_mb: float = 0
    seconds: float = 0
    load_average: float = 0
    #: processors that neither the broker nor the clients had, on average over the case
    processors_elsewhere: float = 0


@dataclass(slots=True)
class Run:
    """All of one run, as it is kept in JSON."""

    machine: Mapping[str, Any]
    settings: Mapping[str, Any]
    figures: list[Figure] = field(default_factory=list)

    def also_measured_on(self, machine: Mapping[str, Any]) -> None:
        """A run that went on later: what was another then is told beside what it was before."""
        before = self.machine
        self.machine = {
            key: value if before.get(key, value) == value else f"{before[key]}; then {value}"
            for key, value in machine.items()
        }

    def as_json(self) -> str:
        """A figure on each line, so that a change of some is a change of these lines."""
        head = json.dumps({"machine": dict(self.machine), "settings": dict(self.settings)}, indent=1)
        figures = ",\n".join(json.dumps(asdict(figure)) for figure in self.figures)
        return f'{head.removesuffix("}").rstrip()},\n "figures": [\n{figures}\n]\n}}\n'

    @classmethod
    def of_json(cls, text: str) -> Run:
        data = json.loads(text)
        figures = [Figure(**figure) for figure in data["figures"]]
        return cls(data["machine"], data["settings"], figures)


@dataclass(frozen=True, slots=True)
class Line:
    """One metric of one case over all rounds."""

    row: Row
    case: Case
    metric: Metric
    durability: str
    ours: float | None
    theirs: float | None
    #: the median over the rounds of each round's own ratio
    ratio: float | None
    target: float | None
    #: microseconds of the broker's processor for one operation
    our_us: float | None
    their_us: float | None
    failed: Sequence[str] = ()

    @property
    def is_behind(self) -> bool:
        return self.target is not None and self.ratio is not None and self.ratio < self.target


def lines(rows: Iterable[Row], figures: Iterable[Figure]) -> list[Line]:
    """Every metric of every case that was run, in the rows' order."""
    by_case: dict[tuple[str, str, str], list[Figure]] = {}
    for figure in figures:
        by_case.setdefault((figure.row, figure.case, figure.durability), []).append(figure)
    return [
        _line(row, case, metric, durability, found)
        for row in rows
        for durability in row.durabilities
        for case in row.cases
        if (found := by_case.get((row.name, case.label, durability)))
        for metric in row.metrics
    ]


def _line(row: Row, case: Case, metric: Metric, durability: str, found: Sequence[Figure]) -> Line:
    seen = {kind: [figure for figure in found if figure.kind == kind] for kind in (LEASELOG, KAFKA)}
    values = {
        kind: {f.round: f.values[metric.name] for f in of if metric.name in f.values}
        for kind, of in seen.items()
    }
    used = {
        kind: [f.broker_us_per_operation for f in of if f.broker_us_per_operation]
        for kind, of in seen.items()
    }
    ours, theirs = values[LEASELOG], values[KAFKA]
    ratios = [
        ratio
        for turn in ours.keys() & theirs.keys()
        if (ratio := _ratio(ours[turn], theirs[turn], bigger_is_better=metric.bigger_is_better)) is not None
    ]
    return Line(
        row, case, metric, durability,
        _median(ours.values()), _median(theirs.values()), _median(ratios),
        case.targets.get(metric.name, metric.target),
        _median(used[LEASELOG]), _median(used[KAFKA]),
        [f"{f.kind}, round {f.round}: {f.failed}" for f in found if f.failed],
    )  # fmt: skip


def _ratio(ours: float, theirs: float, *, bigger_is_better: bool) -> float | None:
    good, beside = (ours, theirs) if bigger_is_better else (theirs, ours)
    return good / beside if beside > 0 else None


def _median(values: Iterable[float]) -> float | None:
    found = list(values)
    return statistics.median(found) if found else None
