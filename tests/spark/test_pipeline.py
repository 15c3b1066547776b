"""`leaselog pipeline` as a user runs it: a process of its own, with a broker and a Spark that it starts and ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

PROGRAM = str(Path(sys.executable).with_name("leaselog"))
LIMIT_S = 240


def test_a_run_accounts_for_every_order_draws_a_picture_and_is_quiet(spark: Any, tmp_path: Path) -> None:
    picture = tmp_path / "pictures" / "orders.png"
    command = [PROGRAM, "pipeline", "--orders", "2000", "--json", "--picture", str(picture)]
    ended = subprocess.run(
        [*command, "--directory", str(tmp_path / "run")],
        capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert (told["produced"], told["accepted"], told["archived"], told["rows"]) == (2000, 1960, 40, 1960)
    assert told["unaccounted"] == {}
    assert set(told["acceptedByDelivery"]) == {"1", "2"}
    assert picture.read_bytes().startswith(b"\x89PNG")
    noise = [
        line
        for line in ended.stderr.splitlines()
        if not line.startswith(("starting", "the first", "produced", "done", "auditing"))
    ]
    assert not noise
    assert "WARN" in (tmp_path / "run" / "spark.log").read_text(), "what Spark says is kept"


@pytest.mark.deep
def test_control_c_ends_everything_without_a_trace(spark: Any, tmp_path: Path) -> None:
    command = [PROGRAM, "pipeline", "--orders", "100000", "--picture", str(tmp_path / "none.png")]
    running = subprocess.Popen(
        [*command, "--directory", str(tmp_path / "run")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + LIMIT_S
    while not list((tmp_path / "run" / "orders").glob("batch=0/*.parquet")):
        assert running.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert not _processes_of(tmp_path), "nothing is left behind"


def _processes_of(home: Path) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(home) in command:
            found.append(command)
    return found
