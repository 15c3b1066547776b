"""An event loop on a thread of its own, for callers that block: it goes on while they do something else, and it does
not mind a loop that runs on the caller's thread already (a notebook)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["LoopThread"]

T = TypeVar("T")


class LoopThread:
    """Call from any thread but its own. Over once ``close`` was called."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    @property
    def is_closed(self) -> bool:
        return self._loop.is_closed()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of ``work``, run on the loop. Interrupted, the caller leaves and ``work`` is cancelled."""
        if self.is_closed:
            work.close()
            raise RuntimeError(f"{self._thread.name} is closed")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        if self.is_closed:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
