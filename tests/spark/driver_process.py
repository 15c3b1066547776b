"""Drivers as processes that can be killed, one after the other over one checkpoint and one sink; and what they left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from interop.broker_process import CHECKOUT
from interop.confluent_io import wait_until
from spark.driver import Plan
from spark.faults import children_of

START_S, END_S = 120, 300
LOG_TAIL_BYTES = 6_000

#: partition and offset
Place = tuple[int, int]


class DriverProcess:
    def __init__(self, plan: Plan) -> None:
        self._home = Path(plan.home)
        self._home.mkdir(parents=True, exist_ok=True)
        self._plan = self._home / "plan.json"
        plan.write(self._plan)
        self._process: subprocess.Popen[bytes] | None = None
        #: by us, so that its exit code says nothing
        self._is_killed = False

    @contextmanager
    def running(self) -> Iterator[None]:
        """From the moment its query begins; killed at the end if it still runs."""
        self._is_killed = False
        with (self._home / "driver.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "spark.driver", str(self._plan)],
                cwd=self._home,
                env={**os.environ, "PYTHONPATH": str(CHECKOUT / "tests")},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # the JVM is in it, so both can be killed at once
            )
        try:
            began = self._home / f"began-{self._process.pid}"
            wait_until(lambda: began.exists() or not self.is_running(), "the query to begin", START_S)
            assert self.is_running() or self._process.returncode == 0, self.log_tail()
            yield
        finally:
            self.kill()

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self, *, whole: bool = True) -> bool:
        """Driver, JVM and the source's process, as with the machine; or the JVM alone, as for want of memory.

        Whether it was still at work: False is a driver that had drained everything before.
        """
        assert self._process is not None
        was_running = self.is_running()
        assert was_running or self._is_killed or self._process.returncode == 0, self.log_tail()
        self._is_killed = was_running or self._is_killed
        if not whole and self.is_running():
            for child in children_of(self._process.pid):
                os.kill(child, signal.SIGKILL)
            try:
                self._process.wait(END_S)
                return was_running
            except subprocess.TimeoutExpired:
                pass
        if self.is_running():
            os.killpg(self._process.pid, signal.SIGKILL)
        return self._process.wait() != 0 and was_running

    def wait(self) -> None:
        """Until all is drained."""
        assert self._process is not None
        assert self._process.wait(END_S) == 0, self.log_tail()

    def log_tail(self) -> str:
        return (self._home / "driver.log").read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")


def in_sink(home: Path) -> list[Place]:
    """Each row that is in some batch's file, as often as it is there."""
    files = sorted((home / "sink").iterdir()) if (home / "sink").is_dir() else []
    return [(row[0], row[1]) for file in files for row in json.loads(file.read_text())]


def attempts(home: Path) -> list[tuple[int, list[Place]]]:
    """Batch id and rows of every attempt that reached the sink."""
    lines = (home / "attempts").read_text().splitlines()
    return [(number, [(row[0], row[1]) for row in rows]) for number, rows in map(json.loads, lines)]
