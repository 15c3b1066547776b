"""What an input may cost: processor time and memory in proportion to its bytes, with constants that are generous.

Measured, not estimated: the thread's own processor time, and Python's allocations at their peak. What a codec allocates
by itself is not seen here; `test_growth.py` looks at the whole process for that.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = ["Budget", "TooExpensive", "allocations_traced", "growth", "spend"]


class TooExpensive(AssertionError):
    """An input costs more than something of its size may."""


@dataclass(frozen=True, slots=True)
class Budget:
    #: a machine that does other things, and a first use that compiles what it needs
    base_s: float = 2.0
    s_per_byte: float = 200e-6
    base_bytes: int = 4 << 20
    #: a message of many tiny structs is the worst there is: an object and its lists for two bytes
    bytes_per_byte: int = 1_000


_PLAIN = Budget()


@contextmanager
def allocations_traced(budget: Budget | None = _PLAIN) -> Iterator[None]:
    """As `spend` needs it; nothing without a budget."""
    if budget is None:
        yield
        return
    was_tracing = tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        yield
    finally:
        if not was_tracing:
            tracemalloc.stop()


def spend(budget: Budget | None, run: Callable[[bytes], object], data: bytes) -> object:
    """What ``run`` returns. Raises ``TooExpensive``; call with `allocations_traced`."""
    if budget is None:
        return run(data)
    tracemalloc.reset_peak()
    had_bytes = tracemalloc.get_traced_memory()[0]
    began_s = time.thread_time()
    result = run(data)
    took_s = time.thread_time() - began_s
    took_bytes = tracemalloc.get_traced_memory()[1] - had_bytes
    if took_s > budget.base_s + budget.s_per_byte * len(data):
        raise TooExpensive(f"{took_s:.3f} s for {len(data)} bytes")
    if took_bytes > budget.base_bytes + budget.bytes_per_byte * len(data):
        raise TooExpensive(f"{took_bytes} bytes of memory for {len(data)} bytes")
    return result


def growth(run: Callable[[int], object], size: int, times: int, *, rounds: int = 2) -> float:
    """How many times longer ``run(size * times)`` takes than ``run(size)``, each at its best of some rounds."""
    return _best_s(run, size * times, rounds) / max(_best_s(run, size, rounds), 1e-4)


def _best_s(run: Callable[[int], object], size: int, rounds: int) -> float:
    best_s = float("inf")
    for _ in range(rounds):
        began_s = time.thread_time()
        run(size)
        best_s = min(best_s, time.thread_time() - began_s)
    return best_s
