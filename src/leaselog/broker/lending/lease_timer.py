"""One timer for the first lease of a share partition that may end, or the first wait.

Early is harmless, since whoever is called looks for itself: so the timer is never moved to a later time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["LeaseTimer"]

#: later than any lease
_NEVER_MS = 1 << 63


class LeaseTimer:
    __slots__ = ("_handle", "at_ms")

    def __init__(self) -> None:
        #: when it goes off; later than anything while it is not set
        self.at_ms = _NEVER_MS
        self._handle: asyncio.TimerHandle | None = None

    def set(self, deadline_ms: int | None, call: Callable[[], object]) -> None:
        """It calls by then, and not if there is no deadline. It keeps ``call`` while it is set, and no longer."""
        if deadline_ms is None:
            return
        if self._handle is not None:
            if self.at_ms <= deadline_ms:
                return
            self._handle.cancel()
        loop = asyncio.get_running_loop()
        # a clock of whole milliseconds must have reached it
        self._handle = loop.call_at((deadline_ms + 1) / 1000, self._go_off, call)
        self.at_ms = deadline_ms

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle, self.at_ms = None, _NEVER_MS

    def _go_off(self, call: Callable[[], object]) -> None:
        self._handle, self.at_ms = None, _NEVER_MS
        call()
