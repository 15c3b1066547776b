"""The table of a run, and its place in the documentation: between two markers, so that prose around it stays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from bench.frame import Line, Row, Run, lines

__all__ = ["BEGIN", "END", "between_markers", "render", "write_into"]

BEGIN = "<!-- bench: begin, written by `make bench` -->"
END = "<!-- bench: end -->"


def render(run: Run, rows: Sequence[Row]) -> str:
    """Markdown: machine and settings, a table for each row, what failed, what is behind its target."""
    found = lines(rows, run.figures)
    parts = [_facts(run.machine, run.settings, run)]
    for row, of in groupby(found, key=lambda line: line.row):
        parts.append(_table(row, list(of)))
    parts.append(_behind(found))
    return "\n\n".join(parts) + "\n"


def write_into(page: Path, text: str) -> None:
    """In place of what lies between the markers; refuses a page without them."""
    page.write_text(between_markers(page.read_text(), text))


def between_markers(page: str, text: str) -> str:
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page has no {BEGIN!r} followed by {END!r}")
    return f"{before}{BEGIN}\n\n{text.strip()}\n\n{END}{after}"


def _facts(machine: Mapping[str, Any], settings: Mapping[str, Any], run: Run) -> str:
    facts = {**machine, **settings}
    loads = sorted(figure.load_average for figure in run.figures)
    elsewhere = sorted(figure.processors_elsewhere for figure in run.figures)
    if loads:
        facts["load average while it ran"] = f"{loads[len(loads) // 2]:.1f} (median), {loads[-1]:.1f} at most"
        facts["processors that had other work"] = (
            f"{elsewhere[len(elsewhere) // 2]:.2f} (median), {elsewhere[-1]:.2f} at most"
        )
    return "\n".join(["| of this run | |", "| --- | --- |", *(f"| {k} | {v} |" for k, v in facts.items())])


def _table(row: Row, of: Sequence[Line]) -> str:
    head = [
        f"### {row.name}: {row.title}", "",
        f"Client: {row.client}.", "",
        "| case | durability | measured | leaselog | Kafka | ratio | target "
        f"| us of processor a {row.operation}: leaselog | Kafka |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]  # fmt: skip
    return "\n".join([*head, *map(_line, of), *_failures(of)])


def _line(line: Line) -> str:
    ratio = "-" if line.ratio is None else f"{_number(line.ratio)}x"
    cells = [
        line.case.label or "-", line.durability, f"{line.metric.name}, {line.metric.unit}",
        *(_value(value, line) for value in (line.ours, line.theirs)),
        f"**{ratio}**" if line.is_behind else ratio,
        "-" if line.target is None else f"{line.target:g}x",
        *("-" if value is None else _number(value) for value in (line.our_us, line.their_us)),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _value(value: float | None, line: Line) -> str:
    if value is not None:
        return _number(value)
    return "failed" if line.failed else "-"


def _failures(of: Sequence[Line]) -> list[str]:
    said = dict.fromkeys(
        f"- failed: {line.case.label}, {line.durability}: {why}" for line in of for why in line.failed
    )
    return ["", *said] if said else []


def _behind(found: Iterable[Line]) -> str:
    behind = [
        f"- {line.row.name}, {line.case.label}, {line.durability}: {line.metric.name} "
        f"{_number(line.ratio or 0)}x of {line.target:g}x"
        for line in found
        if line.is_behind
    ]
    return "\n".join(["### Behind the target", "", *(behind or ["Nothing."])])


def _number(value: float) -> str:
    """As many digits as can mean something."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
