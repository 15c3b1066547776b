"""A real broker as a child process: leaselog, or Apache Kafka for comparison.

Owns starting, waiting until it serves, ending and killing. Knows nothing of what the tests do with it.
`LEASELOG_INTEROP_BROKER=kafka` runs the same tests on Apache Kafka, whose jars are in `KAFKA_LIBS`: a test
that fails there is wrong, one that fails only here is our bug.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from random import SystemRandom

CHECKOUT = Path(__file__).resolve().parents[2]
START_KAFKA = CHECKOUT / "tests" / "conformance" / "start-kafka"
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
LOG_TAIL_BYTES = 6_000

#: what makes a broker quick to test; names and meaning are Kafka's, so both kinds get the same file
FAST = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "offsets.topic.num.partitions": "5",
    "log.initial.task.delay.ms": "500",
    # many tests produce records of 2023: none is to expire under a test that takes its time
    "log.retention.check.interval.ms": "3600000",
}

#: what makes share groups quick to test: leases one can wait for, members that hear at once, a group one can fill
SHARE = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.min.heartbeat.interval.ms": "300",
    "group.share.heartbeat.interval.ms": "300",
    "group.share.max.size": "10",
    "share.coordinator.state.topic.num.partitions": "3",
}


def is_kafka() -> bool:
    """Whether this run judges Apache Kafka in place of leaselog."""
    return os.environ.get("LEASELOG_INTEROP_BROKER", "leaselog") == "kafka"


class BrokerError(AssertionError):
    """The process ended early, would not end, or ended badly; the message carries the end of its log."""


def free_port() -> int:
    """A port nobody listens on now.

    Below those that systems give to whoever asks for any, which also are those of connections: tests run side by side,
    and one might be given it first, or while its broker is down; whose clients, who look for it, then find a stranger.
    """
    for port in SystemRandom().sample(range(20_000, 30_000), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise BrokerError("no port is free")


class BrokerProcess:
    """One broker on one data directory; `start` and `stop` may follow each other any number of times.

    ``listeners`` in the config are opened as they are; without them there is one of plaintext.
    """

    def __init__(
        self, home: Path, config: Mapping[str, str] | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self.home = home
        self.data = home / "data"
        self.log_path = home / "broker.log"
        self.config = {**FAST, **(config or {})}
        self._env = {**os.environ, **(env or {})}
        self.address = ""
        #: of each listener, in the order of `listeners`; of leaselog alone
        self.addresses: list[str] = []
        self._process: subprocess.Popen[bytes] | None = None
        home.mkdir(parents=True, exist_ok=True)

    @property
    def pid(self) -> int:
        assert self._process is not None, "broker is not running"
        return self._process.pid

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    @property
    def log_dir(self) -> Path:
        """The folder that holds one folder for each partition."""
        return self.data / "log" if is_kafka() else self.data

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Returns when the broker serves; a restart keeps the port, as clients of the first life expect."""
        assert not self.is_running(), "broker is already running"
        properties = self.home / "server.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in self.config.items()))
        ready = self.home / "ready"
        ready.unlink(missing_ok=True)
        port = self.port if self.address else free_port()
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(port, properties, ready),
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env=self._env,
            )
        self.address = self._wait_kafka(port) if is_kafka() else self._wait_ready_file(ready)

    def stop(self) -> None:
        """End politely, and insist that it ends well and in time."""
        if not self.is_running():
            return
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise self._failed(f"still running {STOP_TIMEOUT_S} s after SIGTERM") from None
        if code != (143 if is_kafka() else 0):  # the JVM reports the signal, having shut down properly
            raise self._failed(f"ended with code {code} after SIGTERM")

    def kill(self) -> None:
        """What a power cut looks like to the process: no handler runs."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def log_tail(self) -> str:
        data = self.log_path.read_bytes() if self.log_path.exists() else b""
        return f"{self.log_path}\n" + data[-LOG_TAIL_BYTES:].decode(errors="replace")

    def _command(self, port: int, properties: Path, ready: Path) -> list[str]:
        if is_kafka():
            return [str(START_KAFKA), str(port), str(self.data), str(properties)]
        program = os.environ.get("LEASELOG") or str(Path(sys.executable).with_name("leaselog"))
        listen = [] if "listeners" in self.config else ["--listen", f"127.0.0.1:{port}"]
        where = [*listen, "--data-dir", str(self.data)]
        return [program, "serve", *where, "--config", str(properties), "--ready-file", str(ready)]

    def _wait_ready_file(self, ready: Path) -> str:
        for _ in self._while_starting():
            # written whole or not at all, but do not build the tests on it: the line ends it
            if ready.exists() and ":" in (text := ready.read_text()) and text.endswith("\n"):
                self.addresses = text.split()
                return self.addresses[0]
        raise self._failed(f"not ready after {START_TIMEOUT_S} s")

    def _wait_kafka(self, port: int) -> str:
        for _ in self._while_starting():
            with socket.socket() as probe:
                probe.settimeout(1)
                if probe.connect_ex(("127.0.0.1", port)) == 0 and b"Kafka Server started" in self._log():
                    return f"127.0.0.1:{port}"
        raise self._failed(f"not ready after {START_TIMEOUT_S} s")

    def _while_starting(self):  # type: ignore[no-untyped-def]
        assert self._process is not None
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise self._failed(f"ended with code {self._process.returncode} while starting")
            yield
            time.sleep(0.02)  # another process is awaited: there is no clock of ours to turn

    def _log(self) -> bytes:
        # Kafka without a log4j file logs errors only: then a listening port has to do
        log = self.log_path.read_bytes()
        return log if b"INFO" in log else b"Kafka Server started"

    def _failed(self, what: str) -> BrokerError:
        return BrokerError(f"broker {what}\n{self.log_tail()}")
