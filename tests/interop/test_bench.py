"""`make bench` still works: one short row on leaselog, with the clients that the row has. Its figures mean nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from interop.broker_process import CHECKOUT
from interop.java_process import Java


@pytest.mark.only_leaselog("it starts its own brokers")
def test_a_row_of_the_bench_comes_with_figures_and_a_table(java: Java, tmp_path: Path) -> None:
    raw = tmp_path / "raw.json"
    command = [sys.executable, "-m", "bench", "job-queue", "--quick", "--rounds", "1", "--only", "leaselog"]
    run = subprocess.run(
        [*command, "--durability", "fsync", "--dir", str(tmp_path), "--json", str(raw)],
        cwd=CHECKOUT, env={**os.environ, "KAFKA_LIBS": str(java.libs)}, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    (figure,) = json.loads(raw.read_text())["figures"]
    assert figure["values"]["jobs/s"] > 0
    assert figure["broker_us_per_operation"] > 0
    assert "| 8 consumers | fsync | jobs/s, 1/s |" in run.stdout


@pytest.mark.only_leaselog("it starts its own brokers")
def test_the_row_of_growth_that_kills_brokers_says_how_long_they_take_to_lend_again() -> None:
    command = [sys.executable, "-m", "bench.growth", "starts", "--quick"]
    run = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=100)
    assert run.returncode == 0, run.stderr
    assert "| start after SIGKILL: 1,000 batches of a record, 10 partitions" in run.stdout
