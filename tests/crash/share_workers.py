"""Processes of share consumers, librdkafka's, Apache's and our own, and the histories they leave behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from crash.share_worker import STUCK_IN_CLOSE
from interop.broker_process import CHECKOUT
from interop.confluent_io import wait_until
from interop.java_process import Java
from leaselog.testing.share_history import Closing, Delivered, Event, read_lines

WORKER = Path(__file__).with_name("share_worker.py")
OUR_WORKER = Path(__file__).with_name("our_share_worker.py")
START_S, STOP_S = 60, 90
#: of twenty consumers of librdkafka, which hangs there on Apache Kafka, too; more of them would be our doing
MAX_STUCK_IN_CLOSE = 4


@dataclass(slots=True)
class ShareWorkers:
    """They begin at once and end when told; each consumer has a file of its own in the directory."""

    address: str
    topic: str
    group: str
    directory: Path
    seed: int
    _consumers: int = 0
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    #: processes that were killed, and when
    killed: dict[str, int] = field(default_factory=dict)
    #: consumers of librdkafka that had not come back from close when the others had long ended
    stuck_in_close: int = 0

    def start_librdkafka(self, processes: int, consumers: int) -> None:
        for number in range(processes):
            self._start([sys.executable, str(WORKER)], f"librdkafka-{number}", consumers)

    def start_leaselog(self, processes: int, consumers: int) -> None:
        for number in range(processes):
            self._start([sys.executable, str(OUR_WORKER)], f"leaselog-{number}", consumers)

    def start_java(self, consumers: int) -> bool:
        """False where there is no Java."""
        try:
            java = Java()
        except pytest.skip.Exception:
            return False
        java.compile()
        self._start(java.command("interop.ShareWorker"), "java", consumers)
        return True

    def replace_one(self, chance: random.Random, consumers: int) -> None:
        """One of librdkafka's processes is killed, and another one comes in its place. A JVM would take too long."""
        name = chance.choice(sorted(name for name in self._processes if name.startswith("librdkafka")))
        process = self._processes.pop(name)
        self.killed[name] = time.monotonic_ns()
        _kill(process)
        self._start([sys.executable, str(WORKER)], f"librdkafka-again{len(self.killed)}", consumers)

    def _start(self, command: list[str], name: str, consumers: int) -> None:
        self.directory.mkdir(exist_ok=True)
        where = [self.address, self.topic, self.group, name, str(consumers), str(self.directory)]
        with (self.directory / f"{name}.err").open("wb") as err:
            process = subprocess.Popen(
                [*command, *where, str(self.seed)],
                stdin=subprocess.PIPE,
                stdout=err,
                stderr=err,
                env={**os.environ, "PYTHONPATH": str(CHECKOUT / "tests")},
            )
        self._processes[name] = process
        self._consumers += consumers

    def wait_until_all_have_records(self) -> None:
        wait_until(lambda: self._with_records() == self._consumers, "every consumer's first records", START_S)

    def _with_records(self) -> int:
        return sum(1 for path in self.directory.glob("*.jsonl") if path.stat().st_size)

    def stop(self) -> None:
        """All of them close their consumers; whoever would not end is ended, and that is a failure."""
        for process in self._processes.values():
            assert process.stdin is not None
            process.stdin.close()
        stuck = []
        for process in self._processes.values():
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGQUIT if process.args[0] == "java" else signal.SIGUSR1)
                time.sleep(1)  # it writes down where it is
                process.kill()
                process.wait()
                stuck.append(process.args)
        codes = [process.returncode for process in self._processes.values()]
        self._processes.clear()
        self.stuck_in_close = sum(code - STUCK_IN_CLOSE + 1 for code in codes if code >= STUCK_IN_CLOSE)
        codes = [code for code in codes if code < STUCK_IN_CLOSE]
        assert not stuck, f"still running {STOP_S} s after they were told to end: {stuck} {self.complaints()}"
        assert self.stuck_in_close <= MAX_STUCK_IN_CLOSE, self.complaints()
        assert not any(codes), f"ended with {codes}: {self.complaints()}"

    def kill(self) -> None:
        for process in self._processes.values():
            _kill(process)
        self._processes.clear()

    def histories(self) -> Iterator[Event]:
        for path in sorted(self.directory.glob("*.jsonl")):
            alive: set[str] = set()
            with path.open() as lines:
                for event in read_lines(lines):
                    if isinstance(event, Delivered):
                        alive.add(event.consumer)
                    elif isinstance(event, Closing):
                        alive.discard(event.consumer)
                    yield event
            killed_ns = self.killed.get(path.stem.rpartition("-")[0])
            if killed_ns is not None:
                yield from (Closing(consumer, killed_ns) for consumer in alive)

    def complaints(self) -> str:
        return "\n".join(path.read_text()[-8000:] for path in sorted(self.directory.glob("*.err")))


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    assert process.stdin is not None
    process.stdin.close()
