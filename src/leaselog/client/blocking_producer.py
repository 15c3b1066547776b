"""The producer for threads: any of them hands records over, a loop of its own sends them.

Crossing over to the loop costs more than a record does, so records gather in a queue and the loop is woken once for
all that are there. The queue is short: who sends faster than the cluster takes has to wait.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Generic, TypeVar, overload

from leaselog.client.async_producer import CLOSE_TIMEOUT_S
from leaselog.client.cluster import READY_TIMEOUT_S, Cluster
from leaselog.client.committed_offsets import CommittedOffset
from leaselog.client.config_values import Given
from leaselog.client.errors import ConnectionLost, IllegalState, RequestTimedOut
from leaselog.client.forks import at_exit, generation, keep_for_ever, tell_of_forks
from leaselog.client.loop_thread import LoopThread
from leaselog.client.machine import wall_ms
from leaselog.client.outgoing import (
    Headers,
    checked_headers,
    checked_partition,
    checked_timestamp,
    checked_topic,
    serialized,
)
from leaselog.client.producer import BatchProducer, Delivered
from leaselog.client.producer_config import ProducerConfig
from leaselog.client.receipts import Receipt, settle
from leaselog.client.serializers import Serializer
from leaselog.client.transactions import GroupMetadata, Transactions, checked_offsets
from leaselog.client.undelivered import Undelivered
from leaselog.model import TopicPartition
from leaselog.wire.records import RecordHeader

__all__ = ["Producer"]

_log = logging.getLogger("leaselog.client")

K = TypeVar("K")
V = TypeVar("V")

#: records handed over that the loop has not taken yet
QUEUE_RECORDS = 10_000
#: for what was handed over to arrive when the process ends without a word
EXIT_TIMEOUT_S = 30.0
_STOP_TIMEOUT_S = 5.0
#: the arguments of `BatchProducer.send`
_Handed = tuple[str, bytes | None, bytes | None, Sequence[RecordHeader], int | None, int | None, Receipt]


class Producer(Generic[K, V]):
    """Use as ``with``, or `close` it. Idempotent, in batches, in order for each partition; for any number of threads.

    Configuration is Kafka's, as a mapping, as keywords, or both; names have dots or underscores. A text in place of the
    mapping is ``bootstrap.servers``. In the child of a fork it begins anew, without what was handed over before.
    """

    # The most particular first: the last takes any keyword.
    @overload
    def __init__(
        self: Producer[K, V],
        config: Given = None,
        *,
        key_serializer: Serializer[K],
        value_serializer: Serializer[V],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: Producer[bytes, V],
        config: Given = None,
        *,
        value_serializer: Serializer[V],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: Producer[K, bytes],
        config: Given = None,
        *,
        key_serializer: Serializer[K],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: Producer[bytes, bytes],
        config: Given = None,
        **more: object,
    ) -> None: ...

    def __init__(self, config: Given = None, **more: object) -> None:
        self.config = ProducerConfig.of(config, **more)
        self._closed = False
        self._begin_empty()
        tell_of_forks(self)

    def _begin_empty(self) -> None:
        #: guards everything below that both sides touch, and is told when receipts settle or there is room
        self._changed = threading.Condition()
        self._handed = deque[_Handed]()
        #: taken from there, and waiting for the cluster to tell of their topics
        self._lines = dict[str, deque[_Handed]]()
        self._in_lines = 0
        self._serving_lines = dict[asyncio.Task[None], None]()
        self._open = set[Receipt]()
        self._untold = Undelivered()
        self._thread: LoopThread | None = None
        #: done when everything was let go of
        self._served: Future[None] | None = None
        self._stopping: asyncio.Event | None = None
        self._arrived: asyncio.Event | None = None
        self._is_told = False
        self._batches: BatchProducer | None = None
        #: how many callers wait in `flush`
        self._hurrying = 0

    def begin_in_child(self) -> None:
        """What `forks` calls in the child of a fork: the parent goes on with what it was given."""
        if self._thread is None:
            self._changed = threading.Condition()
            return
        _begun.pop(self, None)
        keep_for_ever(self._thread, self._batches, self._handed, self._lines, self._serving_lines)
        not_ours = IllegalState("sent by the parent of this process, which alone will know what became of it")
        for receipt in self._open:
            receipt.disown(not_ours)
        self._begin_empty()

    def __enter__(self) -> Producer[K, V]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        try:
            self._end(0)
        finally:
            self._untold.log_them()

    def send(
        self,
        topic: str,
        value: V | None = None,
        key: K | None = None,
        *,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Receipt:
        """Hand a record over; waits for room, not for its delivery. Ask the receipt for the ``result``.

        Raises ``TypeError`` and ``ValueError`` for what cannot be sent, and ``RequestTimedOut`` if there is no room for
        ``max.block.ms``. Everything else is in the receipt.
        """
        checked_topic(topic)
        receipt = Receipt(self._changed, self._untold)
        handed = (
            topic,
            serialized(self.config.value_serializer, value, "value"),
            serialized(self.config.key_serializer, key, "key"),
            checked_headers(headers),
            checked_partition(partition),
            wall_ms() if timestamp_ms is None else checked_timestamp(timestamp_ms),
            receipt,
        )
        with self._changed:
            self._begin()
            if not self._has_room:
                self._wait_room()
            self._handed.append(handed)
            self._open.add(receipt)
            if self._is_told:
                return receipt
            self._is_told = True
            thread = self._thread
        assert thread is not None
        thread.tell(self._arrive)
        return receipt

    def init_transactions(self) -> None:
        """Take ``transactional.id`` over, once and before the first transaction: whoever had it is fenced."""
        self._in_loop(lambda transactions: transactions.init())

    def begin_transaction(self) -> None:
        """What is sent from here on counts together, or not at all."""

        async def begin(transactions: Transactions) -> None:
            transactions.begin()

        self._in_loop(begin)

    def commit_transaction(self) -> None:
        """Deliver what was sent, and let it count. Raises what is wrong with the transaction: abort it then.

        A ``ProducerFencedException`` says that another producer has the transactional id: close this one.
        """
        self._wait_settled(None)
        self._in_loop(lambda transactions: transactions.commit())

    def abort_transaction(self) -> None:
        """Nothing that was sent since the transaction began counts; the receipts of what had not left yet say so."""
        self._wait_taken()
        self._in_loop(lambda transactions: transactions.abort())
        self._untold.take()  # who aborts knows

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, CommittedOffset | int], group: GroupMetadata | str
    ) -> None:
        """Where the group goes on, once the transaction is committed: behind what it has read to write this."""
        checked = checked_offsets(offsets, group)
        self._in_loop(lambda transactions: transactions.send_offsets(*checked))

    @contextmanager
    def transaction(self) -> Iterator[Producer[K, V]]:
        """``with producer.transaction():`` commits at its end; an exception aborts, and goes on."""
        self.begin_transaction()
        try:
            yield self
            self.commit_transaction()
        except BaseException:
            if self._batches is not None and self._batches.transactions.may_abort:
                self.abort_transaction()
            raise

    def _in_loop(self, call: Callable[[Transactions], Coroutine[Any, Any, None]]) -> None:
        with self._changed:
            self._begin()
            thread = self._thread
        assert thread is not None

        async def run() -> None:
            assert self._batches is not None, "the loop begins with making them"
            await call(self._batches.transactions)

        thread.run(run())

    def _wait_taken(self) -> None:
        """Returns when the loop has all that was handed over: nothing of it may go out with the next transaction."""
        with self._changed:
            self._changed.wait_for(lambda: not self._handed and not self._in_lines)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until every record handed over so far is delivered or given up; whether that came in ``timeout`` s.

        Raises ``DeliveryFailed`` if records were given up, now or before, and nobody has asked their receipts.
        """
        in_time = self._wait_settled(timeout)
        self._untold.raise_them()
        return in_time

    def wait_until_ready(self, timeout: float | None = READY_TIMEOUT_S, topics: Iterable[str] = ()) -> None:
        """Returns when the cluster answers, and has these topics with a leader for each partition.

        Raises the reason why not after ``timeout`` seconds, or at once if waiting cannot help.
        """
        names = [checked_topic(topic) for topic in topics]
        with self._changed:
            self._begin()
            thread, cluster = self._thread, self._cluster
        assert thread is not None
        thread.run(cluster.wait_until_ready(timeout, names))

    def close(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
        """Deliver what was handed over, for ``timeout`` seconds at most, and let go of everything.

        Raises ``DeliveryFailed`` as `flush` does, of what did not arrive in time as well.
        """
        if self._closed:
            return
        try:
            self._end(timeout)
        except BaseException:
            self._untold.log_them()
            raise
        self._untold.raise_them()

    def close_at_exit(self) -> None:
        """The process ends, and nobody has closed the producer: what it has been given is not to be lost with it."""
        if self._closed or self._thread is None or self._thread.is_of_a_parent:
            return
        if self._open:
            _log.warning(
                "a producer was not closed: %d records are delivered now. Use it as `with`, or close it",
                len(self._open),
            )
        self._end(EXIT_TIMEOUT_S)
        self._untold.log_them()

    def _end(self, timeout: float) -> None:
        if self._closed:
            return
        try:
            if timeout > 0:
                self._wait_settled(timeout)
        finally:
            with self._changed:
                self._closed = True
            _begun.pop(self, None)
            if self._thread is not None and self._served is not None:
                self._thread.tell(self._stop)
                wait([self._served], _STOP_TIMEOUT_S)
                self._thread.close()

    def _wait_settled(self, timeout: float | None) -> bool:
        with self._changed:
            waiting = set(self._open)
            if self._thread is None or not waiting:
                return True
            thread = self._thread
        thread.tell(self._hurry)
        try:
            with self._changed:
                return self._changed.wait_for(lambda: self._open.isdisjoint(waiting), timeout)
        finally:
            thread.tell(self._relax)

    @property
    def _has_room(self) -> bool:
        return len(self._handed) + self._in_lines < QUEUE_RECORDS

    def _wait_room(self) -> None:
        limit_s = self.config.settings.max_block_ms / 1000
        if not self._changed.wait_for(lambda: self._has_room or self._closed, limit_s):
            raise RequestTimedOut(f"no room to send in {self.config.settings.max_block_ms} ms")
        self._begin()

    def _begin(self) -> None:
        if self._closed:
            raise IllegalState("This producer has already been closed.")
        if self._thread is None:
            config = self.config
            self._cluster = Cluster(
                config.bootstrap_servers,
                security=config.security,
                client_id=config.client_id,
                request_timeout_ms=config.request_timeout_ms,
                api_timeout_ms=config.settings.max_block_ms,
            )
            self._stopping, self._arrived = asyncio.Event(), asyncio.Event()
            self._thread = LoopThread("leaselog-producer")
            self._served = self._thread.start(self._serve())
            _close_at_exit(self)

    # in the loop's thread

    def _arrive(self) -> None:
        assert self._arrived is not None
        self._arrived.set()

    def _stop(self) -> None:
        assert self._stopping is not None
        self._stopping.set()
        self._arrive()

    def _hurry(self) -> None:
        self._change_hurry(1)

    def _relax(self) -> None:
        self._change_hurry(-1)

    def _change_hurry(self, change: int) -> None:
        self._hurrying += change
        if self._batches is not None:
            self._batches.hurry(change)

    async def _serve(self) -> None:
        batches = BatchProducer(
            self._cluster, self.config.settings, on_delivered=self._delivered, on_failed=self._give_up
        )
        batches.start()
        batches.hurry(self._hurrying)
        self._batches = batches
        assert self._stopping is not None
        assert self._arrived is not None
        taking = asyncio.create_task(self._take_all(batches, self._arrived))
        try:
            await self._stopping.wait()
        finally:
            working = [taking, *self._serving_lines]
            for task in working:
                task.cancel()
            await asyncio.gather(*working, return_exceptions=True)
            await batches.stop()
            self._give_up(ConnectionLost("the producer was closed"))
            await self._cluster.close()

    async def _take_all(self, batches: BatchProducer, arrived: asyncio.Event) -> None:
        while True:
            await arrived.wait()
            arrived.clear()
            with self._changed:
                taken, self._handed = self._handed, deque()
                self._is_told = False
                self._changed.notify_all()
            for handed in taken:
                topic = handed[0]
                if topic in self._lines or not batches.knows(topic):
                    self._stand_in_line(batches, handed)
                else:
                    await self._hand_on(batches, handed)

    def _stand_in_line(self, batches: BatchProducer, handed: _Handed) -> None:
        """Records wait for the cluster to tell of their own topic, and for no other: one name may be mistyped."""
        topic = handed[0]
        with self._changed:
            self._in_lines += 1
        if topic in self._lines:
            self._lines[topic].append(handed)
            return
        self._lines[topic] = deque([handed])
        serving = asyncio.create_task(self._serve_line(batches, topic))
        self._serving_lines[serving] = None
        serving.add_done_callback(self._serving_lines.pop)

    async def _serve_line(self, batches: BatchProducer, topic: str) -> None:
        line = self._lines[topic]
        try:
            await batches.look_up(topic)
        except Exception as refused:  # noqa: BLE001 - it is theirs, and their receipts tell
            del self._lines[topic]
            self._settle([handed[-1] for handed in line], refused)
            self._leave_line(len(line))
            return
        while line:
            await self._hand_on(batches, line.popleft())
            self._leave_line(1)
        del self._lines[topic]

    def _leave_line(self, count: int) -> None:
        with self._changed:
            self._in_lines -= count
            self._changed.notify_all()

    async def _hand_on(self, batches: BatchProducer, handed: _Handed) -> None:
        topic, value, key, headers, partition, timestamp_ms, receipt = handed
        try:
            await batches.send(
                topic,
                value,
                key,
                headers=headers,
                partition=partition,
                timestamp_ms=timestamp_ms,
                tag=receipt,
            )
        except Exception as refused:  # noqa: BLE001 - it is this record's, and its receipt tells
            self._settle([receipt], refused)

    def _delivered(self, delivered: Delivered) -> None:
        with self._changed:
            self._open.difference_update(settle(delivered))
            self._changed.notify_all()
        if delivered.error is not None:
            self._say_later()

    def _settle(self, receipts: Sequence[Receipt], outcome: BaseException) -> None:
        with self._changed:
            for receipt in receipts:
                receipt.put(outcome)
            self._open.difference_update(receipts)
            self._changed.notify_all()
        self._say_later()

    def _say_later(self) -> None:
        """Who neither asks receipts nor flushes hears of it in the log."""
        if not self._closed and (pause_s := self._untold.pause_s()) is not None:
            asyncio.get_running_loop().call_later(pause_s, self._say)

    def _say(self) -> None:
        self._untold.say()
        self._say_later()

    def _give_up(self, why: BaseException) -> None:
        """What is still on its way will not arrive, or nobody will know."""
        with self._changed:
            gone = list(self._open)
        self._settle(gone, why)


#: producers with a loop, in the order in which they began: each is let go of when it is closed
_begun = dict[Producer[Any, Any], None]()


#: the process, as `forks` counts them, that will call `_close_all_at_exit`
_exits_of: int | None = None


def _close_at_exit(producer: Producer[Any, Any]) -> None:
    global _exits_of
    _begun[producer] = None
    if _exits_of != generation():
        _exits_of = generation()
        at_exit(_close_all_at_exit)


def _close_all_at_exit() -> None:
    for producer in list(_begun):
        producer.close_at_exit()
