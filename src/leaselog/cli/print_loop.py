"""The loop of a console consumer: until enough is printed, or nothing comes any more. Its caller prints."""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable

from leaselog.cli.output import Progress, check_reader

__all__ = ["PrintLoop"]

#: how long a poll may take, so that a reader who has gone is noticed
_POLL_S = 0.5
_LEAST_WAIT_S = 0.001


class PrintLoop:
    """``count`` goes up with every record that is printed; `run` looks at it."""

    def __init__(self, limit: int | None, timeout_ms: int | None) -> None:
        self.count = 0
        self._limit = limit
        self._timeout_s = timeout_ms / 1000 if timeout_ms else None

    @property
    def is_enough(self) -> bool:
        return self._limit is not None and self.count >= self._limit

    async def run(self, print_next: Callable[[float], Awaitable[bool]]) -> None:
        """``print_next`` waits for so many seconds, prints what came, and says whether anything did."""
        idle_since = time.monotonic()
        # Records on a terminal are their own progress.
        progress = None if sys.stdout.isatty() else Progress("read", self._limit)
        while not self.is_enough:
            came = await print_next(self._wait_s(idle_since))
            now = time.monotonic()
            if came:
                idle_since = now
                if progress is not None:
                    progress.at(self.count)
            elif self._timeout_s is not None and now - idle_since >= self._timeout_s:
                break
            else:
                check_reader()

    def _wait_s(self, idle_since: float) -> float:
        if self._timeout_s is None:
            return _POLL_S
        return max(_LEAST_WAIT_S, min(_POLL_S, idle_since + self._timeout_s - time.monotonic()))
