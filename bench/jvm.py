"""Java: Apache Kafka's jars, and programs on them with a heap that does not grow while somebody looks at the clock.

The jars come from Maven, the newest of each kind, into the checkout's `out/`; `KAFKA_LIBS` names a folder that has
everything in place of that.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bench import ROOT

__all__ = ["BROKER_JVM", "CLIENT_JVM", "Jars", "JavaClients", "bring_jars"]

OUT = ROOT / "out" / "bench"
SOURCES = ROOT / "bench" / "java"
#: what Apache's own start scripts give a broker, the heap pinned at their 1 GB
BROKER_JVM = [
    "-Xms1g", "-Xmx1g", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent",
]  # fmt: skip
#: The same for the tools, with the heap of the benchmark scripts, and without the second compiler: it would take half a
#: processor from the broker for as long as a row is.
CLIENT_JVM = ["-Xms512m", "-Xmx512m", *BROKER_JVM[2:], "-XX:TieredStopAtLevel=1"]
PATIENCE_S = 600.0


@dataclass(frozen=True, slots=True)
class Jars:
    """Folders of a broker's class path and of the clients'."""

    server: Path
    tools: Path

    def versions(self) -> dict[str, str]:
        java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
        return {
            "Apache Kafka": _version(self.server, r"kafka_2\.13-([\d.]+)\.jar"),
            "Java clients and tools": _version(self.tools, r"kafka-clients-([\d.]+)\.jar"),
            "Java": java.splitlines()[0],
        }


def bring_jars() -> Jars:
    if given := os.environ.get("KAFKA_LIBS"):
        return Jars(Path(given), Path(given))
    return Jars(_from_maven("kafka-server"), _from_maven("kafka-tools"))


def _from_maven(name: str) -> Path:
    """Once; remove `out/bench` for whatever has been published since."""
    libs, pom = OUT / name, SOURCES / f"{name}.xml"
    if not libs.exists():
        unfinished = OUT / f"{name}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={unfinished}"]
        subprocess.run(["mvn", "-q", "-B", "-f", str(pom), *goal], check=True, timeout=PATIENCE_S)
        unfinished.rename(libs)  # whole or not there
    return libs


def _version(libs: Path, pattern: str) -> str:
    found = [match[1] for path in libs.iterdir() if (match := re.fullmatch(pattern, path.name))]
    return ", ".join(sorted(found)) or "unknown"


class JavaClients:
    """Apache's tools and our programs of `bench/java`, by class name."""

    def __init__(self, jars: Jars, classes: Path) -> None:
        self._class_path = f"{classes}:{jars.tools}/*"
        classes.mkdir(parents=True, exist_ok=True)
        sources = sorted(map(str, SOURCES.glob("*.java")))
        compiler = ["javac", "-nowarn", "-d", str(classes), "-cp", f"{jars.tools}/*"]
        subprocess.run([*compiler, *sources], check=True, timeout=PATIENCE_S)

    def run(self, name: str, *args: object) -> str:
        """To its end; what it printed. Anything but a good end is an error."""
        ended = subprocess.run(
            self._command(name, args), capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        if ended.returncode:
            raise RuntimeError(f"{name} ended with {ended.returncode}: {_last(ended.stderr or ended.stdout)}")
        return ended.stdout

    @contextmanager
    def running(self, name: str, *args: object) -> Iterator[IO[str]]:
        """Its output while it runs, line by line; it is waited for, and killed when the caller has given up."""
        with subprocess.Popen(
            self._command(name, args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            try:
                yield process.stdout
            except BaseException:
                process.kill()
                raise
            _, said = process.communicate(timeout=60)
            if process.returncode:
                raise RuntimeError(f"{name} ended with {process.returncode}: {_last(said)}")

    def _command(self, name: str, args: Sequence[object]) -> list[str]:
        return ["java", *CLIENT_JVM, "-cp", self._class_path, name, *map(str, args)]


def _last(text: str) -> str:
    said = [line for line in text.splitlines() if line.strip() and not line.startswith("SLF4J")]
    return " / ".join(said[-3:]) or "nothing said"
