"""Whether a run of tests was about what it was to be about: how many there were, and that none was left out in CI.

A tier that finds no tests, or skips all of them for want of Java, ends green by itself. Here it does not:

- `--tier NAME` counts the tests of the run against the tier's floor in `floors.tsv`. `make floors` keeps that file.
- With CI=true a test that is skipped has failed. What is of one kind of broker alone is no such test: it is marked
  `only_leaselog` or `only_kafka`, and taken out of the run on the other kind.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

FLOORS = Path(__file__).with_name("floors.tsv")
HEADER = (
    "# tier\ttests: a run with fewer fails (tests/tiers.py). After tests have gone on purpose: make floors\n"
)


def floors() -> dict[str, int]:
    rows = (line.split("\t") for line in FLOORS.read_text().splitlines() if not line.startswith("#"))
    return {tier: int(tests) for tier, tests in rows}


def keep_floor(tier: str, tests: int) -> None:
    rows = sorted({**floors(), tier: tests}.items())
    FLOORS.write_text(HEADER + "".join(f"{name}\t{count}\n" for name, count in rows))


def in_ci() -> bool:
    return os.environ.get("CI") == "true"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers")
    group.addoption(
        "--tier", metavar="NAME", help="fail if there are fewer tests than floors.tsv has for this tier"
    )
    group.addoption(
        "--keep-floor", action="store_true", help="with --tier: write how many there are into floors.tsv"
    )


def pytest_configure(config: pytest.Config) -> None:
    tier = config.getoption("tier")
    if tier is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Count(tier, keep=config.getoption("keep_floor")))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if in_ci() and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome, report.longrepr = "failed", f"skipped, and in CI nothing may be: {_reason(report)}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    report = yield
    if in_ci() and report.skipped:
        report.outcome, report.longrepr = "failed", f"skipped, and in CI nothing may be: {_reason(report)}"
    return report


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)


class Count:
    """The tests of a run, seen from the one process that hears of all of them."""

    def __init__(self, tier: str, *, keep: bool) -> None:
        self.tier = tier
        self.tests = 0
        self._keep = keep
        self._said = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.tests += report.when == "setup"

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.config.option.collectonly:
            self.tests = len(session.items)
        if self._keep:
            keep_floor(self.tier, self.tests)
        floor = floors().get(self.tier)
        if floor is None:
            self._fail(session, f"tier {self.tier} has no floor in {FLOORS.name}")
        elif self.tests < floor:
            self._fail(session, f"tier {self.tier}: {self.tests} tests, and there have to be {floor}")

    def _fail(self, session: pytest.Session, said: str) -> None:
        self._said = said
        if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._said:
            terminalreporter.write_line(self._said, red=True)
