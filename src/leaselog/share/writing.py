"""What one write makes durable, gathered run by run. Neighbours that are to be alike become one batch."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from leaselog.share.commands import WriteToken
from leaselog.share.inflight import Run
from leaselog.share.persisted_state import StateSpan
from leaselog.share.record_state import RecordState

__all__ = ["Writing"]


class Writing:
    __slots__ = ("_is_ascending", "_marked", "_spans", "token")

    def __init__(self, token: WriteToken) -> None:
        self.token = token
        self._spans: list[StateSpan] = []
        #: ranges of records that carry the token, and wait for this write
        self._marked: list[tuple[int, int]] = []
        self._is_ascending = True

    def add(self, runs: Iterable[Run]) -> int:
        """Runs as they are by now: what their write is to make of them, or what they are. How many records that is."""
        count = 0
        for low, high, cell in runs:
            count += high - low
            state, delivery_count, _, deadline_ms, write, target, _, due_ms = cell
            if target is None:
                self._put(low, high, state, delivery_count, deadline_ms)
            else:
                self._put(low, high, target, delivery_count, due_ms)
            if write == self.token:
                if self._marked and self._marked[-1][1] == low:
                    self._marked[-1] = (self._marked[-1][0], high)
                else:
                    self._marked.append((low, high))
        return count

    def spans(self) -> tuple[StateSpan, ...]:
        """Ascending; empty when there is nothing to write."""
        if not self._is_ascending:
            scattered = sorted(self._spans, key=attrgetter("start"))
            self._spans, self._is_ascending = [], True
            for batch in scattered:
                self._put(batch.start, batch.end, batch.state, batch.delivery_count, batch.due_ms)
        return tuple(self._spans)

    def marked(self) -> list[tuple[int, int]]:
        return sorted(self._marked)

    def _put(self, start: int, end: int, state: RecordState, delivery_count: int, due_ms: int | None) -> None:
        if self._spans:
            last = self._spans[-1]
            is_alike = last.end == start and last.delivery_count == delivery_count and last.state is state
            if is_alike and last.due_ms == due_ms:
                self._spans[-1] = StateSpan(last.start, end, state, delivery_count, due_ms)
                return
            if last.end > start:
                self._is_ascending = False
        self._spans.append(StateSpan(start, end, state, delivery_count, due_ms))
