"""Consumers of one partition add up: the bench's short version, on a machine that may have other work to do."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from interop.broker_process import CHECKOUT, BrokerProcess

CONSUMERS = 16
#: of what one consumer gets done at the same time, sixteen of them must get so much done each
SHARE = 0.9
#: and of what would be possible without any broker
LEAST_PERCENT = 60
#: what is asked is whether they can; a minute in which the machine could not says nothing
TRIES = 3


def efficiencies(broker: BrokerProcess) -> tuple[float, float]:
    """In percent of the ideal: one consumer alone, and many."""
    command = [sys.executable, "-m", "bench.share_scaling", "--json"]
    work = ["--consumers", "1", str(CONSUMERS), "--work-ms", "200", "--jobs", "15"]
    run = subprocess.run(
        [*command, *work, "--address", broker.address],
        capture_output=True,
        text=True,
        timeout=100,
        cwd=CHECKOUT,
    )
    assert run.returncode == 0, run.stderr
    rows = json.loads(run.stdout.splitlines()[-1])
    return rows["1"]["efficiency %"], rows[str(CONSUMERS)]["efficiency %"]


@pytest.mark.alone
@pytest.mark.only_leaselog("the bench of leaselog; this Kafka's groups have ten members at most")
@pytest.mark.timeout(330)
def test_sixteen_consumers_share_the_work_of_one_partition(broker) -> None:
    found: list[tuple[float, float]] = []
    for _ in range(TRIES):
        alone, many = efficiencies(broker)
        found.append((alone, many))
        if many >= max(SHARE * alone, LEAST_PERCENT):
            return
    pytest.fail(f"alone and among {CONSUMERS}, % of what is possible: {found}")
