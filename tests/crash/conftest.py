"""The crash tier uses the interop tier's broker processes, and ends with what its tests have to tell."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

from interop.conftest import (  # noqa: F401
    broker_factory,
    fresh,
    pytest_configure,
    pytest_runtest_makereport,
    pytest_xdist_make_scheduler,
)

TOLD = "told"


@pytest.fixture
def seed(record_property: Callable[[str, object], None]) -> int:
    """What decides when who dies; the summary names it, also of a test that failed."""
    chosen = int(os.environ.get("LEASELOG_CRASH_SEED", time.time_ns() % 1_000_000))
    record_property(TOLD, f"LEASELOG_CRASH_SEED={chosen}")
    return chosen


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Properties come back from workers, what they print does not."""
    for report in [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]:
        told = [text for name, text in report.user_properties if name == TOLD]
        if told and report.when == "call":
            terminalreporter.write_line(f"{report.nodeid}: {', '.join(map(str, told))}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        # The simulated disk is quick, and part of every check.
        if "crash" in item.path.parts and "broker_factory" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.crash)
