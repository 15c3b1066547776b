"""What clients make the broker hold, of all connections together: bytes of requests, and bytes of answers.

Whoever holds little is not asked, and goes on whatever others hold: a heartbeat passes through a flood. What a
connection holds beyond `PETTY_BYTES` counts, and while the limit is reached only hosts that hold less than an equal
part of it may hold more. So one host cannot take it all from the others, though there may be more than the limit for
a while: with two hosts half as much again, with three two thirds. Kafka lets the first who comes have all of it.

Pure: whoever waits for room is called when there may be some.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

__all__ = ["PETTY_BYTES", "HeldBytes"]

#: of a connection, of its requests as of its answers
PETTY_BYTES = 16 * 1024


class HeldBytes:
    def __init__(self, limit_bytes: int) -> None:
        """Negative: without a limit."""
        self._limit_bytes = limit_bytes
        self.total_bytes = 0
        self.is_full = limit_bytes == 0
        self._by_host: Counter[str] = Counter()
        #: who is called when there may be room; first come, first served
        self._waiting: dict[Callable[[], object], None] = {}

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def room_bytes(self, host: str) -> int:
        """What the host may hold beyond what it does; 0 if it has to wait."""
        if self._limit_bytes < 0:
            return 1 << 62
        if not self.total_bytes:
            return self._limit_bytes
        free_bytes = self._limit_bytes - self.total_bytes
        held_bytes = self._by_host[host]
        hosts = len(self._by_host) + (not held_bytes)
        return max(free_bytes, self._limit_bytes // hosts - held_bytes, 0)

    def change(self, host: str, by_bytes: int) -> None:
        was_full = self.is_full
        self.total_bytes += by_bytes
        self.is_full = self.total_bytes >= self._limit_bytes >= 0
        self._by_host[host] += by_bytes
        if not self._by_host[host]:
            del self._by_host[host]
        if self._waiting and by_bytes < 0 and was_full:
            self._call_waiting()

    def wait(self, called: Callable[[], object]) -> None:
        """Calls once there may be room. Who finds that there is none waits again."""
        self._waiting[called] = None

    def forget(self, called: Callable[[], object]) -> None:
        self._waiting.pop(called, None)

    def _call_waiting(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for called in waiting:
            called()
