"""A Spark session that keeps quiet: what Spark and its workers have to say goes to a file, not to the terminal."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

__all__ = ["CannotRun", "SparkFailed", "spark_session", "tail"]

LEAST_JAVA = 17
_TAIL_BYTES = 4_000
_JAVA_TIMEOUT_S = 60.0

#: For work of a minute on one machine: compiling hot code once more than the first compiler does would cost more than
#: it saves (on two cores a query over 40,000 records took 20 s of processor instead of 37).
_LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "4",
}
#: where else Spark looks for the first python3 on the path, and for an address of this host
_LOCAL_ENVIRONMENT = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
_EVERYWHERE = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}


class CannotRun(RuntimeError):
    """Something that Spark needs is not there: one line that says what, and what to do."""


class SparkFailed(RuntimeError):
    """What failed on Spark, in a line: its own words go over a page, and are in the log."""


@contextmanager
def spark_session(name: str, master: str, log: Path, settings: Mapping[str, str]) -> Iterator[Any]:
    """A session with the formats of this package, stopped in the end. ``settings`` go over what is set here.

    Raises ``CannotRun`` without pyspark or Java, and ``SparkFailed`` for what Spark raises while it is open.
    """
    try:
        import pyspark
        from pyspark.sql import SparkSession
    except ImportError:
        raise CannotRun("pyspark is not installed: pip install 'leaselog[spark]'") from None
    import leaselog.spark

    _check_java()
    conf = pyspark.SparkConf(loadDefaults=False).setMaster(master).setAppName(name)
    own = {"spark.sql.warehouse.dir": str(log.parent / "warehouse"), **_EVERYWHERE}
    local: dict[str, str] = {}
    if master.startswith("local"):
        local = _LOCAL
        for variable, value in _LOCAL_ENVIRONMENT.items():
            os.environ.setdefault(variable, value)
    for key, value in {**own, **local, **settings}.items():
        conf.set(key, value)
    with (
        log.open("ab") as out,
        _python_side_quiet(out.name),
        _in_a_line(),
        _gateway(conf, out) as gateway,
        _in_a_line(),  # once more, since what fails in the JVM can be asked for its words only as long as that lives
    ):
        spark = SparkSession(pyspark.SparkContext(conf=conf, gateway=gateway))
        try:
            leaselog.spark.register(spark)
            yield spark
        finally:
            spark.stop()


@contextmanager
def _gateway(conf: Any, out: IO[bytes]) -> Iterator[Any]:
    """The JVM, and the way to it. It and whatever it starts writes to ``out``."""
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway

    # Ctrl-C is for us alone: we end the JVM.
    gateway = launch_gateway(conf, {"stdout": out, "stderr": out, "start_new_session": True})
    try:
        yield gateway
    finally:
        gateway.shutdown()
        gateway.proc.stdin.close()  # how it learns that nobody needs it any more
        gateway.proc.wait()
        SparkContext._gateway = SparkContext._jvm = None


@contextmanager
def _in_a_line() -> Iterator[None]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as failed:
        raise SparkFailed(_first_line(str(failed))) from None


@contextmanager
def _python_side_quiet(log: str) -> Iterator[None]:
    """py4j logs every exception that crosses it, also those that somebody handles."""
    logger, handler = logging.getLogger("py4j"), logging.FileHandler(log)
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = True
        handler.close()


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    text = ""
    if java is not None:
        try:
            asked = subprocess.run(
                [java, "-version"], capture_output=True, text=True, timeout=_JAVA_TIMEOUT_S
            )
            text = asked.stderr
        except (OSError, subprocess.TimeoutExpired):
            pass
    version = java_version(text)
    if version is None:
        raise CannotRun(f"Spark needs Java {LEAST_JAVA} or newer, and there is none on the path")
    if version < LEAST_JAVA:
        raise CannotRun(f"Spark needs Java {LEAST_JAVA} or newer, and {java} is {version}")


def java_version(text: str) -> int | None:
    """Of what ``java -version`` prints: 17 of ``openjdk version "17.0.15"``, 8 of ``"1.8.0_292"``."""
    _, found, rest = text.partition('version "')
    numbers = rest.partition('"')[0].replace("-", ".").split(".")
    if not found or not numbers[0].isdecimal():
        return None
    return int(numbers[1]) if numbers[0] == "1" and len(numbers) > 1 else int(numbers[0])


def _first_line(text: str) -> str:
    """Of what Python raised, if that is what Spark tells of, else of what Spark says."""
    _, is_python, trace = text.partition("Traceback (most recent call last):")
    lines = trace.splitlines() if is_python else text.splitlines()
    return next((line for line in lines if line and not line.startswith(" ")), "Spark failed without a word")


def tail(log: Path) -> str:
    """The end of what Spark had to say."""
    return log.read_bytes()[-_TAIL_BYTES:].decode(errors="replace") if log.is_file() else ""
