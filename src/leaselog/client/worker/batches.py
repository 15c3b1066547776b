"""Records that are worked on together: gathered for a moment, and each told how the call ended that it was part of.

One bad record may not take the others down. So when a call with several records fails they are tried once more, each by
itself, and what then fails has failed alone. Whoever asks for another time, with `Transient`, means all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from leaselog.client.share.calling import WrongHandler
from leaselog.client.share.errors import Transient
from leaselog.client.worker.handlers import AnyRecord
from leaselog.client.worker.tracing import in_trace

__all__ = ["Batches"]

_Ended = tuple[Any, BaseException | None]
_Waiting = tuple[AnyRecord, "asyncio.Future[_Ended]"]


class Batches:
    """Of one handler. A batch is called when it is full, or ``wait_s`` after its first record."""

    def __init__(self, size: int, wait_s: float, call: Callable[[list[AnyRecord]], Awaitable[Any]]) -> None:
        self._size = size
        self._wait_s = wait_s
        self._call = call
        self._gathered = list[_Waiting]()
        self._timer: asyncio.TimerHandle | None = None
        self._running = set[asyncio.Task[None]]()

    async def work_on(self, record: AnyRecord) -> Any:
        """The record's part of what the call returned: None, or its item of as many as there were records."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[_Ended] = loop.create_future()
        self._gathered.append((record, ended))
        if len(self._gathered) >= self._size:
            self._begin()
        elif self._timer is None:
            self._timer = loop.call_later(self._wait_s, self._begin)
        result, error = await ended
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        """Nobody waits any more."""
        if self._timer is not None:
            self._timer.cancel()
        for task in self._running:
            task.cancel()

    def _begin(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        batch = [one for one in self._gathered if not one[1].done()]  # else nobody waits for it any more
        self._gathered = []
        if not batch:
            return
        with in_trace(None):  # it belongs to several
            task = asyncio.get_running_loop().create_task(self._run(batch))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _run(self, batch: Sequence[_Waiting]) -> None:
        error = await self._try(batch)
        if error is None:
            return
        if len(batch) == 1 or _is_of_all(error):
            for _, ended in batch:
                _end(ended, None, error)
            return
        for one in batch:
            if (error := await self._try([one])) is not None:
                _end(one[1], None, error)

    async def _try(self, batch: Sequence[_Waiting]) -> BaseException | None:
        """Ends those that went well."""
        try:
            made = await self._call([record for record, _ in batch])
            results = _results(made, len(batch))
        except BaseException as failed:  # noqa: BLE001 - a value for those who wait
            return failed
        for (_, ended), result in zip(batch, results, strict=True):
            _end(ended, result, None)
        return None


def _end(ended: asyncio.Future[_Ended], result: Any, error: BaseException | None) -> None:
    if not ended.done():
        ended.set_result((result, error))


def _results(made: Any, count: int) -> Sequence[Any]:
    if made is None:
        return [None] * count
    if isinstance(made, list | tuple) and len(made) == count:
        return made
    raise WrongHandler(
        f"a batch handler returned {made!r:.80}: expected None, or a result for each of {count} records"
    )


def _is_of_all(error: BaseException) -> bool:
    return isinstance(error, Transient | WrongHandler) or not isinstance(error, Exception)
