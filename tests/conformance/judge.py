"""Compares a run of Kafka's own tests with what Apache Kafka 4.3.1 makes of them, in both directions.

    judge.py [--all] FOLDER SUITE...      FOLDER/SUITE.tsv are the reports; SUITE is a class, or CLASS#method
    judge.py --exclusions SUITE...        the tests of these that need not run, as an expression for JUnit

Every suite that was asked for has to report, and every test of it that Apache Kafka has. A test that passes there
has to pass here, unless `not-yet.tsv` or `not-applicable.tsv` names it with a reason; a test named there has to fail
or be skipped, or its line must go: `not-yet.tsv` only shrinks (a reason that begins with "a race:" is of a test
whose outcome is not ours to decide, and it may pass). A test Apache Kafka itself fails through this harness promises
nothing but to report. Without `--all` the named tests need not run.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent


class Case(NamedTuple):
    """A test as JUnit names it."""

    suite: str
    name: str

    @property
    def method(self) -> str:
        """JUnit picks tests by method; a name has the types of parameters and a number behind it."""
        return f"{self.suite}#{self.name.partition('(')[0]}"

    def is_of(self, asked: str) -> bool:
        return asked == self.suite or asked.partition("(")[0] == self.method


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
    """The tests that cannot pass: class, test, reason."""
    rows = (line.rstrip("\n").split("\t") for line in lines if line.strip() and not line.startswith("#"))
    return {Case(suite, name): reason for suite, name, reason in rows}


def excluded(kafka: Mapping[Case, Outcome], exempt: Mapping[Case, str]) -> set[str]:
    """The methods of which no test could tell anything."""
    return {case.method for case in exempt} - {case.method for case in kafka if case not in exempt}


def complaints(
    kafka: Mapping[Case, Outcome],
    exempt: Mapping[Case, str],
    run: Mapping[Case, Outcome],
    asked: Collection[str],
    *,
    all_ran: bool = False,
) -> list[str]:
    """What is not as it should be, a line each; empty when the run is as expected."""
    left_out = set() if all_ran else excluded(kafka, exempt)
    found = []
    for suite in asked:
        wanted = [case for case in kafka if case.is_of(suite) and case.method not in left_out]
        if not any(case.is_of(suite) for case in kafka):
            found.append(f"not in kafka-4.3.1.tsv\t{suite}")
        elif wanted and not any(case.is_of(suite) for case in run):
            found.append(f"no result\t{suite}\tof {len(wanted)} tests")
        else:
            found += [f"missing\t{case.suite}\t{case.name}" for case in wanted if case not in run]
    for case, got in run.items():
        if case not in kafka:
            found.append(f"not in kafka-4.3.1.tsv\t{case.suite}\t{case.name}")
        elif case in exempt:
            if got.word == "passed" and not exempt[case].startswith("a race:"):
                found.append(f"now passes, take it off the list\t{case.suite}\t{case.name}")
        elif kafka[case].word == "passed" and got.word != "passed":
            found.append(f"{got.word}\t{case.suite}\t{case.name}\t{got.reason}")
    promised = {case for case, outcome in kafka.items() if outcome.word == "passed"}
    found += [
        f"listed, but no test that could pass\t{case.suite}\t{case.name}"
        for case in exempt
        if case not in promised
    ]
    return found


def read_cases(path: Path) -> dict[Case, Outcome]:
    with path.open() as lines:
        return parse(lines)


def read_baseline() -> dict[Case, Outcome]:
    return read_cases(HERE / "kafka-4.3.1.tsv")


def read_exempt() -> dict[Case, str]:
    """Both lists: what is missing here, and what Apache Kafka does otherwise for good reasons of its own."""
    lists = (HERE / "not-yet.tsv", HERE / "not-applicable.tsv")
    return {case: why for path in lists for case, why in parse_list(path.read_text().splitlines()).items()}


def exclusions(asked: Collection[str]) -> str:
    cases = read_exempt()
    methods = {case.method for case in cases if any(case.is_of(suite) for suite in asked)}
    return "|".join(re.escape(method) for method in sorted(methods & excluded(read_baseline(), cases)))


def main(arguments: list[str]) -> int:
    if arguments[0] == "--exclusions":
        print(exclusions(arguments[1:]))
        return 0
    all_ran = arguments[0] == "--all"
    folder, *asked = arguments[all_ran:]
    run: dict[Case, Outcome] = {}
    for suite in asked:
        path = Path(folder) / f"{suite}.tsv"
        run |= read_cases(path) if path.exists() else {}
    wrong = complaints(read_baseline(), read_exempt(), run, asked, all_ran=all_ran)
    print("\n".join(sorted(wrong)), end="\n" if wrong else "")
    passed = sum(1 for outcome in run.values() if outcome.word == "passed")
    print(f"{passed} of {len(run)} passed, {len(wrong)} not as expected", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
