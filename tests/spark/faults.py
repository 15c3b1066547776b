"""What is done to Spark's processes. Only processes that a test has started, found by who started whom."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def children_of(pid: int) -> list[int]:
    return [
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]


def explode(bomb: str) -> None:
    """Kill all Python workers of this executor, this one too, unless somebody was faster."""
    try:
        os.unlink(bomb)
    except FileNotFoundError:
        return
    for worker in children_of(os.getppid()):
        if worker != os.getpid():
            os.kill(worker, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def is_executor(pid: int) -> bool:
    return b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes()
