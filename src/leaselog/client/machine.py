"""The one door to clocks and chance in the client. A simulated world stands itself behind it; nobody else does.

One for the process, because a consumer reads the clock before it knows which event loop it will live in.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from uuid import UUID, uuid4

__all__ = [
    "Machine",
    "on_machine",
    "monotonic_ms",
    "monotonic_s",
    "new_chance",
    "new_nonce",
    "new_uuid",
    "wall_ms",
]


@dataclass(frozen=True, slots=True)
class Machine:
    #: a clock that never jumps: what deadlines are measured with
    monotonic_ns: Callable[[], int] = time.monotonic_ns
    #: what records are stamped with
    wall_ns: Callable[[], int] = time.time_ns
    new_uuid: Callable[[], UUID] = uuid4
    new_chance: Callable[[], Random] = Random
    #: so many bytes that nobody can guess
    new_nonce: Callable[[int], bytes] = secrets.token_bytes


_current = Machine()


@contextmanager
def on_machine(other: Machine) -> Iterator[None]:
    """Every client of the process lives in ``other`` until the block ends."""
    global _current
    before, _current = _current, other
    try:
        yield
    finally:
        _current = before


def monotonic_ms() -> int:
    return _current.monotonic_ns() // 1_000_000


def monotonic_s() -> float:
    return _current.monotonic_ns() / 1e9


def wall_ms() -> int:
    return _current.wall_ns() // 1_000_000


def new_uuid() -> UUID:
    return _current.new_uuid()


def new_chance() -> Random:
    return _current.new_chance()


def new_nonce(count: int) -> bytes:
    return _current.new_nonce(count)
