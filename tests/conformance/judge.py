"""Compares a run of Kafka's own tests with what Apache Kafka 4.3.1 makes of them, in both directions.

    judge.py RUN.tsv...

A test that passes on Apache Kafka has to pass here, unless `not-applicable.tsv` names it with a reason; a
test named there has to fail or be skipped, or its line must go: the list only shrinks (a reason that begins
with "a race:" is of a test whose outcome is not ours to decide, and it may pass). A test Apache Kafka itself
fails through this harness promises nothing. Tests of other classes than the run's are not expected.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent


class Case(NamedTuple):
    """A test as JUnit names it."""

    suite: str
    name: str


class Outcome(NamedTuple):
    """`passed`, `failed` or `skipped`, and the first line of the reason."""

    word: str
    reason: str


def parse(lines: Iterable[str]) -> dict[Case, Outcome]:
    """A report: outcome, class, test, seconds, first line of the failure."""
    cases = {}
    for line in lines:
        word, suite, name, _seconds, *reason = line.rstrip("\n").split("\t")
        cases[Case(suite, name)] = Outcome(word, reason[0] if reason else "")
    return cases


def parse_list(lines: Iterable[str]) -> dict[Case, str]:
    """The tests that cannot apply: class, test, reason."""
    rows = (line.rstrip("\n").split("\t") for line in lines if line.strip() and not line.startswith("#"))
    return {Case(suite, name): reason for suite, name, reason in rows}


def complaints(
    kafka: Mapping[Case, Outcome], exempt: Mapping[Case, str], run: Mapping[Case, Outcome]
) -> list[str]:
    """What is not as it should be, a line each; empty when the run is as expected."""
    found = []
    suites = {case.suite for case in run}
    for case, wanted in kafka.items():
        if case.suite not in suites or wanted.word != "passed":
            continue
        got = run.get(case, Outcome("missing", "the run has no such test"))
        if case in exempt:
            if got.word == "passed" and not exempt[case].startswith("a race:"):
                found.append(f"now passes, take it off the list\t{case.suite}\t{case.name}")
        elif got.word != "passed":
            found.append(f"{got.word}\t{case.suite}\t{case.name}\t{got.reason}")
    known = {case for case, wanted in kafka.items() if wanted.word == "passed"}
    found += [f"listed, but no test\t{case.suite}\t{case.name}" for case in exempt if case not in known]
    found += [f"not in kafka-4.3.1.tsv\t{case.suite}\t{case.name}" for case in run if case not in kafka]
    return found


def read_cases(path: Path) -> dict[Case, Outcome]:
    with path.open() as lines:
        return parse(lines)


def main(paths: list[str]) -> int:
    run: dict[Case, Outcome] = {}
    for path in paths:
        run |= read_cases(Path(path))
    if not run:
        print("the run has no tests at all", file=sys.stderr)
        return 2
    with (HERE / "not-applicable.tsv").open() as lines:
        exempt = parse_list(lines)
    wrong = complaints(read_cases(HERE / "kafka-4.3.1.tsv"), exempt, run)
    print("\n".join(sorted(wrong)), end="\n" if wrong else "")
    passed = sum(1 for outcome in run.values() if outcome.word == "passed")
    print(f"{passed} of {len(run)} passed, {len(wrong)} not as expected", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
