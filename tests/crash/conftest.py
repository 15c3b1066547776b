"""The crash tier uses the interop tier's broker processes."""

from __future__ import annotations

import pytest

from interop.conftest import (  # noqa: F401
    broker_factory,
    fresh,
    pytest_configure,
    pytest_runtest_makereport,
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        # The simulated disk is quick, and part of every check.
        if "crash" in item.path.parts and "broker_factory" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.crash)
