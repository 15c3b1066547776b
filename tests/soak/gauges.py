"""What a process has in memory, open and running, over time, and whether that grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["Growth", "Reading", "growth", "read_process"]


@dataclass(frozen=True, slots=True)
class Reading:
    #: since the start of the soak
    at_s: float
    #: which life of the broker; each begins with a fresh process
    life: int
    memory_mb: float
    descriptors: int
    threads: int
    #: records of the group that are neither accepted nor archived
    lag: int
    produced: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def read_process(pid: int) -> tuple[float, int, int]:
    """Resident memory in MB, open descriptors, threads."""
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line
    )
    descriptors = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return int(status["VmRSS"].split()[0]) / 1024, descriptors, int(status["Threads"])


@dataclass(frozen=True, slots=True)
class Growth:
    """Of one life, from its first reading after the warm-up to its last."""

    minutes: float
    memory_mb_per_minute: float
    descriptors_per_minute: float
    first: Reading
    last: Reading


def growth(readings: Sequence[Reading], warm_up_s: float) -> Growth | None:
    """Of the longest life; None if it was too short to say."""
    lives = {reading.life: [r for r in readings if r.life == reading.life] for reading in readings}
    longest = max(lives.values(), key=lambda life: life[-1].at_s - life[0].at_s, default=[])
    settled = [reading for reading in longest if reading.at_s - longest[0].at_s >= warm_up_s]
    if len(settled) < 3:
        return None
    times = [reading.at_s / 60 for reading in settled]
    return Growth(
        times[-1] - times[0],
        slope(times, [reading.memory_mb for reading in settled]),
        slope(times, [float(reading.descriptors) for reading in settled]),
        settled[0],
        settled[-1],
    )


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Of the line with the least squares."""
    middle_x, middle_y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - middle_x) ** 2 for x in xs)
    return sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True)) / spread
