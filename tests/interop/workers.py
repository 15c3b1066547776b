"""Which worker of a parallel run gets which tests: `pytest -n 4` in the interop and crash tiers."""

from __future__ import annotations

import pytest
from xdist.scheduler import LoadScopeScheduling

#: their tests are the lines of one report, which takes a JVM or a Go program half a minute
WHOLE = ("test_java_clients.py", "test_share_java.py", "test_share_franz_go.py")


class OneByOne(LoadScopeScheduling):
    """Whoever is free gets the next test, for each waits most of its time; but a report is made once."""

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.partition("::")[0]
        return module if module.endswith(WHOLE) else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> OneByOne:
    return OneByOne(config, log)
