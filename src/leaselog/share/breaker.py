"""When a share group fails at too much: counts over a sliding window, and the rule that stops it. Pure.

The window slides by a fiftieth of itself, so it holds fifty pairs of numbers, however much is finished, and forgets up
to a fiftieth early. Time is whatever its owner measures in milliseconds; it must not matter that a clock jumps, so it
should be one that does not.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

__all__ = ["Breaker", "BreakerRule", "FinishedCounts", "FinishedWindow"]

SLOTS = 50


@dataclass(frozen=True, slots=True)
class FinishedCounts:
    accepted: int = 0
    failed: int = 0

    @property
    def total(self) -> int:
        return self.accepted + self.failed


class FinishedWindow:
    """What was finished within the last ``window_ms``."""

    __slots__ = ("_accepted", "_failed", "_slots", "_window_ms")

    def __init__(self, window_ms: int) -> None:
        self._window_ms = window_ms
        #: (number of the slot, accepted, failed), ascending; at most ``SLOTS`` of them, none empty
        self._slots: deque[tuple[int, int, int]] = deque()
        self._accepted = self._failed = 0

    def add(self, accepted: int, failed: int, now_ms: int) -> None:
        """Times do not go back; one that does counts as the latest there was."""
        number = self._forget(now_ms)
        if self._slots and self._slots[-1][0] >= number:
            number, before_accepted, before_failed = self._slots.pop()
            self._slots.append((number, before_accepted + accepted, before_failed + failed))
        else:
            self._slots.append((number, accepted, failed))
        self._accepted += accepted
        self._failed += failed

    def counts(self, now_ms: int) -> FinishedCounts:
        self._forget(now_ms)
        return FinishedCounts(self._accepted, self._failed)

    def _forget(self, now_ms: int) -> int:
        """Drops what is out of the window; the number of the slot that it is now."""
        number = now_ms * SLOTS // self._window_ms
        while self._slots and self._slots[0][0] <= number - SLOTS:
            _, accepted, failed = self._slots.popleft()
            self._accepted -= accepted
            self._failed -= failed
        return number


@dataclass(frozen=True, slots=True)
class BreakerRule:
    """More than ``ratio`` of what was finished within ``window_ms`` failed, and it was ``min_records`` or more."""

    ratio: float
    window_ms: int
    min_records: int

    def is_broken_by(self, counts: FinishedCounts) -> bool:
        return counts.total >= self.min_records and counts.failed > self.ratio * counts.total


class Breaker:
    """One group's. It has tripped once it says so; whoever resumes the group takes a new one."""

    __slots__ = ("_window", "rule")

    def __init__(self, rule: BreakerRule) -> None:
        self.rule = rule
        self._window = FinishedWindow(rule.window_ms)

    def finished(self, accepted: int, failed: int, now_ms: int) -> FinishedCounts | None:
        """Records have been finished: the figures if that was too many failures, else None."""
        self._window.add(accepted, failed, now_ms)
        counts = self._window.counts(now_ms)
        return counts if self.rule.is_broken_by(counts) else None

    def is_idle(self, now_ms: int) -> bool:
        """Nothing of what it has seen counts any more."""
        return not self._window.counts(now_ms).total
