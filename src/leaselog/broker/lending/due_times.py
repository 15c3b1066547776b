"""The times until which records wait, from the machine's clock to the time of day and back.

The machine counts by a clock that never jumps and means nothing to the next process, so what is kept is the time of
day. The distance between the two clocks is taken anew only when it has really changed: its two readings are never quite
at one time, and a millisecond's difference would tear stretches apart that are alike.
"""

from __future__ import annotations

from collections.abc import Iterable

from leaselog.broker.runtime.runtime import Runtime
from leaselog.coordination.share_state_batches import StateBatch
from leaselog.model import RecordState
from leaselog.share import StateSpan

__all__ = ["DueTimes"]

#: the clocks have not been set as long as they have drifted no further apart than this
DRIFT_MS = 50


class DueTimes:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._apart_ms: int | None = None

    def kept(self, batches: Iterable[StateSpan]) -> tuple[StateBatch, ...]:
        """As the share coordinator keeps them."""
        return tuple(
            [
                StateBatch(b.start, b.end, int(b.state), b.delivery_count, self._kept_ms(b.due_ms))
                for b in batches
            ]
        )

    def stored(self, batches: Iterable[StateBatch]) -> tuple[StateSpan, ...]:
        """As the machine begins with them. ValueError for a state that is none."""
        return tuple(
            StateSpan(start, end, RecordState(state), count, self._stored_ms(due_ms))
            for start, end, state, count, due_ms in batches
        )

    def _kept_ms(self, due_ms: int | None) -> int:
        return 0 if due_ms is None else max(1, due_ms + self._apart())

    def _stored_ms(self, due_ms: int) -> int | None:
        return due_ms - self._apart() if due_ms > 0 else None

    def _apart(self) -> int:
        measured_ms = self._measured_ms()
        if self._apart_ms is None or abs(measured_ms - self._apart_ms) > DRIFT_MS:
            self._apart_ms = measured_ms
        return self._apart_ms

    def _measured_ms(self) -> int:
        return self._runtime.now_ms() - int(self._runtime.monotonic_ms())
