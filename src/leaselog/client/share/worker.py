"""The loop of a worker: takes records as fast as handlers finish them, and says of each how it went.

It holds as many records as there are handlers, and a few more so that none has to wait. Records wait under renewed
leases. When it ends, what a handler has begun is finished and acknowledged, and what none has touched goes back.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from leaselog.client.errors import BrokerError
from leaselog.client.share.acknowledgements import AcknowledgeType
from leaselog.client.share.errors import WakeupError
from leaselog.client.share.processing import ExceptionTypes, outcome_of
from leaselog.client.share.record import ShareRecord
from leaselog.client.surroundings import monotonic_ms as _now_ms
from leaselog.client.surroundings import monotonic_s
from leaselog.model import ErrorCode

if TYPE_CHECKING:
    from leaselog.client.share.async_consumer import AsyncShareConsumer

__all__ = ["DRAIN_TIMEOUT_S", "OnError", "Worker", "tell_error"]

#: how long handlers may take to finish when the worker is asked to end
DRAIN_TIMEOUT_S = 30.0
#: While handlers run, fetches do not wait longer for records: acknowledgements would have to wait behind them.
_BUSY_WAIT_MS = 100
_IDLE_WAIT_MS = 500

AnyRecord = ShareRecord[Any, Any]
OnError = Callable[[AnyRecord, Exception, AcknowledgeType], None]

_log = logging.getLogger("leaselog.client.share")


class Worker:
    """`run` it once. ``handle`` gets one record at a time in up to ``concurrency`` tasks."""

    def __init__(
        self,
        consumer: AsyncShareConsumer[Any, Any],
        handle: Callable[[AnyRecord], Awaitable[object]],
        *,
        concurrency: int,
        transient: ExceptionTypes,
        on_error: OnError | None,
        drain_timeout_s: float,
    ) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency={concurrency}: expected at least one")
        self._consumer = consumer
        self._core = consumer.core
        self._handle = handle
        self._concurrency = concurrency
        self._transient = transient
        self._on_error = on_error
        self._drain_timeout_s = drain_timeout_s
        self._waiting = deque[AnyRecord]()
        self._running = set[asyncio.Task[None]]()

    async def run(self) -> None:
        """Returns when the consumer is woken up; raises what the application has to know, or its cancellation."""
        try:
            while True:
                await self._turn()
        except WakeupError:
            await self._drain()
        except BaseException:
            for task in self._running:
                task.cancel()
            raise
        finally:
            # However it ends: nobody works on what is left.
            await asyncio.gather(*self._running, return_exceptions=True)
            self._give_back_waiting()
            await self._consumer.end_work(self._drain_timeout_s)

    async def _turn(self) -> None:
        consumer, core = self._consumer, self._core
        consumer.check_woken()
        consumer.tell_completed()
        core.begin_work(_now_ms())
        self._begin_handlers()
        room = self._concurrency - len(self._waiting)
        if room > 0 and self._take(room):
            self._begin_handlers()
            room = self._concurrency - len(self._waiting)
        if room > 0:
            wait_ms = _BUSY_WAIT_MS if self._running else _IDLE_WAIT_MS
            core.want_records(wait_ms, min(room, consumer.config.max_poll_records))
        else:
            core.want_nothing()
        consumer.pump()
        await consumer.changed(_IDLE_WAIT_MS / 1000)

    def _take(self, room: int) -> bool:
        try:
            records = self._core.take(_now_ms(), room)
        except BrokerError as failed:
            if failed.code is not ErrorCode.CORRUPT_MESSAGE:
                raise
            _log.warning("rejected: %s", failed)  # the rest of the partition is as good as ever
            return False
        self._waiting += records
        return bool(records)

    def _begin_handlers(self) -> None:
        while self._waiting and len(self._running) < self._concurrency:
            record = self._waiting.popleft()
            lease = record.lease
            if lease.life.ended is not None or lease.deadline_ms <= _now_ms():
                continue  # it is somebody else's by now
            lease.delivered_ms = _now_ms()
            task = asyncio.create_task(self._work_on(record))
            self._running.add(task)
            task.add_done_callback(self._ended)

    async def _work_on(self, record: AnyRecord) -> None:
        error: BaseException | None = record.error
        try:
            if error is None:
                await self._handle(record)
        except BaseException as failed:
            error = failed
            if not isinstance(failed, Exception):
                raise
        finally:
            outcome = outcome_of(record, error, self._transient)
            self._consumer.end_work_on(record, outcome, insist=True)
            if isinstance(error, Exception):
                tell_error(self._on_error, record, error, outcome.kind)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._consumer.notify()

    def _give_back_waiting(self) -> None:
        self._core.give_back_unbegun(self._waiting)
        self._waiting.clear()

    async def _drain(self) -> None:
        """No more records; handlers finish what they have begun, and it is acknowledged."""
        self._give_back_waiting()
        deadline = monotonic_s() + self._drain_timeout_s
        while self._running and (remaining := deadline - monotonic_s()) > 0:
            self._core.begin_work(_now_ms())
            self._core.want_nothing()
            self._consumer.pump()
            await asyncio.wait(
                self._running,
                timeout=min(remaining, _IDLE_WAIT_MS / 1000),
                return_when=asyncio.FIRST_COMPLETED,
            )
        for task in self._running:
            task.cancel()


def tell_error(on_error: OnError | None, record: AnyRecord, error: Exception, kind: AcknowledgeType) -> None:
    """Somebody hears of a failed record: who asked for it, or the log."""
    if on_error is None:
        _log.warning("%s of %r: %s: %s", kind.name, record, type(error).__name__, error)
        return
    try:
        on_error(record, error, kind)
    except Exception:  # noqa: BLE001 - what was decided of the record stands
        _log.exception("on_error raised")
