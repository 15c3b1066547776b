"""Work that may take long, offered in steps. Private to this room; public by its ``__init__``.

A generator pauses about every fifth of a millisecond, so that whoever drives it can let others have their turn. It
yields None, or a ``Heavy`` piece of work that cannot be cut up: the driver runs that, wherever it likes, and then goes
on.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol, TypeAlias, TypeVar

__all__ = ["HEADERS_PER_STEP", "RECORDS_PER_STEP", "Heavy", "Steps", "finish"]

#: records looked at between two pauses, and batch headers
RECORDS_PER_STEP = 256
HEADERS_PER_STEP = 128

T = TypeVar("T")


class Heavy(Protocol):
    """Touches nothing but its own values, so any thread may run it, while the steps wait. Raises nothing."""

    def run(self) -> None: ...


Steps: TypeAlias = Generator[Heavy | None, None, T]


def finish(steps: Steps[T]) -> T:
    """All of it here and now."""
    while True:
        try:
            heavy = next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        if heavy is not None:
            heavy.run()
