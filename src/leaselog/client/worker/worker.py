"""A worker: its handlers, what is around them, and its life.

It makes one function of a record of all its handlers, and leaves the rest to `AsyncShareConsumer.run`: so what fails,
waits, is given up or given back is so in the same way.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from leaselog.client.async_producer import AsyncProducer
from leaselog.client.config_values import ConfigValues, Given
from leaselog.client.errors import ConfigError, IllegalState
from leaselog.client.machine import monotonic_ms as _now_ms
from leaselog.client.outgoing import checked_topic
from leaselog.client.security.names import SECURITY_CONFIGS
from leaselog.client.share.async_consumer import AsyncShareConsumer
from leaselog.client.share.calling import HandlerThreads
from leaselog.client.share.metrics import MetricName
from leaselog.client.share.processing import ExceptionTypes, Judgement
from leaselog.client.share.retrying import RetryDelays
from leaselog.client.share.worker import DRAIN_TIMEOUT_S, EARLIEST, OnError, WorkerOptions
from leaselog.client.worker.batches import Batches
from leaselog.client.worker.chain import Call, Middleware, chained, check_middleware, threads_needed
from leaselog.client.worker.handlers import AnyRecord, Handler, Subject
from leaselog.client.worker.results import publish
from leaselog.client.worker.tracing import working_on

__all__ = ["Worker"]

F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M", bound=Middleware)

#: how long a batch waits for more records
BATCH_WAIT_S = 0.1
#: What waits for its turn is held on purpose: this often somebody says so.
_KEEP_EVERY_S = 5.0


class Worker:
    """Handlers of a share group's topics: declare them with `handler`, then `run`, or `leaselog worker module:worker`.

    Configuration is a share consumer's, as a mapping, as keywords, or both; a text in place of the mapping is
    ``bootstrap.servers``, and ``group`` is ``group.id``. The other options are those of `ShareConsumer.run`.
    ``producer`` configures the producer of results.
    """

    def __init__(
        self,
        config: Given = None,
        *,
        group: str | None = None,
        concurrency: int = 1,
        reject: ExceptionTypes = (),
        transient: ExceptionTypes = (),
        retry_delays: Iterable[float] | None = None,
        begins: str | None = EARLIEST,
        on_error: OnError | None = None,
        drain_timeout: float = DRAIN_TIMEOUT_S,
        middleware: Iterable[Middleware] = (),
        producer: Given = None,
        **more: object,
    ) -> None:
        self._given = ConfigValues(config, more, {"group.id": group})
        self._producer_config = producer
        judgement = Judgement.of(reject=reject, transient=transient)
        delays = None if retry_delays is None else RetryDelays.checked(retry_delays)
        self.options: dict[str, Any] = {
            "concurrency": concurrency,
            "reject": judgement.reject,
            "transient": judgement.transient,
            "retry_delays": delays,
            "begins": begins,
            "drain_timeout": drain_timeout,
        }
        WorkerOptions.of(**self.options)
        self.on_error = on_error
        self._handlers = dict[str, Handler]()
        self._middleware = list[Middleware]()
        for one in middleware:
            self.middleware(one)
        self._consumer: AsyncShareConsumer[Any, Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    # declaring

    def handler(
        self,
        *topics: str,
        decode: Callable[[bytes], Any] | None = None,
        result_topic: str | None = None,
        batch: int | None = None,
        batch_wait: float = BATCH_WAIT_S,
    ) -> Callable[[F], F]:
        """``@worker.handler("orders")`` declares a function, plain or async, for the records of these topics.

        The annotation of its first parameter says what it gets: ``bytes``, ``str``, the record for `ShareRecord` or no
        annotation at all, a pydantic model, and anything else by way of JSON: ``dict``, ``list``, a dataclass …;
        ``decode``, a function of bytes, goes before. A second parameter is the record. With ``batch`` it takes a list
        of payloads, so many at most, ``batch_wait`` seconds after the first; its second parameter is that of records.

        What it returns is produced to ``result_topic``, unless it is None, before the record is accepted. Raises
        ``TypeError`` for what could not be called.
        """

        if not topics:
            raise TypeError('a handler is of topics: @worker.handler("orders")')
        for topic in (*topics, *([] if result_topic is None else [result_topic])):
            checked_topic(topic)

        def declare(function: F) -> F:
            made = Handler.of(
                function,
                topics,
                known_names=sys._getframe(1).f_locals,
                decode=decode,
                result_topic=result_topic,
                batch=batch,
                batch_wait=batch_wait,
            )
            for topic in made.topics:
                if topic in self._handlers:
                    raise ValueError(f"{topic} has a handler already, {self._handlers[topic].name}")
            self._handlers.update(dict.fromkeys(made.topics, made))
            return function

        return declare

    def middleware(self, function: M) -> M:
        """``@worker.middleware`` puts a function around the handlers, within those that were declared before it.

        It is called with the record, or the list of a batch, and ``call_next``: ``call_next(record)`` in a plain one,
        ``await call_next(record)`` in an async one, return what the handler returned, and raise what it raised.
        """
        check_middleware(function)
        self._middleware.append(function)
        return function

    @property
    def topics(self) -> frozenset[str]:
        return frozenset(self._handlers)

    @property
    def concurrency(self) -> int:
        return int(self.options["concurrency"])

    def config(self, **more: object) -> dict[str, object]:
        """A share consumer's configuration; what is given here goes before, by Kafka's names with underscores."""
        return ConfigValues(self._given.as_dict(), more).as_dict()

    # running

    def run(self) -> None:
        """Work until SIGTERM, SIGINT or `stop`, as `ShareConsumer.run` does; in an event loop of its own."""
        asyncio.run(self.run_async())

    async def run_async(self) -> None:
        """`run` for an event loop that is there already."""
        async with AsyncShareConsumer(self.config()) as consumer:
            await self.work(consumer)

    async def work(
        self,
        consumer: AsyncShareConsumer[Any, Any],
        *,
        around: Callable[[Call], Call] = lambda call: call,
        **options: Any,
    ) -> None:
        """Work with this consumer, which is subscribed here; ``options`` of its `run` go before the worker's own."""
        if not self._handlers:
            raise ConfigError('the worker has no handler: @worker.handler("orders") declares one')
        if self._consumer is not None:
            raise IllegalState("the worker is running already")
        options = {**self.options, "on_error": self.on_error, **options}
        consumer.subscribe(self.topics)
        self._consumer, self._loop = consumer, asyncio.get_running_loop()
        try:
            async with self._bench(consumer, options["concurrency"]) as call:
                work = around(call)

                async def handle(record: AnyRecord) -> None:
                    await work(record)

                options["concurrency"] *= max(handler.batch for handler in self._handlers.values())
                await consumer.run(handle, **options)
        finally:
            self._consumer = self._loop = None

    def stop(self) -> None:
        """End well: no more records, handlers finish. From anywhere; a worker that does not run is left alone."""
        if (consumer := self._consumer) is not None:
            consumer.wakeup()

    def renew(self, record: AnyRecord) -> None:
        """From a handler that needs more time, plain or async: as `ShareConsumer.renew`."""
        self._in_loop(lambda consumer: consumer.renew(record))

    def metrics(self) -> Mapping[MetricName, float]:
        """Kafka's numbers and names, from anywhere; empty while it does not run."""
        consumer = self._consumer
        return {} if consumer is None else consumer.metrics()

    def _in_loop(self, call: Callable[[AsyncShareConsumer[Any, Any]], None]) -> None:
        consumer, loop = self._consumer, self._loop
        if consumer is None or loop is None:
            raise IllegalState("the worker is not running")
        if _running_loop() is loop:
            call(consumer)
            return

        async def crossing() -> None:
            call(consumer)

        asyncio.run_coroutine_threadsafe(crossing(), loop).result()

    @asynccontextmanager
    async def _bench(self, consumer: AsyncShareConsumer[Any, Any], concurrency: int) -> AsyncIterator[Call]:
        """One function for every record, and what it needs meanwhile."""
        handlers = dict.fromkeys(self._handlers.values())
        need = max(threads_needed(self._middleware, is_async_work=handler.is_async) for handler in handlers)
        threads = HandlerThreads(concurrency * need, "leaselog-handler")
        turns = asyncio.Semaphore(concurrency)
        has_batches = any(handler.is_batch for handler in handlers)
        producer = self._producer(consumer) if any(handler.result_topic for handler in handlers) else None
        batches = list[Batches]()
        calls = dict[Handler, Call]()
        for handler in handlers:
            call = chained(self._middleware, handler.call, is_async_work=handler.is_async, threads=threads)
            if has_batches:
                call = _in_turn(call, turns, consumer)
            if handler.is_batch:
                batches.append(Batches(handler.batch, handler.batch_wait_s, call))
                call = batches[-1].work_on  # type: ignore[assignment]
            if handler.result_topic is not None:
                assert producer is not None
                call = _published(call, producer, handler.result_topic)
            calls[handler] = call
        by_topic = {topic: calls[handler] for topic, handler in self._handlers.items()}

        async def work_on(record: Subject) -> Any:
            assert not isinstance(record, list)
            with working_on(record):
                return await by_topic[record.topic](record)

        try:
            yield work_on
        finally:
            for some in batches:
                some.close()
            threads.close()
            if producer is not None:
                await producer.close(0)

    def _producer(self, consumer: AsyncShareConsumer[Any, Any]) -> AsyncProducer[bytes, bytes]:
        """Raises ``ConfigError`` for one that would not wait for the broker."""
        config = consumer.config
        theirs = ConfigValues(self._producer_config).as_dict()
        ours: dict[str, object] = {
            "bootstrap.servers": config.bootstrap_servers,
            "client.id": config.client_id,
        }
        # Whoever says how to come in elsewhere has said all of it: a password goes to the cluster it was given for.
        if not theirs.keys() & {*SECURITY_CONFIGS, "bootstrap.servers"}:
            ours |= dict(config.security.given)
        made: AsyncProducer[bytes, bytes] = AsyncProducer({**ours, **theirs})
        if made.config.settings.acks == 0:
            raise ConfigError("acks=0: a result has to be acknowledged before its record is accepted")
        return made


def _in_turn(call: Call, turns: asyncio.Semaphore, consumer: AsyncShareConsumer[Any, Any]) -> Call:
    """So many calls at a time, where more records than that are held."""

    async def wait_and_call(subject: Subject) -> Any:
        records = subject if isinstance(subject, list) else [subject]
        turn = asyncio.ensure_future(turns.acquire())
        try:
            while not (await asyncio.wait([turn], timeout=_KEEP_EVERY_S))[0]:
                consumer.core.keep(records, _now_ms())
        except BaseException:
            if not turn.cancel() and not turn.cancelled():
                turns.release()
            raise
        consumer.core.keep(records, _now_ms())
        try:
            return await call(subject)
        finally:
            turns.release()

    return wait_and_call


def _published(call: Call, producer: AsyncProducer[Any, Any], topic: str) -> Call:
    async def work_and_publish(record: Subject) -> Any:
        assert not isinstance(record, list)
        result = await call(record)
        await publish(producer, topic, record, result)
        return result

    return work_and_publish


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
