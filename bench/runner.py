"""Runs what is planned: rounds of rows of cases on both brokers in turn. A case that fails is a figure that says so."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.brokers import Broker
from bench.frame import Case, Figure, Row
from bench.jvm import BROKER_JVM, CLIENT_JVM, Jars, JavaClients
from bench.machine import Moment
from bench.stage import Stage
from bench.warm_up import warm_up

__all__ = ["Plan", "run_all"]


@dataclass(frozen=True, slots=True)
class Plan:
    rows: Sequence[Row]
    durabilities: Sequence[str]
    rounds: int
    is_quick: bool
    kinds: Sequence[str]
    #: parts of labels; none: every case
    labels: Sequence[str] = ()

    def turns(self) -> Iterator[tuple[int, str, Row, str]]:
        """Round, durability, row and broker: both brokers of a row follow each other, and take turns in being first."""
        for number in range(1, self.rounds + 1):
            for durability in self.durabilities:
                for row in self.rows:
                    if durability in row.durabilities:
                        kinds = [kind for kind in self.kinds if kind in row.kinds]
                        for kind in kinds if number % 2 else reversed(kinds):
                            yield number, durability, row, kind

    def cases(self, row: Row) -> list[Case]:
        chosen = row.chosen(self.is_quick and not self.labels)
        return [case for case in chosen if not self.labels or any(part in case.label for part in self.labels)]

    def settings(self) -> dict[str, str]:
        return {
            "rounds": f"{self.rounds}{', quick: few cases with few records' * self.is_quick}",
            "brokers' settings": "shipped defaults, replication factor 1; `durability=os` beside Kafka's default, "
            "`durability=fsync` beside `log.flush.interval.messages=1`",
            "Kafka's JVM": f"`{' '.join(BROKER_JVM)}`",
            "Java clients' JVM": f"`{' '.join(CLIENT_JVM)}`",
        }  # fmt: skip


def run_all(plan: Plan, jars: Jars, home: Path) -> Iterator[Figure]:
    java = JavaClients(jars, home / "classes")
    for turn, (number, durability, row, kind) in enumerate(plan.turns()):
        place = home / f"{turn}-{kind}"
        broker = Broker(kind, place, durability, row.settings, jars)
        try:
            stage = Stage(broker, java, place, plan.is_quick)
            yield from _run_row(stage, row, plan.cases(row), number, durability)
        finally:
            broker.kill()
            shutil.rmtree(place, ignore_errors=True)


def _run_row(stage: Stage, row: Row, cases: Sequence[Case], number: int, durability: str) -> Iterator[Figure]:
    failed = ""
    if row.starts_broker:
        try:
            stage.broker.start()
            warm_up(stage)
        except Exception as problem:  # noqa: BLE001 - the other rows are still to be measured
            failed = f"no broker to measure on: {_said(problem)}"
    for case in cases:
        of = Figure(row.name, case.label, stage.broker.kind, durability, number, failed=failed)
        yield of if failed else _measured(stage, row, case, of)


def _measured(stage: Stage, row: Row, case: Case, of: Figure) -> Figure:
    began, used_s = Moment.now(), _processor_s(stage.broker)
    try:
        measured = row.measure(stage, case)
    except Exception as problem:  # noqa: BLE001 - reported with the row, which the others need not pay for
        return _with(of, failed=_said(problem), load_average=os.getloadavg()[0])
    ended = Moment.now()
    # a broker that was started anew has a clock of its own
    broker_s = max(0.0, _processor_s(stage.broker) - used_s)
    each_us = measured.broker_processor_s / measured.operations * 1e6 if measured.operations else 0.0
    return _with(
        of,
        values=dict(measured.values),
        broker_us_per_operation=each_us,
        resident_mb=stage.broker.resident_mb(),
        seconds=ended.at - began.at,
        load_average=os.getloadavg()[0],
        processors_elsewhere=began.processors_elsewhere(ended, broker_s),
    )


def _with(figure: Figure, **more: object) -> Figure:
    return Figure(figure.row, figure.case, figure.kind, figure.durability, figure.round, **more)  # type: ignore[arg-type]


def _processor_s(broker: Broker) -> float:
    return broker.processor_s() if broker.is_running() else 0.0


def _said(problem: Exception) -> str:
    return " ".join(f"{type(problem).__name__}: {problem}".split())[:300]
