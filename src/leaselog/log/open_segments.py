"""Which sealed segments are open: a bound on descriptors and index memory, shared by all logs of a broker."""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

__all__ = ["OpenSegments"]


class _Closable(Protocol):
    def close_idle(self) -> None: ...


class OpenSegments:
    """The least recently used sealed segment closes when one more opens. Belongs to the logs' owner thread."""

    def __init__(self, limit: int = 256) -> None:
        self._limit = limit
        self._segments: OrderedDict[_Closable, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._segments)

    def touch(self, segment: _Closable) -> None:
        """``segment`` is open and in use."""
        if segment in self._segments:
            self._segments.move_to_end(segment)
            return
        self._segments[segment] = None
        if len(self._segments) > self._limit:
            oldest, _ = self._segments.popitem(last=False)
            oldest.close_idle()

    def forget(self, segment: _Closable) -> None:
        """``segment`` is gone from its log."""
        if segment in self._segments:
            del self._segments[segment]
        segment.close_idle()
