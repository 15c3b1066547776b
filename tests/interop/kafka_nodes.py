"""Three nodes of Apache Kafka that replicate to each other, each a process that can be killed, stopped and paused.

Each is a broker and one of three controllers, so that any one of them may be gone.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from interop.broker_process import STOP_TIMEOUT_S, BrokerError, free_port

__all__ = ["KafkaNodes"]

NODES = 3
START_TIMEOUT_S = 120.0
CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
LOG_TAIL_BYTES = 4_000

CONFIG = {
    "num.partitions": "6",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "5",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "5",
    "transaction.state.log.replication.factor": "3",
    "share.coordinator.state.topic.num.partitions": "6",
    "share.coordinator.state.topic.replication.factor": "3",
    "group.initial.rebalance.delay.ms": "0",
    # what is gone is missed soon
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
    "controller.quorum.election.timeout.ms": "1000",
    "controller.quorum.fetch.timeout.ms": "2000",
}


class KafkaNodes:
    """Use as a context: all nodes serve when it is entered, and are gone when it is left."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._ports = {node: free_port() for node in range(NODES)}
        self._controllers = {node: free_port() for node in range(NODES)}
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def addresses(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self._ports.values())

    def __enter__(self) -> KafkaNodes:
        try:
            for node in self._ports:
                self._format(node)
                self._launch(node)
            for node in self._ports:
                self._wait(node)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()

    def start(self, node: int) -> None:
        self._launch(node)
        self._wait(node)

    def kill(self, node: int) -> None:
        process = self._processes.pop(node)
        process.kill()
        process.wait()

    def stop(self, node: int) -> None:
        """In good order: the node hands what it leads to others first."""
        process = self._processes.pop(node)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_TIMEOUT_S * 2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise BrokerError(f"node {node} does not end\n{self.log_tail(node)}") from None

    @contextmanager
    def paused(self, node: int) -> Iterator[None]:
        """The process stands still and its connections stay open: nobody is told."""
        process = self._processes[node]
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)

    def log_tail(self, node: int) -> str:
        data = self._log(node).read_bytes() if self._log(node).exists() else b""
        return data[-LOG_TAIL_BYTES:].decode(errors="replace")

    def _log(self, node: int) -> Path:
        return self._home / f"node-{node}.log"

    def _properties(self, node: int) -> Path:
        return self._home / f"node-{node}.properties"

    def _format(self, node: int) -> None:
        voters = ",".join(f"{other}@127.0.0.1:{port}" for other, port in self._controllers.items())
        listeners = (
            f"PLAINTEXT://127.0.0.1:{self._ports[node]},CONTROLLER://127.0.0.1:{self._controllers[node]}"
        )
        own = {
            "process.roles": "broker,controller",
            "node.id": str(node),
            "controller.quorum.voters": voters,
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "listeners": listeners,
            "log.dirs": str(self._home / f"node-{node}"),
        }
        lines = (f"{key}={value}\n" for key, value in {**CONFIG, **own}.items())
        self._properties(node).write_text("".join(lines))
        tool = ["kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(self._properties(node))]
        subprocess.run(self._java("128m", *tool), check=True, capture_output=True)

    def _launch(self, node: int) -> None:
        with self._log(node).open("ab") as log:
            self._processes[node] = subprocess.Popen(
                self._java("320m", "kafka.Kafka", str(self._properties(node))),
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def _java(self, heap: str, *what: str) -> list[str]:
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
        jvm = [f"-Xmx{heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", quiet]
        return ["java", *jvm, "-cp", os.environ["KAFKA_LIBS"] + "/*", *what]

    def _wait(self, node: int) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self._processes[node].poll() is not None:
                raise BrokerError(f"node {node} ended while starting\n{self.log_tail(node)}")
            with socket.socket() as probe:
                probe.settimeout(1)
                if probe.connect_ex(("127.0.0.1", self._ports[node])) == 0:
                    return
            time.sleep(0.1)  # another process is awaited
        raise BrokerError(f"node {node} is not ready after {START_TIMEOUT_S} s\n{self.log_tail(node)}")
