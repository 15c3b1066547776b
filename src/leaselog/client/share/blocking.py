"""The share consumer for threads: an asyncio consumer on a loop of its own, which beats while the application works.

What waits crosses over to the loop's thread and back. `acknowledge` does not cross: it says a word to the holdings,
which are made for that. Callbacks and handlers run in the application's threads, never in the loop's.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from types import TracebackType
from typing import Any, TypeVar, overload
from uuid import UUID

from leaselog.client.cluster import READY_TIMEOUT_S
from leaselog.client.config_values import Given
from leaselog.client.forks import tell_of_forks
from leaselog.client.loop_thread import LoopThread
from leaselog.client.share.acknowledge_type import AcknowledgeType
from leaselog.client.share.acknowledging import Acknowledging, Reason
from leaselog.client.share.async_consumer import (
    CLOSE_TIMEOUT_S,
    AcknowledgementCallback,
    AsyncShareConsumer,
    CommitResults,
)
from leaselog.client.share.calling import HandlerThreads, call_plain, check_handler, refused_awaitable
from leaselog.client.share.config import ShareConsumerConfig
from leaselog.client.share.deserializers import Deserializer
from leaselog.client.share.errors import ConcurrentAccess, IllegalState
from leaselog.client.share.extras import Extra
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

__all__ = ["ShareConsumer"]

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

#: for what an interruption has cancelled
_GRACE_S = 5.0

_log = logging.getLogger("leaselog.client.share")


class _Driven(AsyncShareConsumer[Any, Any]):
    """Tells nobody of completed acknowledgements: that is done in the application's thread."""

    def tell_completed(self) -> None:
        pass


class ShareConsumer(Acknowledging[K, V]):
    """A member of a share group. Use as ``with``, or `close` it; it connects when it is first polled.

    Configuration is Kafka's, as a mapping, as keywords, or both; names have dots or underscores. A text in place of the
    mapping is ``bootstrap.servers``. Time-outs of calls are seconds. One thread at a time may be in here, else
    ``ConcurrentAccess``; `wakeup` may come from anywhere.
    """

    # The most particular first: the last takes any keyword.
    @overload
    def __init__(
        self: ShareConsumer[K, V],
        config: Given = None,
        *,
        key_deserializer: Deserializer[K],
        value_deserializer: Deserializer[V],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: ShareConsumer[bytes, V],
        config: Given = None,
        *,
        value_deserializer: Deserializer[V],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: ShareConsumer[K, bytes],
        config: Given = None,
        *,
        key_deserializer: Deserializer[K],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: ShareConsumer[bytes, bytes],
        config: Given = None,
        **more: object,
    ) -> None: ...

    def __init__(self, config: Given = None, **more: object) -> None:
        self._given = (config, more)
        self._make()
        self._thread: LoopThread | None = None
        self._in_use = threading.Lock()
        self._is_of_a_parent = False
        self._user = ""
        self._in_callback = False
        self._callback: AcknowledgementCallback | None = None
        #: records that arrived for a poll which was interrupted just then
        self._left_over: list[ShareRecord[K, V]] = []
        self._closed = False
        #: of the last `run`
        self._signals: StopSignals | None = None
        tell_of_forks(self)

    def _make(self) -> None:
        config, more = self._given
        self._consumer = _Driven(config, **more)
        self._acknowledge = self._consumer.core.acknowledge

    def begin_in_child(self) -> None:
        """What `forks` calls in the child of a fork: what has begun is the parent's, else this is another member."""
        self._in_use = threading.Lock()
        if self._thread is None:
            self._make()
        else:
            self._is_of_a_parent = True
            self._in_use.acquire()  # so that calls which take the short way take the long one, and are refused

    def __enter__(self) -> ShareConsumer[K, V]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # subscribing

    @property
    def config(self) -> ShareConsumerConfig:
        return self._consumer.config

    @property
    def member_id(self) -> str:
        return self._consumer.member_id

    def subscription(self) -> frozenset[str]:
        return self._consumer.subscription()

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions fetched from at the moment; other members may fetch from the same ones."""
        return self._consumer.assignment()

    def subscribe(self, topics: Iterable[str]) -> None:
        """Replaces the subscription. The group is joined with the next `poll`; without topics it is left."""
        with self._use("subscribe"):
            if isinstance(topics, str):
                raise ValueError(f"subscribe takes a collection of topics: [{topics!r}]")
            self._do(lambda: self._consumer.subscribe(topics))

    def unsubscribe(self) -> None:
        """Leaves the group and waits, some seconds at most, until it knows. Records held can still be acknowledged."""
        with self._use("unsubscribe"):
            self._wait(self._consumer.unsubscribe())

    # records

    def poll(self, timeout: float | None = 1.0) -> list[ShareRecord[K, V]]:
        """Records, at once if there are some, else an empty list after ``timeout`` seconds; None or -1 is for ever.

        It ends what came before: in implicit mode the records of the last poll are accepted; in explicit mode all
        must have been acknowledged, else ``IllegalState``. Renewed records are presented again, and alone. Raises
        ``WakeupError``, and ``BrokerError`` for what the application has to know.
        """
        with self._use("poll"):
            self._tell_completed()
            if self._left_over:
                records, self._left_over = self._left_over, []
                return records
            return self._wait(self._consumer.poll(timeout), self._keep)

    def __iter__(self) -> Iterator[ShareRecord[K, V]]:
        """Records one by one, for ever, until `wakeup` or the loop is left.

        Each record is a `poll`. In implicit mode a record is accepted when the loop asks for the next one, so the
        last record of a loop that is left is not accepted. In explicit mode it must have been acknowledged by then.
        Records that the loop did not come to are given back.
        """
        while (record := self._poll_one()) is not None:
            yield record

    def _poll_one(self) -> ShareRecord[K, V] | None:
        with self._use("poll"):
            self._tell_completed()
            if self._left_over:
                return self._left_over.pop(0)
            return self._wait(self._consumer.poll_one(), self._keep_one)

    def _keep_one(self, record: ShareRecord[Any, Any] | None) -> None:
        self._left_over = [] if record is None else [record]

    def _keep(self, records: list[ShareRecord[Any, Any]]) -> None:
        self._left_over = records

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
        if type is not None:
            more = (*more, type)
        # Said of every record, so it goes the short way: `_use` written out, and no detour over the loop.
        if self._in_callback or not self._in_use.acquire(blocking=False):
            with self._use("acknowledge"):  # which knows how to refuse
                self._consumer.acknowledge(record, *more)
            return
        try:
            if self._closed:
                raise IllegalState("This consumer has already been closed.")
            if isinstance(record, str):
                self._consumer.acknowledge(record, *more)
            else:
                self._acknowledge(record, *more)
        finally:
            self._in_use.release()

    def _say(self, of: tuple[Any, ...], kind: AcknowledgeType, extra: Extra | None) -> None:
        if kind is AcknowledgeType.RENEW and self._consumer.core.has_worker:
            self._do(lambda: self._consumer._say(of, kind, None))  # a handler's, in a thread of its own
            return
        with self._use("acknowledge"):
            self._consumer._say(of, kind, extra)

    # commits

    def commit_sync(self, timeout: float | None = None) -> CommitResults:
        """Commit what is acknowledged, in implicit mode everything. Each partition's result, an error or None.

        Without a ``timeout`` it is ``default.api.timeout.ms``. What is undecided by then has ``RequestTimedOut``.
        """
        with self._use("commit_sync"):
            results = self._wait(self._consumer.commit_sync(timeout))
            self._tell_completed()
            return results

    def commit_async(self) -> None:
        """As `commit_sync`, without waiting; the acknowledgement commit callback gets the results."""
        with self._use("commit_async"):
            self._tell_completed()
            self._do(self._consumer.commit_async)

    def set_acknowledgement_commit_callback(self, callback: AcknowledgementCallback | None) -> None:
        """It is called with offsets by partition and an error or None, from within `poll`, commits and `close`.

        It may call `wakeup` and nothing else of the consumer; what it raises is logged.
        """
        with self._use("set_acknowledgement_commit_callback"):
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
        with self._use("processing"):
            if self._consumer.core.is_worked_on and self._consumer.core.holdings.is_open(record):
                self._consumer.begin_work_on(record)  # the loop looks after its leases already
            else:
                self._do(lambda: self._consumer.begin_work_on(record))

    def end_work_on(
        self, record: ShareRecord[Any, Any], acknowledgement: Acknowledgement, *, insist: bool
    ) -> None:
        """What `processing` does when the block ends: what was said in it stands, unless the end ``insists``."""
        with self._use("processing"):
            self._consumer.end_work_on(record, acknowledgement, insist=insist)

    def run(
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
        """Call ``handler`` with every record, in up to ``concurrency`` threads, until `wakeup`, SIGTERM or SIGINT.

        A record is accepted when its handler returns, in either acknowledgement mode. `Reject`, or a type in ``reject``
        that is not in ``transient``, rejects it. Any other exception releases it, and it is delivered again after the
        next of ``retry_delays``, in seconds. Without ``retry_delays`` that is after the group's backoff or, if it has
        none, after about 1 s, 10 s, a minute and ten minutes. ``on_error`` is called with each failure; without it
        failures are logged. A record that cannot be deserialised fails without a call of the handler. While all
        records fail, one at a time is tried.

        ``begins`` becomes the ``share.auto.offset.reset`` of a group that has none; None sets nothing.

        At its end it takes no more records, waits up to ``drain_timeout`` seconds for handlers, gives back what none
        has begun, and returns. A second signal, half a second later or more, ends it at once. Signals are left alone
        where the application has handlers of its own, outside the main thread, and without ``handle_signals``.
        """
        check_handler(handler, blocking=True)
        options = WorkerOptions.of(concurrency, reject, transient, retry_delays, begins, drain_timeout)
        threads = HandlerThreads(concurrency, "leaselog-handler")

        def call(record: ShareRecord[Any, Any]) -> BaseException | None:
            made, error = call_plain(handler, record)
            return refused_awaitable(handler, made) if error is None else error

        async def handle(record: ShareRecord[Any, Any]) -> BaseException | None:
            return await threads.call(lambda: call(record))

        async def tell(
            record: ShareRecord[Any, Any], error: Exception, kind: AcknowledgeType
        ) -> BaseException | None:
            return await threads.call(lambda: tell_error(on_error, record, error, kind))

        with self._use("run"):
            worker = WorkLoop(self._consumer, handle, tell, options)
            try:
                signals = StopSignals(self.wakeup, worker.stop_at_once, is_wanted=handle_signals)
                self._signals = signals
                with signals:
                    # An interruption that comes nevertheless is a request to end well, and goes on when that is done.
                    ended_by = self._wait(
                        self._consumer.work(worker),
                        interrupt=self._consumer.wakeup,
                        grace_s=drain_timeout + CLOSE_TIMEOUT_S,
                    )
            finally:
                threads.close()
                self._tell_completed()
        signals.pass_on()
        if ended_by is not None:
            raise ended_by

    # other calls

    def wakeup(self) -> None:
        """The call that waits now, or the next that could, raises ``WakeupError``. From any thread."""
        self._consumer.wakeup()

    def wait_until_ready(self, timeout: float | None = READY_TIMEOUT_S) -> None:
        """Returns when the cluster answers, and has every topic subscribed to, with a leader for each partition.

        Raises the reason why not after ``timeout`` seconds, or at once if waiting cannot help.
        """
        with self._use("wait_until_ready"):
            self._wait(self._consumer.wait_until_ready(timeout))

    @property
    def acquisition_lock_timeout(self) -> float | None:
        """For how many seconds the group's records are leased; None before the first answer."""
        return self._consumer.acquisition_lock_timeout

    def metrics(self) -> dict[MetricName, float]:
        """Kafka's numbers and names. From any thread, from a handler too."""
        self._check_process()
        return self._consumer.metrics()

    def client_instance_id(self, timeout: float) -> UUID:
        """The id under which the cluster knows this client in telemetry. Raises ``UnsupportedVersion`` without such."""
        with self._use("client_instance_id"):
            return self._wait(self._consumer.client_instance_id(timeout))

    def close(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
        """Commit what was acknowledged, give back the rest, leave the group; about ``timeout`` seconds at most.

        In implicit mode nothing is accepted here. Cannot be woken up; a second call does nothing.
        """
        if self._closed or self._is_of_a_parent:
            return
        with self._use("close"), nullcontext() if self._signals is None else self._signals.closing():
            try:
                if self._thread is not None:
                    self._do(lambda: self._consumer.core.give_back_unbegun(self._left_over))
                    self._wait(self._consumer.close(timeout))
                self._tell_completed()
            finally:
                self._closed = True
                if self._thread is not None:
                    self._thread.close()

    # crossing over

    def _check_process(self) -> None:
        if self._is_of_a_parent:
            raise IllegalState(
                "This consumer was made before a fork, and is its parent's: make one in each process that uses one."
            )

    @contextmanager
    def _use(self, what: str) -> Iterator[None]:
        self._check_process()
        if self._in_callback:
            raise IllegalState(
                "Share consumer methods are not accessible from user-defined acknowledgement commit callback."
            )
        if not self._in_use.acquire(blocking=False):
            raise ConcurrentAccess(f"{what} while another thread is in {self._user}: one thread at a time")
        self._user = what
        try:
            if self._closed:
                raise IllegalState("This consumer has already been closed.")
            yield
        finally:
            self._in_use.release()

    def _do(self, call: Callable[[], T]) -> T:
        async def wrapped() -> T:
            return call()

        return self._wait(wrapped())

    def _wait(
        self,
        work: Coroutine[Any, Any, T],
        keep: Callable[[T], None] | None = None,
        *,
        interrupt: Callable[[], None] | None = None,
        grace_s: float = _GRACE_S,
    ) -> T:
        """The result of ``work``, done in the loop's thread. An interrupted wait ends the work before it goes on."""
        if self._thread is None:
            self._thread = LoopThread("leaselog-share")
        return self._thread.run(work, keep, interrupt=interrupt, grace_s=grace_s)

    def _tell_completed(self) -> None:
        completed = self._consumer.core.take_completed()
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
