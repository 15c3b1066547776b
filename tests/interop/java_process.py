"""Apache's Java clients and tools as child processes, by class name.

Owns finding the jars (`KAFKA_LIBS`, or Maven into the checkout's `out/`) and compiling our checks against
them, once, however many workers want them. Where Java is missing the tests are skipped and say so, except with
CI=true: there they must run.
"""

from __future__ import annotations

import fcntl
import filecmp
import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from interop.broker_process import CHECKOUT

POM = CHECKOUT / "compat" / "java" / "pom.xml"
SOURCES = CHECKOUT / "compat" / "java" / "src" / "interop"
OUT = CHECKOUT / "out" / "java"
QUICK = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"]
TIMEOUT_S = 100


@dataclass(frozen=True, slots=True)
class Ended:
    """What a process printed, and how it ended."""

    code: int
    out: str
    err: str

    def lines(self) -> list[str]:
        return self.out.splitlines()


def check_names(*, shared: bool) -> list[str]:
    """The checks of our Java program, from its source: pytest has to know them before Java runs.

    Those of share groups, or all others: they want brokers with other settings. `Java.check_names` are those that
    the program itself knows, and a test compares the two.
    """
    text = "".join(path.read_text() for path in sorted(SOURCES.glob("*Checks.java")))
    names: list[str] = re.findall(r'\b(?:check|last)\s*\(\s*"(\w+)"', text)
    return [name for name in names if name.startswith("share_") == shared]


class Java:
    """A class path that is complete, and processes on it."""

    def __init__(self) -> None:
        self.libs = _libs()

    def compile(self) -> None:
        """Our checks, compiled when they changed."""
        with _one_worker():
            classes = OUT / "classes"
            sources = sorted(SOURCES.glob("*.java"))
            newest = max(source.stat().st_mtime for source in sources)
            built = classes / "interop" / "Interop.class"
            if built.exists() and built.stat().st_mtime > newest:
                return
            shutil.rmtree(classes, ignore_errors=True)
            command = ["javac", "-nowarn", "-d", str(classes), "-cp", f"{self.libs}/*", *map(str, sources)]
            subprocess.run(command, check=True, timeout=TIMEOUT_S)

    def check_names(self) -> list[str]:
        """All checks, of share groups and others, as the program registers them."""
        self.compile()
        return self.run("interop.Interop", "--list").lines()

    def report(self, address: str, checks: Sequence[str]) -> dict[str, tuple[bool, str]]:
        """Our checks against this broker, all in one JVM: the outcome of each, and what was wrong."""
        self.compile()
        ended = self.run("interop.Interop", address, f"java-{uuid.uuid4().hex[:8]}", *checks)
        lines = [line.split("\t") for line in ended.lines()]
        assert ended.code == 0, ended.err
        return {line[1]: (line[0] == "PASS", line[3]) for line in lines if line[0] in ("PASS", "FAIL")}

    def command(self, name: str, *args: str) -> list[str]:
        """For a process that lives as long as its test likes."""
        return ["java", *QUICK, "-cp", f"{OUT / 'classes'}:{self.libs}/*", name, *args]

    def run(self, name: str, *args: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Ended:
        """The class's main, to its end; its code is the test's to judge."""
        ended = subprocess.run(
            self.command(name, *args),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            env={**os.environ, **(env or {})},
        )
        err = "".join(line for line in ended.stderr.splitlines(True) if not line.startswith("SLF4J"))
        return Ended(ended.returncode, ended.stdout, err)


def _libs() -> Path:
    _need("java", "javac")
    if given := os.environ.get("KAFKA_LIBS"):
        return Path(given)
    libs, seen = OUT / "libs", OUT / "pom.xml"
    with _one_worker():
        if not (seen.exists() and filecmp.cmp(POM, seen, shallow=False)):
            _need("mvn")
            shutil.rmtree(libs, ignore_errors=True)
            goal = ["dependency:copy-dependencies", f"-DoutputDirectory={libs}"]
            subprocess.run(["mvn", "-q", "-f", str(POM), *goal], check=True, timeout=600)
            shutil.copy(POM, seen)  # last: a broken download is tried again
    return libs


@contextmanager
def _one_worker() -> Iterator[None]:
    """Tests run in several processes: the first makes what is missing, the others wait and find it."""
    OUT.mkdir(parents=True, exist_ok=True)
    with (OUT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the end of the file handle, or of the process, gives it back
        yield


def _need(*programs: str) -> None:
    missing = [program for program in programs if shutil.which(program) is None]
    if not missing:
        return
    what = f"{', '.join(missing)} not found: Apache's Java clients are not judged here"
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)
