"""leaselog and Apache Kafka as child processes that are started, stopped and killed the same way.

Both get the shipped defaults, but for what cannot be otherwise on one machine (replication factor 1), the durability
that the run asks for, and what a row names. Owns nothing of what is measured on them.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.frame import KAFKA, LEASELOG
from bench.jvm import BROKER_JVM, Jars
from bench.machine import processor_seconds, resident_mb

__all__ = ["Broker", "answers", "leaselog"]

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0
CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
#: ApiVersions 0, correlation id 1, no client id
_ANYBODY_THERE = bytes.fromhex("0000000a0012000000000001ffff")
_ONE_NODE = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    """Whether ApiVersions is answered: what every client asks first."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as asking:
            asking.sendall(_ANYBODY_THERE)
            return len(asking.recv(4)) == 4
    except OSError:
        return False


@contextmanager
def leaselog(durability: str, home: str) -> Iterator[Broker]:
    """One of ours as it comes, for as long as the block."""
    broker = Broker(LEASELOG, Path(home, "broker"), durability, {}, None)
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()


class Broker:
    """One broker on one data directory, with one port for all its lives."""

    def __init__(
        self, kind: str, home: Path, durability: str, settings: Mapping[str, str], jars: Jars | None
    ) -> None:
        self.kind, self.home = kind, home
        self.port = free_port()
        self._jars = jars
        self._properties = home / "server.properties"
        self._process: subprocess.Popen[bytes] | None = None
        home.mkdir(parents=True)
        own = self._kafka_settings(durability) if kind == KAFKA else {"durability": durability}
        written = {**_ONE_NODE, **own, **settings}
        self._properties.write_text("".join(f"{key}={value}\n" for key, value in written.items()))
        if kind == KAFKA:
            self._format()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "the broker does not run"
        return self._process.pid

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def processor_s(self) -> float:
        return processor_seconds(self.pid)

    def resident_mb(self) -> float:
        return resident_mb(self.pid)

    def launch(self) -> None:
        """Returns at once: whoever takes the time of a start waits for himself."""
        assert self._process is None, "the broker runs already"
        with (self.home / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(), stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=self.home
            )

    def start(self) -> None:
        self.launch()
        for _ in self.while_starting():
            if answers(self.port):
                return

    def while_starting(self) -> Iterator[None]:
        """Again and again for as long as a start may take; says why it ended when it did."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                raise RuntimeError(f"{self.kind} ended while starting: {self._log_tail()}")
            yield
            time.sleep(0.002)
        raise RuntimeError(f"{self.kind} did not serve within {START_TIMEOUT_S} s: {self._log_tail()}")

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        self._process = None

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _command(self) -> list[str]:
        if self.kind == KAFKA:
            return ["java", *BROKER_JVM, "-cp", self._kafka_path(), "kafka.Kafka", str(self._properties)]
        program = str(Path(sys.executable).with_name("leaselog"))
        where = ["--listen", self.address, "--data-dir", str(self.home / "data")]
        return [program, "serve", *where, "--config", str(self._properties), "--log-level", "WARNING"]

    def _kafka_path(self) -> str:
        assert self._jars is not None, "Apache Kafka is made of jars"
        return f"{self._jars.server}/*"

    def _kafka_settings(self, durability: str) -> dict[str, str]:
        controller = free_port()
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{controller}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": str(self.home / "data"),
            **({"log.flush.interval.messages": "1"} if durability == "fsync" else {}),
        }

    def _format(self) -> None:
        tool = ["java", "-XX:TieredStopAtLevel=1", "-cp", self._kafka_path(), "kafka.tools.StorageTool"]
        wish = ["format", "-t", CLUSTER_ID, "-c", str(self._properties)]
        subprocess.run([*tool, *wish], check=True, capture_output=True, timeout=START_TIMEOUT_S)

    def _log_tail(self) -> str:
        return " / ".join((self.home / "broker.log").read_text(errors="replace").splitlines()[-5:])
