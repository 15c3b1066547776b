"""Runs what is planned: rounds of rows of cases on both brokers in turn. A case that fails is a figure that says so."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

from bench.brokers import Broker
from bench.frame import Case, Figure, Row
from bench.jvm import BROKER_JVM, CLIENT_JVM, Jars, JavaClients
from bench.machine import Moment
from bench.stage import Stage
from bench.warm_up import some_batches, warm_up

__all__ = ["Plan", "Sitting", "Turn"]


class Turn(NamedTuple):
    """One row on one broker, with all its cases."""

    round: int
    durability: str
    row: Row
    kind: str

    def made(self, figure: Figure) -> bool:
        return (figure.round, figure.durability, figure.row, figure.kind) == (
            self.round, self.durability, self.row.name, self.kind
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    rows: Sequence[Row]
    durabilities: Sequence[str]
    rounds: int
    is_quick: bool
    kinds: Sequence[str]
    #: parts of labels; none: every case
    labels: Sequence[str] = ()

    def turns(self) -> Iterator[Turn]:
        """Both brokers of a row follow each other, and take turns in being first."""
        for number in range(1, self.rounds + 1):
            for durability in self.durabilities:
                for row in self.rows:
                    if durability in row.durabilities:
                        kinds = [kind for kind in self.kinds if kind in row.kinds]
                        for kind in kinds if number % 2 else reversed(kinds):
                            yield Turn(number, durability, row, kind)

    def left(self, figures: Iterable[Figure]) -> list[Turn]:
        """What these figures are not enough for: a turn counts if each of its cases was measured, and none failed."""
        measured = [figure for figure in figures if not figure.failed]
        return [turn for turn in self.turns() if not self._has_all(turn, measured)]

    def _has_all(self, turn: Turn, measured: Iterable[Figure]) -> bool:
        wanted = {case.label for case in self.cases(turn.row)}
        return wanted <= {figure.case for figure in measured if turn.made(figure)}

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


class Sitting:
    """The brokers that the rows of one round share: both run and are warm, one rests while the other is measured."""

    def __init__(self, plan: Plan, durability: str, jars: Jars, java: JavaClients, home: Path) -> None:
        self._plan, self._durability, self._jars, self._java, self._home = plan, durability, jars, java, home
        self._warm: dict[str, tuple[Broker, Iterator[int]]] = {}
        self._alone = itertools.count(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        for warm, _ in self._warm.values():
            warm.kill()
        shutil.rmtree(self._home, ignore_errors=True)

    def run(self, turn: Turn) -> Iterator[Figure]:
        """Its figures as they come."""
        failed = ""
        with self._stage(turn) as stage:
            try:
                self._begin(stage, turn.row)
            except Exception as problem:  # noqa: BLE001 - the other rows are still to be measured
                failed = f"no broker to measure on: {_said(problem)}"
            for case in self._plan.cases(turn.row):
                of = Figure(turn.row.name, case.label, turn.kind, turn.durability, turn.round, failed=failed)
                yield of if failed else _measured(stage, turn.row, case, of)

    @contextmanager
    def _stage(self, turn: Turn) -> Iterator[Stage]:
        if turn.row.has_own_broker:
            place = self._home / f"{turn.kind}-{next(self._alone)}"
            broker = Broker(turn.kind, place, self._durability, turn.row.settings, self._jars)
            try:
                yield Stage(broker, self._java, place, self._plan.is_quick)
            finally:
                broker.kill()
                shutil.rmtree(place, ignore_errors=True)
            return
        if turn.kind not in self._warm:
            place = self._home / turn.kind
            broker = Broker(turn.kind, place, self._durability, {}, self._jars)
            self._warm[turn.kind] = broker, itertools.count(1)
        broker, names = self._warm[turn.kind]
        stage = Stage(broker, self._java, broker.home, self._plan.is_quick, names)
        yield stage
        if broker.is_running():
            stage.clear()

    def _begin(self, stage: Stage, row: Row) -> None:
        if row.has_own_broker and row.starts_broker:
            stage.broker.start()
            some_batches(stage)
        elif not row.has_own_broker and not stage.broker.is_running():
            stage.broker.kill()  # what is left of one that ended by itself
            stage.broker.start()
            warm_up(stage)


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
