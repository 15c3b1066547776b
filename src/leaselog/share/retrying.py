"""How long a record waits for its next delivery, and the grain of the times at which such waits end.

The pause grows with the count of deliveries, as Kafka's clients' pauses do: first, times multiplier for each delivery
more, spread by jitter, never above the maximum. Chance comes from outside, one number a command, so that records that
fail together stay alike, and one run.

Due times are rounded up to a grain, a power of two of at most a 64th of the pause and of `COARSEST_GRAIN_MS`. So
neighbours that failed at nearly the same time become one run, and there are few different due times at once, however
many records wait; and nobody comes early, nor later than that.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["COARSEST_GRAIN_MS", "EVEN_CHANCE", "RetryBackoff", "due_ms", "grain_ms"]

#: the chance that leaves a pause as it is
EVEN_CHANCE = 0.5
COARSEST_GRAIN_MS = 1024
#: of the pause, what rounding may add
_FINENESS = 64


@dataclass(frozen=True, slots=True)
class RetryBackoff:
    first_ms: int
    multiplier: float
    max_ms: int
    #: the part by which a pause may be longer or shorter
    jitter: float

    def pause_ms(self, delivery_count: int, chance: float) -> int:
        """After so many deliveries; ``chance``, from 0 to 1, says where between the shortest and the longest."""
        try:
            pause = self.first_ms * self.multiplier ** max(0, delivery_count - 1)
        except OverflowError:
            return self.max_ms
        spread = 1 - self.jitter + 2 * self.jitter * chance
        return int(min(spread * pause, self.max_ms))


def grain_ms(pause_ms: int) -> int:
    """To what the end of such a pause is rounded up."""
    return min(1 << max(0, (pause_ms // _FINENESS).bit_length() - 1), COARSEST_GRAIN_MS)


def due_ms(now_ms: int, pause_ms: int) -> int | None:
    """When the pause is over; None when there is none."""
    if pause_ms <= 0:
        return None
    grain = grain_ms(pause_ms)
    return -(-(now_ms + pause_ms) // grain) * grain
