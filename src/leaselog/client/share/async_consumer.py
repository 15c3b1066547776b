"""The share consumer for asyncio: the calls of an application, which wait until the core is where they want it.

What goes over the wire meanwhile is the carrier's business (`carrier.py`). Nothing is handed to the caller across an
await: a cancelled `poll` has taken no records, and a cancelled `commit_sync` goes on in the background.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from types import TracebackType
from typing import Any, TypeVar, overload
from uuid import UUID

from leaselog.client.cluster import READY_TIMEOUT_S, Cluster
from leaselog.client.config_values import Given
from leaselog.client.durations import FOR_EVER_S, seconds, seconds_or_for_ever
from leaselog.client.errors import (
    ClientError,
    ConnectionLost,
    RequestTimedOut,
    raise_for,
)
from leaselog.client.machine import monotonic_ms as _now_ms
from leaselog.client.machine import monotonic_s, new_uuid
from leaselog.client.share.acknowledge_type import AcknowledgeType
from leaselog.client.share.acknowledgements import Commit, TopicIdPartition
from leaselog.client.share.acknowledging import Acknowledging, Reason
from leaselog.client.share.calling import HandlerThreads, call_plain, check_handler, is_async
from leaselog.client.share.carrier import Carrier
from leaselog.client.share.config import ShareConsumerConfig
from leaselog.client.share.core import ShareCore
from leaselog.client.share.deserializers import Deserializer
from leaselog.client.share.errors import ConcurrentAccess, IllegalState, WakeupError
from leaselog.client.share.extras import Extra
from leaselog.client.share.membership import as_kafka_text
from leaselog.client.share.metrics import MetricName
from leaselog.client.share.processing import Acknowledgement, ExceptionTypes, Judgement, Processing
from leaselog.client.share.record import ShareRecord
from leaselog.client.share.stopping import StopSignals
from leaselog.client.share.worker import (
    DRAIN_TIMEOUT_S,
    EARLIEST,
    OnError,
    WorkerOptions,
    WorkLoop,
    tell_error,
)
from leaselog.model import TopicPartition
from leaselog.wire.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)

__all__ = ["CLOSE_TIMEOUT_S", "AcknowledgementCallback", "AsyncShareConsumer", "CommitResults"]

K = TypeVar("K")
V = TypeVar("V")

#: of each partition with acknowledgements None, or why they failed
CommitResults = dict[TopicIdPartition, ClientError | None]
AcknowledgementCallback = Callable[[Mapping[TopicIdPartition, frozenset[int]], ClientError | None], None]

#: Java's default
CLOSE_TIMEOUT_S = 30.0
#: for the goodbye to a coordinator that may be gone: the group finds out by itself after the session time-out
LEAVE_TIMEOUT_S = 3.0
#: versions of ShareFetch and ShareAcknowledge before it know neither record_limit nor renewal
_RENEWING_VERSION = 2

_log = logging.getLogger("leaselog.client.share")


class AsyncShareConsumer(Acknowledging[K, V]):
    """A member of a share group. Use as ``async with``, or `close` it; it connects when it is first polled.

    Configuration is Kafka's, as a mapping, as keywords, or both; names have dots or underscores. A text in place of the
    mapping is ``bootstrap.servers``. Time-outs of calls are seconds. One task at a time may wait in here, else
    ``ConcurrentAccess``; `wakeup` may come from anywhere.
    """

    # The most particular first: the last takes any keyword.
    @overload
    def __init__(
        self: AsyncShareConsumer[K, V],
        config: Given = None,
        *,
        key_deserializer: Deserializer[K],
        value_deserializer: Deserializer[V],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: AsyncShareConsumer[bytes, V],
        config: Given = None,
        *,
        value_deserializer: Deserializer[V],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: AsyncShareConsumer[K, bytes],
        config: Given = None,
        *,
        key_deserializer: Deserializer[K],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: AsyncShareConsumer[bytes, bytes],
        config: Given = None,
        **more: object,
    ) -> None: ...

    def __init__(self, config: Given = None, **more: object) -> None:
        self.config = ShareConsumerConfig.of(config, **more)
        self.core = self._new_core()
        self._acknowledge = self.core.acknowledge
        self._carrier = self._new_carrier()
        self._loop: asyncio.AbstractEventLoop | None = None
        # an ordered set: a simulated world must find them in the same order every time
        self._waiting = dict[asyncio.Future[None], None]()
        self._woken = False
        self._user: str | None = None
        self._in_callback = False
        self._callback: AcknowledgementCallback | None = None
        self._instance_id: UUID | None = None
        self._closed = False
        #: of the last `run`
        self._signals: StopSignals | None = None

    def _new_carrier(self) -> Carrier:
        return Carrier(self.core, self.config, self.notify)

    def _new_core(self) -> ShareCore:
        return ShareCore(self.config, as_kafka_text(new_uuid()), _now_ms())

    async def __aenter__(self) -> AsyncShareConsumer[K, V]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # subscribing

    @property
    def member_id(self) -> str:
        return self.core.member_id

    @property
    def cluster(self) -> Cluster:
        """The connections, for whoever works for this consumer."""
        return self._carrier.cluster

    def subscription(self) -> frozenset[str]:
        return self.core.subscription

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions fetched from at the moment; other members may fetch from the same ones."""
        return self.core.assignment

    def subscribe(self, topics: Iterable[str]) -> None:
        """Replaces the subscription. The group is joined with the next `poll`; without topics it is left."""
        self._check_open()
        if isinstance(topics, str):
            raise ValueError(f"subscribe takes a collection of topics: [{topics!r}]")
        self.core.subscribe(topics, _now_ms())
        if self._loop is not None:
            self.pump()

    async def unsubscribe(self) -> None:
        """Leaves the group and waits, some seconds at most, until it knows. Records held can still be acknowledged."""
        with self._in_use("unsubscribe"):
            self.core.subscribe((), _now_ms())
            await self._leave(monotonic_s() + LEAVE_TIMEOUT_S)

    # records

    async def poll(self, timeout: float | None = 1.0) -> list[ShareRecord[K, V]]:
        """Records, at once if there are some, else an empty list after ``timeout`` seconds; None or -1 is for ever.

        It ends what came before: in implicit mode the records of the last poll are accepted; in explicit mode all
        must have been acknowledged, else ``IllegalState``. Renewed records are presented again, and alone. Raises
        ``WakeupError``, and ``BrokerError`` for what the application has to know.
        """
        with self._in_use("poll"):
            self.tell_completed()
            deadline = monotonic_s() + seconds_or_for_ever(timeout)
            again = self.core.begin_poll(_now_ms())
            if again:
                self.pump()
                return again
            return await self._wait_records(deadline)

    async def __aiter__(self) -> AsyncIterator[ShareRecord[K, V]]:
        """Records one by one, for ever, until `wakeup` or the loop is left.

        Each record is a `poll`. In implicit mode a record is accepted when the loop asks for the next one, so the
        last record of a loop that is left is not accepted. In explicit mode it must have been acknowledged by then.
        Records that the loop did not come to are given back.
        """
        while (record := await self.poll_one()) is not None:
            yield record

    async def poll_one(self) -> ShareRecord[K, V] | None:
        """What `async for` asks for: the next record, waited for as long as it takes; None if it was woken up."""
        with self._in_use("poll"):
            self.tell_completed()
            now_ms = _now_ms()
            if not self._woken and self.core.begin_next(now_ms) and (records := self.core.take_one(now_ms)):
                return records[0]
            again = self.core.begin_poll(now_ms)
            if again:
                self.pump()
                return again[0]
            try:
                return (await self._wait_records(monotonic_s() + FOR_EVER_S, one_by_one=True))[0]
            except WakeupError:
                return None

    async def _wait_records(self, deadline: float, *, one_by_one: bool = False) -> list[ShareRecord[K, V]]:
        returned, limit = 0, self.config.max_poll_records
        try:
            while True:
                self.check_woken()
                records = self.core.take_one(_now_ms()) if one_by_one else self.core.take(_now_ms(), limit)
                returned = len(records)
                remaining = deadline - monotonic_s()
                if records:
                    if one_by_one:
                        self.core.go_one_by_one(_now_ms())
                    return records
                self.core.want_records(max(0, int(remaining * 1000)), limit)
                self.pump()
                if remaining <= 0:
                    return []
                await self.changed(remaining)
        finally:
            self.core.end_poll(returned)
            self.pump()

    @overload
    def acknowledge(
        self,
        record: ShareRecord[K, V],
        /,
        type: AcknowledgeType = ...,
        *,
        delay: float | None = None,
        reason: Reason | None = None,
    ) -> None: ...

    @overload
    def acknowledge(
        self,
        topic: str,
        partition: int,
        offset: int,
        /,
        type: AcknowledgeType = ...,
        *,
        delay: float | None = None,
        reason: Reason | None = None,
    ) -> None: ...

    def acknowledge(
        self,
        record: Any,
        /,
        *more: Any,
        type: AcknowledgeType | None = None,
        delay: float | None = None,
        reason: Reason | None = None,
    ) -> None:
        """Acknowledge a record of the last poll, given as ``record`` or as ``topic, partition, offset``.

        The broker is told with the next `poll` or commit, and until then the acknowledgement can be changed. ``delay``
        is that of `release`, ``reason`` that of `reject`. Raises ``IllegalState`` in implicit mode, and for a record
        that is not held or is acknowledged already.
        """
        if delay is not None or reason is not None:
            self._acknowledge_with((record, *more), type, delay, reason)
            return
        if self._closed or self._in_callback or self._carrier.broken is not None:
            self._check_open()  # which knows how to refuse; said of every record, so the usual way is short
        if type is not None:
            more = (*more, type)
        if record.__class__ is ShareRecord:
            self._acknowledge(record, *more)
        else:
            partition, offset, *kinds = more
            self.core.acknowledge_offset(record, partition, offset, *kinds)

    def _say(self, of: tuple[Any, ...], kind: AcknowledgeType, extra: Extra | None) -> None:
        self._check_open()
        if kind is AcknowledgeType.RENEW and self.core.has_worker:
            self.core.renew_now(of[0] if len(of) == 1 else self.core.holdings.find(*of), _now_ms())
            self.pump()
        elif len(of) == 1:
            self.core.acknowledge(of[0], kind, extra)
        else:
            topic, partition, offset = of
            self.core.acknowledge_offset(topic, partition, offset, kind, extra)

    # commits

    async def commit_sync(self, timeout: float | None = None) -> CommitResults:
        """Commit what is acknowledged, in implicit mode everything. Each partition's result, an error or None.

        Without a ``timeout`` it is ``default.api.timeout.ms``. What is undecided by then has ``RequestTimedOut``.
        """
        with self._in_use("commit_sync"):
            timeout_s = self.config.default_api_timeout_ms / 1000 if timeout is None else seconds(timeout)
            commit = self.core.commit(_now_ms(), int(timeout_s * 1000))
            self.pump()
            await self._wait_commit(commit, monotonic_s() + timeout_s)
            self.tell_completed()
            return commit.results

    async def _wait_commit(self, commit: Commit, deadline: float) -> None:
        while not commit.is_done:
            self.check_woken()
            remaining = deadline - monotonic_s()
            if remaining <= 0:
                commit.give_up(RequestTimedOut("not acknowledged in time"))
                return
            await self.changed(remaining)

    def commit_async(self) -> None:
        """As `commit_sync`, without waiting; the acknowledgement commit callback gets the results."""
        self._check_open()
        self.tell_completed()
        self.core.commit(_now_ms(), self.config.default_api_timeout_ms)
        if self._loop is not None:
            self.pump()

    def set_acknowledgement_commit_callback(self, callback: AcknowledgementCallback | None) -> None:
        """It is called with offsets by partition and an error or None, from within `poll`, commits and `close`.

        It may call `wakeup` and nothing else of the consumer; what it raises is logged.
        """
        self._check_open()
        self._callback = callback

    # working

    def processing(
        self,
        record: ShareRecord[K, V],
        *,
        reject: ExceptionTypes = (),
        transient: ExceptionTypes = (),
        suppress: bool = False,
    ) -> Processing[K, V]:
        """``with consumer.processing(record):`` accepts the record if the block ends well.

        A `Reject`, or a type in ``reject`` that is not in ``transient``, rejects the record, with the exception as the
        reason; any other exception releases it. It goes on unless ``suppress``. Until the next poll, the leases of the
        last poll are renewed, for ``max.poll.interval.ms`` after the last block that has begun. In explicit mode only.
        """
        if not self.config.is_explicit:
            raise IllegalState("processing needs share.acknowledgement.mode=explicit")
        return Processing(self, record, Judgement.of(reject=reject, transient=transient), suppress)

    def begin_work_on(self, record: ShareRecord[Any, Any]) -> None:
        """What `processing` does when the block begins."""
        self._check_open()
        if not self.core.holdings.is_open(record):
            raise IllegalState(f"{record} is not waiting to be worked on")
        self.core.begun(record, _now_ms())
        if not self.core.is_worked_on:
            self.core.is_worked_on = True
            self.pump()

    def end_work_on(
        self, record: ShareRecord[Any, Any], acknowledgement: Acknowledgement, *, insist: bool
    ) -> None:
        """What `processing` does when the block ends: what was said in it stands, unless the end ``insists``."""
        holdings = self.core.holdings
        if holdings.is_open(record) and (insist or not holdings.has_said(record)):
            holdings.acknowledge(record, acknowledgement.kind, acknowledgement.extra)

    async def run(
        self,
        handler: Callable[[ShareRecord[K, V]], object],
        *,
        concurrency: int = 1,
        reject: ExceptionTypes = (),
        transient: ExceptionTypes = (),
        retry_delays: Iterable[float] | None = None,
        begins: str | None = EARLIEST,
        on_error: OnError | None = None,
        drain_timeout: float = DRAIN_TIMEOUT_S,
        handle_signals: bool = True,
    ) -> None:
        """Hand every record to ``handler``, up to ``concurrency`` at a time, until `wakeup`, SIGTERM or SIGINT.

        A coroutine function runs in this loop, any other in threads; what it returns is awaited if it can be. All
        else is as `ShareConsumer.run` has it. Cancelled, it cancels the handlers and releases their records.
        """
        check_handler(handler, blocking=False)
        options = WorkerOptions.of(concurrency, reject, transient, retry_delays, begins, drain_timeout)
        threads = HandlerThreads(concurrency, "leaselog-handler")
        is_coroutines = is_async(handler)

        async def handle(record: ShareRecord[Any, Any]) -> BaseException | None:
            made: Any
            if is_coroutines:
                made = handler(record)
            else:
                made, error = await threads.call(lambda: call_plain(handler, record))
                if error is not None:
                    return error
            if inspect.isawaitable(made):
                await made
            return None

        async def tell(
            record: ShareRecord[Any, Any], error: Exception, kind: AcknowledgeType
        ) -> BaseException | None:
            return tell_error(on_error, record, error, kind)

        worker = WorkLoop(self, handle, tell, options)
        try:
            signals = StopSignals(self.wakeup, worker.stop_at_once, is_wanted=handle_signals)
            self._signals = signals
            with signals:
                ended_by = await self.work(worker)
        finally:
            threads.close()
        signals.pass_on()
        if ended_by is not None:
            raise ended_by

    async def work(self, worker: WorkLoop) -> BaseException | None:
        """What `run` does: the worker's life, and what a handler raised to end it."""
        with self._in_use("run"):
            self.core.has_worker = True
            try:
                ended_by = await worker.run()
            finally:
                self.core.has_worker = False
            self._woken = False  # it was asked to end more than once
            return ended_by

    async def end_work(self, timeout_s: float) -> None:
        """End the share sessions: what was said is said, the rest goes back. The membership stays."""
        self.core.want_nothing()
        if not self._closed:
            await self._end_sessions(monotonic_s() + timeout_s)
        self.core.holdings.forget_lost()
        self.core.is_worked_on = False
        self.tell_completed()

    # other calls

    def wakeup(self) -> None:
        """The call that waits now, or the next that could, raises ``WakeupError``. From any thread."""
        self._woken = True
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits in it
                self._loop.call_soon_threadsafe(self.notify)

    async def wait_until_ready(self, timeout: float | None = READY_TIMEOUT_S) -> None:
        """Returns when the cluster answers, and has every topic subscribed to, with a leader for each partition.

        Raises the reason why not after ``timeout`` seconds, or at once if waiting cannot help.
        """
        with self._in_use("wait_until_ready"):
            await self._carrier.cluster.wait_until_ready(
                seconds_or_for_ever(timeout),
                sorted(self.core.subscription),
                auto_create=self.config.allow_auto_create_topics,
            )

    @property
    def acquisition_lock_timeout(self) -> float | None:
        """For how many seconds the group's records are leased; None before the first answer."""
        lock_ms = self.core.lock_timeout_ms
        return None if lock_ms is None else lock_ms / 1000

    def metrics(self) -> dict[MetricName, float]:
        """Kafka's numbers and names. From any thread, while a worker runs as well."""
        return self.core.metrics.snapshot(_now_ms())

    async def client_instance_id(self, timeout: float) -> UUID:
        """The id under which the cluster knows this client in telemetry. Raises ``UnsupportedVersion`` without such."""
        with self._in_use("client_instance_id"):
            if not self.config.enable_metrics_push:
                raise IllegalState("Telemetry is not enabled. Set config `enable.metrics.push` to `true`.")
            if self._instance_id is None:
                answer = await self._carrier.cluster.retrying(
                    self._ask_instance_id, timeout_ms=int(timeout * 1000)
                )
                self._instance_id = answer.client_instance_id
            return self._instance_id

    async def _ask_instance_id(self) -> GetTelemetrySubscriptionsResponse:
        answer = await self._carrier.cluster.request(
            GetTelemetrySubscriptionsRequest(client_instance_id=UUID(int=0)),
            GetTelemetrySubscriptionsResponse,
        )
        raise_for(answer.error_code)
        return answer

    async def close(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
        """Commit what was acknowledged, give back the rest, leave the group; about ``timeout`` seconds at most.

        In implicit mode nothing is accepted here. Cannot be woken up; a second call does nothing.
        """
        if self._closed:
            return
        self._carrier.broken = None  # whatever it was, what can be given back is given back
        with self._in_use("close"), nullcontext() if self._signals is None else self._signals.closing():
            deadline = monotonic_s() + seconds(timeout)
            self.core.begin_close(_now_ms())
            try:
                if self._loop is not None:
                    await self._end_sessions(deadline)
                    await self._leave(deadline)
            finally:
                self._closed = True
                await self._carrier.stop(ConnectionLost("the consumer was closed"))
            self.tell_completed()

    async def _end_sessions(self, deadline: float) -> None:
        self.core.queue_said(_now_ms())
        while self.core.has_sessions and (remaining := deadline - monotonic_s()) > 0:
            for ask in self.core.end_sessions(_now_ms()):
                self._carrier.begin(ask)
            await self.changed(remaining)

    async def _leave(self, deadline: float) -> None:
        deadline = min(deadline, monotonic_s() + LEAVE_TIMEOUT_S)
        self.pump()
        while not self.core.has_left and (remaining := deadline - monotonic_s()) > 0:
            await self.changed(remaining)

    # the way calls come in

    def _check_open(self) -> None:
        if self._closed:
            raise IllegalState("This consumer has already been closed.")
        if self._in_callback:
            raise IllegalState(
                "Share consumer methods are not accessible from user-defined acknowledgement commit callback."
            )
        if self._carrier.broken is not None:
            raise self._carrier.broken

    @contextmanager
    def _in_use(self, what: str) -> Iterator[None]:
        self._check_open()
        if self._user is not None:
            raise ConcurrentAccess(f"{what} while another task is in {self._user}: one task at a time")
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif self._loop is not loop:
            raise ConcurrentAccess(f"{what} from another event loop than the one the consumer began in")
        self._user = what
        try:
            yield
        finally:
            self._user = None

    def check_woken(self) -> None:
        if self._carrier.broken is not None:
            raise self._carrier.broken
        if self._woken:
            self._woken = False
            raise WakeupError("the consumer was woken up")

    def tell_completed(self) -> None:
        completed = self.core.take_completed()
        if self._callback is None:
            return
        self._in_callback = True
        try:
            for done in completed:
                try:
                    self._callback({done.where: done.offsets}, done.error)
                except Exception:  # noqa: BLE001 - Java's rule: a callback that fails does not stop the consumer
                    _log.exception("the acknowledgement commit callback raised")
        finally:
            self._in_callback = False

    def pump(self) -> None:
        """After what may have something sent."""
        self._carrier.pump()

    # waiting

    def notify(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    async def changed(self, timeout_s: float) -> None:
        """Returns when something was heard, or it is time."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiting[waiter] = None
        timer = loop.call_later(timeout_s, _let_go, waiter)
        try:
            await waiter
        finally:
            timer.cancel()
            self._waiting.pop(waiter, None)


def _let_go(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
