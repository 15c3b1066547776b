"""What the machine is, what else it had to do, and what a process took of it. Linux."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import confluent_kafka

from bench import ROOT

__all__ = ["Moment", "claim_page_cache", "describe", "processor_seconds", "resident_mb"]

TICKS = os.sysconf("SC_CLK_TCK")
_CALLS = 200_000
_DISK_TRIES = 50
_RAW_MB = 200
#: as much as a broker writes at once, of large batches
_CLAIM_BYTES = 1 << 20


def processor_seconds(pid: int) -> float:
    """User and system, of all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise ValueError(f"process {pid} has no resident memory")


@dataclass(frozen=True, slots=True)
class Moment:
    """The machine's clocks at one moment; the difference of two says who had the processors."""

    at: float
    #: seconds that the processors worked, stolen ones too: those had other work as well
    busy_s: float
    #: what this process and its ended children took
    clients_s: float

    @classmethod
    def now(cls) -> Moment:
        user, nice, system, _, _, irq, softirq, steal = map(
            int, Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
        )
        mine = os.times()
        clients = mine.user + mine.system + mine.children_user + mine.children_system
        busy = (user + nice + system + irq + softirq + steal) / TICKS
        return cls(time.monotonic(), busy, clients)

    def processors_elsewhere(self, until: Moment, broker_s: float) -> float:
        """How many processors somebody else had, on average."""
        ours = until.clients_s - self.clients_s + broker_s
        return max(0.0, (until.busy_s - self.busy_s - ours) / max(until.at - self.at, 1e-9))


def claim_page_cache(home: Path, size_bytes: int) -> None:
    """Has the machine have so much free memory for files in this folder that is its own, for the next few seconds.

    A virtual machine may have given what is free back to its host, and getting a page again for the page cache can take
    longer than everything that a broker does with the records on it. It takes a file to claim it: the page cache wants
    pieces of another size than a process does, and the system keeps what is free by size.
    """
    piece = bytes(_CLAIM_BYTES)
    with tempfile.NamedTemporaryFile(dir=home, buffering=0) as file:
        for _ in range(0, size_bytes, _CLAIM_BYTES):
            file.write(piece)


def describe(home: Path) -> dict[str, str]:
    model = next(
        (line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
         if line.startswith("model name")), platform.processor()
    )  # fmt: skip
    memory_kb = int(Path("/proc/meminfo").read_text().split()[1])
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "machine": f"{os.cpu_count()} x {model}, {memory_kb / 2**20:.0f} GB, Linux {platform.release()}",
        "disk": _disk(home),
        "leaselog": f"{version('leaselog')} ({_commit()})",
        "Python": f"{platform.python_version()}, uvloop {version('uvloop')}; {_interpreter()}",
        "librdkafka": f"{confluent_kafka.libversion()[0]} with confluent-kafka {version('confluent-kafka')}",
    }


def _interpreter() -> str:
    """How fast it is: builds of one version differ by half, and do not say how they were made."""

    class Counter:
        count = 0

        def add(self, more: int) -> int:
            self.count += more
            return self.count

    def took_s() -> float:
        counter, began = Counter(), time.perf_counter()
        for number in range(_CALLS):
            counter.add(number & 1)
        return time.perf_counter() - began

    return f"a method call {min(took_s() for _ in range(5)) / _CALLS * 1e9:.0f} ns"


def _commit() -> str:
    said = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return said.stdout.strip() or "no commit"


def _disk(home: Path) -> str:
    """What it gives to nobody else, without any broker."""
    with tempfile.NamedTemporaryFile(dir=home) as file:
        waits = []
        for _ in range(_DISK_TRIES):
            os.write(file.fileno(), b"x" * 4096)
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            waits.append(time.perf_counter() - began)
        piece, began = os.urandom(1 << 20), time.perf_counter()
        for _ in range(_RAW_MB):
            os.write(file.fileno(), piece)
            os.fdatasync(file.fileno())
        rate = _RAW_MB * 1.048576 / (time.perf_counter() - began)
    wait_ms = statistics.median(waits) * 1e3
    return f"4 KB append and sync {wait_ms:.2f} ms (median); 1 MB appends, each synced, {rate:.0f} MB/s"
