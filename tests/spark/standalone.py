"""A standalone Spark cluster on loopback: a master and workers as processes, which start executors of their own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from interop.broker_process import CHECKOUT
from interop.confluent_io import wait_until
from spark.faults import children_of, is_executor

START_S = 120
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


#: Of the workers. Spark does not run a copy of a task on the host that has it already: so they have two names.
_HOSTS = ("127.0.0.1", "localhost")


class StandaloneCluster:
    """Two machines of one core each. Use as ``with``."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._processes: list[subprocess.Popen[bytes]] = []
        self.master = ""

    def __enter__(self) -> StandaloneCluster:
        self._home.mkdir(parents=True, exist_ok=True)
        try:
            self.master = self._start_and_read(
                "master", r"(spark://127\.0\.0\.1:\d+)", ["master.Master"], _HOSTS[0]
            )
            for host in _HOSTS:
                size = ["--cores", "1", "--memory", "700m", "--work-dir", str(self._home / f"work-{host}")]
                role = ["worker.Worker", *size]
                self._start_and_read(f"worker-{host}", "(Successfully registered)", role, host, self.master)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            executors = self._executors_of(process.pid)
            process.kill()
            process.wait()
            for executor in executors:
                _kill(executor)
        self._processes.clear()

    def executors(self) -> list[int]:
        return [pid for process in self._processes for pid in self._executors_of(process.pid)]

    def kill_executors(self) -> None:
        """All that run now; their workers start others."""
        for executor in self.executors():
            _kill(executor)

    def _executors_of(self, pid: int) -> list[int]:
        try:
            return [child for child in children_of(pid) if is_executor(child)]
        except FileNotFoundError:  # gone
            return []

    def _start_and_read(self, name: str, pattern: str, role: list[str], host: str, *more: str) -> str:
        """Starts a part and waits for the word in its log that it serves."""
        import pyspark

        home = Path(pyspark.__file__).parent
        kind, *settings = role
        where = ["--host", host, "--port", "0", "--webui-port", "0"]
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *where, *settings]
        log = self._home / f"{name}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [*command, *more], stdout=out, stderr=subprocess.STDOUT, env=_environment(home)
            )
        self._processes.append(process)
        found: list[str] = []

        def is_up() -> bool:
            assert process.poll() is None, f"{name} ended\n{log.read_text()[-4000:]}"
            found[:] = re.findall(pattern, log.read_text(errors="replace"))
            return bool(found)

        wait_until(is_up, f"{name} to start", START_S)
        return found[0]


def _environment(home: Path) -> dict[str, str]:
    return {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": _JAVA,
        "SPARK_NO_DAEMONIZE": "1",
        "PYTHONPATH": str(CHECKOUT / "tests"),
        "PYSPARK_PYTHON": sys.executable,
    }


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
