"""What a start must not pay for: libraries that only some brokers need."""

from __future__ import annotations

import subprocess
import sys

#: on a simulated machine, as nothing here opens a port
START = """
import sys
import leaselog.cli.serve
from leaselog.testing.sim_world import World

world = World(0, {})
world.run(world.start)
assert world.is_up
print(*sys.modules)
"""


def test_a_broker_that_nobody_scrapes_does_not_import_prometheus_client() -> None:
    done = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    assert "leaselog.broker.runtime.metrics" in modules
    assert [module for module in modules if module.partition(".")[0] == "prometheus_client"] == []
