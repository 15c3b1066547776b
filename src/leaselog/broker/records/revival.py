"""What failed is tried again, each by itself, after pauses that grow: a disk that is full or has no descriptors left
today is not tomorrow, and nobody should have to restart a broker for it.

What came back and fails soon again goes on with the pauses it had.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass

from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.log import UnusableLog

__all__ = ["FIRST_PAUSE_S", "LONGEST_PAUSE_S", "Revival"]

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 30.0
#: until a thread has given back what it has of a log that is to be opened anew
BUSY_PAUSE_S = 0.1

log = StructuredLog("logs")

#: True: it is back; False: not now, ask again soon. Raises ``OSError`` or ``UnusableLog`` if it failed again
Retry = Callable[[], bool]


@dataclass(slots=True)
class _Failed:
    name: object
    retry: Retry
    #: how often it was tried since it was last well for long
    attempts: int
    #: when it was last back
    was_back_s: float
    #: None until the next look
    due_s: float | None = None


class Revival:
    """Owned by the event loop; nothing is tried unless ``run`` runs."""

    def __init__(self) -> None:
        self._failed: dict[Hashable, _Failed] = {}
        #: what came back: after how many attempts, and when
        self._back: dict[Hashable, tuple[int, float]] = {}
        self._news = asyncio.Event()
        #: for whoever shows it
        self.failures = 0
        self.revived = 0

    def __len__(self) -> int:
        return len(self._failed)

    def failed(self, key: Hashable, name: object, retry: Retry) -> None:
        """Has it tried again later."""
        if key in self._failed:
            return
        attempts, was_back_s = self._back.pop(key, (0, 0.0))
        self._failed[key] = _Failed(name, retry, attempts, was_back_s)
        self.failures += 1
        self._news.set()

    def forget(self, key: Hashable) -> None:
        """It is not wanted any more."""
        self._failed.pop(key, None)
        self._back.pop(key, None)

    async def run(self) -> None:
        """Tries again what is due, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            self._news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self.next_due_s(loop.time())):
                    await self._news.wait()
            for key in self.due(loop.time()):
                self.retry(key, loop.time())
                await asyncio.sleep(0)

    def next_due_s(self, now_s: float) -> float | None:
        """When the next is to be tried again; a pause begins when it is first asked for."""
        for failed in self._failed.values():
            if failed.due_s is None:
                if failed.was_back_s < now_s - LONGEST_PAUSE_S:
                    failed.attempts = 0
                failed.due_s = now_s + _pause_s(failed.attempts)
                log.warning(
                    "a failed log is to be opened anew", what=failed.name, pause_s=_pause_s(failed.attempts)
                )
        return min(
            (failed.due_s for failed in self._failed.values() if failed.due_s is not None), default=None
        )

    def due(self, now_s: float) -> list[Hashable]:
        return [
            key for key, failed in self._failed.items() if failed.due_s is not None and failed.due_s <= now_s
        ]

    def retry(self, key: Hashable, now_s: float) -> None:
        failed = self._failed.get(key)
        if failed is None:
            return  # its topic was deleted in the meantime
        try:
            is_back = failed.retry()
        except (OSError, UnusableLog) as why:
            failed.attempts += 1
            failed.due_s = now_s + _pause_s(failed.attempts)
            log.warning(
                "a failed log could not be opened, to be tried again",
                what=failed.name,
                why=why,
                attempts=failed.attempts,
                pause_s=_pause_s(failed.attempts),
            )
            return
        if not is_back:
            failed.due_s = now_s + BUSY_PAUSE_S
            return
        del self._failed[key]
        recently_s = now_s - LONGEST_PAUSE_S
        self._back = {key: back for key, back in self._back.items() if back[1] >= recently_s}
        self._back[key] = (failed.attempts + 1, now_s)
        self.revived += 1
        log.info("a failed log is back", what=failed.name, attempts=failed.attempts + 1)


def _pause_s(attempts: int) -> float:
    return float(min(FIRST_PAUSE_S * 2 ** min(attempts, 30), LONGEST_PAUSE_S))
