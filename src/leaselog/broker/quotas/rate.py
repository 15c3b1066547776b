"""How fast somebody moves bytes, uses time or connects, and how long to pause: a sliding window of samples, as Kafka's.

Pure: the time is an argument. A window of n samples forgets a sample n sample lengths after it began, and measures
as if it were at least n - 1 of them long: so somebody new may move that much at once before he is slowed down.
"""

from __future__ import annotations

from collections import deque

__all__ = ["MAX_THROTTLE_MS", "Rate"]

#: what an answer can say
MAX_THROTTLE_MS = 2**31 - 1


class Rate:
    """Bounded: one sample more than the window has, at most."""

    __slots__ = ("_length_ms", "_sample_ms", "_samples", "_total")

    def __init__(self, samples: int, sample_ms: int) -> None:
        self._sample_ms = sample_ms
        self._length_ms = samples * sample_ms
        #: (start, amount) of each sample, oldest first
        self._samples: deque[tuple[float, float]] = deque()
        self._total = 0.0

    def record(self, amount: float, now_ms: float) -> None:
        self._forget(now_ms)
        if self._samples and now_ms - self._samples[-1][0] < self._sample_ms:
            start_ms, before = self._samples.pop()
            self._samples.append((start_ms, before + amount))
        else:
            self._samples.append((now_ms, amount))
        self._total += amount

    def is_idle(self, now_ms: float) -> bool:
        """Nothing is remembered of it."""
        self._forget(now_ms)
        return not self._total

    def throttle_ms(self, limit_per_s: float, now_ms: float, more: float = 0) -> int:
        """How long a pause brings the rate, with ``more`` on top, down to the limit; 0 within the limit."""
        self._forget(now_ms)
        total = self._total + more
        pause_ms = total / limit_per_s * 1000 - self._measured_ms(now_ms)
        return min(max(round(pause_ms), 0), MAX_THROTTLE_MS)

    def _measured_ms(self, now_ms: float) -> float:
        """The time the amounts are spread over: never less than all samples but one."""
        elapsed_ms = now_ms - self._samples[0][0] if self._samples else 0.0
        missing = self._length_ms // self._sample_ms - 1 - int(elapsed_ms // self._sample_ms)
        return max(elapsed_ms + max(missing, 0) * self._sample_ms, 1.0)

    def _forget(self, now_ms: float) -> None:
        while self._samples and now_ms - self._samples[0][0] >= self._length_ms:
            self._total -= self._samples.popleft()[1]
        if not self._samples:
            self._total = 0.0  # whatever is left of sums of fractions
