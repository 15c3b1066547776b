"""The producer for threads: any of them hands records over, a loop of its own sends them.

Crossing over to the loop costs more than a record does, so records gather in a queue and the loop is woken once for
all that are there. The queue is short: who sends faster than the cluster takes has to wait.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from types import TracebackType
from typing import Generic, TypeVar, overload

from leaselog.client.async_producer import CLOSE_TIMEOUT_S
from leaselog.client.cluster import Cluster
from leaselog.client.errors import ConnectionLost, RequestTimedOut
from leaselog.client.loop_thread import LoopThread
from leaselog.client.producer import BatchProducer, Delivered
from leaselog.client.producer_config import ProducerConfig
from leaselog.client.receipts import Receipt, settle
from leaselog.client.serializers import Serializer
from leaselog.client.surroundings import wall_ms
from leaselog.wire.records import RecordHeader

__all__ = ["Producer"]

K = TypeVar("K")
V = TypeVar("V")

#: records handed over that the loop has not taken yet
QUEUE_RECORDS = 10_000
_STOP_TIMEOUT_S = 5.0
#: the arguments of `BatchProducer.send`
_Handed = tuple[str, bytes | None, bytes | None, Sequence[RecordHeader], int | None, int | None, Receipt]


class Producer(Generic[K, V]):
    """Use as ``with``, or `close` it. Idempotent, in batches, in order for each partition; for any number of threads.

    Configuration is Kafka's, as a mapping, as keywords, or both; names have dots or underscores.
    """

    # The most particular first: the last takes any keyword.
    @overload
    def __init__(
        self: Producer[K, V],
        config: Mapping[str, object] | None = None,
        *,
        key_serializer: Serializer[K],
        value_serializer: Serializer[V],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: Producer[bytes, V],
        config: Mapping[str, object] | None = None,
        *,
        value_serializer: Serializer[V],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: Producer[K, bytes],
        config: Mapping[str, object] | None = None,
        *,
        key_serializer: Serializer[K],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: Producer[bytes, bytes],
        config: Mapping[str, object] | None = None,
        **more: object,
    ) -> None: ...

    def __init__(self, config: Mapping[str, object] | None = None, **more: object) -> None:
        self.config = ProducerConfig.of(config, **more)
        #: guards everything below that both sides touch, and is told when receipts settle or there is room
        self._changed = threading.Condition()
        self._handed = deque[_Handed]()
        self._open = set[Receipt]()
        self._thread: LoopThread | None = None
        #: done when everything was let go of
        self._served: Future[None] | None = None
        self._stopping: asyncio.Event | None = None
        self._arrived: asyncio.Event | None = None
        self._is_told = False
        self._closed = False
        self._batches: BatchProducer | None = None
        #: how many callers wait in `flush`
        self._hurrying = 0

    def __enter__(self) -> Producer[K, V]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(0 if error is not None else CLOSE_TIMEOUT_S)

    def send(
        self,
        topic: str,
        value: V | None = None,
        key: K | None = None,
        *,
        headers: Sequence[RecordHeader] = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Receipt:
        """Hand a record over; waits for room, not for its delivery. Ask the receipt for the ``result``.

        Raises ``RequestTimedOut`` if there is no room for ``max.block.ms``. Everything else is in the receipt.
        """
        receipt = Receipt(self._changed)
        handed = (
            topic,
            None if value is None else self.config.value_serializer(value),
            None if key is None else self.config.key_serializer(key),
            headers,
            partition,
            wall_ms() if timestamp_ms is None else timestamp_ms,
            receipt,
        )
        with self._changed:
            self._begin()
            if len(self._handed) >= QUEUE_RECORDS:
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

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until every record handed over so far is delivered or given up; whether that came in time."""
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

    def close(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
        """Deliver what was handed over, for ``timeout`` seconds at most, and let go of everything."""
        if self._closed:
            return
        try:
            if timeout > 0:
                self.flush(timeout)
        finally:
            with self._changed:
                self._closed = True
            if self._thread is not None and self._served is not None:
                self._thread.tell(self._stop)
                wait([self._served], _STOP_TIMEOUT_S)
                self._thread.close()

    def _wait_room(self) -> None:
        limit_s = self.config.settings.max_block_ms / 1000
        if not self._changed.wait_for(lambda: len(self._handed) < QUEUE_RECORDS or self._closed, limit_s):
            raise RequestTimedOut(f"no room to send in {self.config.settings.max_block_ms} ms")

    def _begin(self) -> None:
        if self._closed:
            raise RuntimeError("This producer has already been closed.")
        if self._thread is None:
            self._stopping, self._arrived = asyncio.Event(), asyncio.Event()
            self._thread = LoopThread("leaselog-producer")
            self._served = self._thread.start(self._serve())

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
        config = self.config
        cluster = Cluster(
            config.bootstrap_servers,
            client_id=config.client_id,
            request_timeout_ms=config.request_timeout_ms,
            api_timeout_ms=config.settings.max_block_ms,
        )
        batches = BatchProducer(
            cluster, config.settings, on_delivered=self._delivered, on_failed=self._give_up
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
            taking.cancel()
            await asyncio.gather(taking, return_exceptions=True)
            await batches.stop()
            self._give_up(ConnectionLost("the producer was closed"))
            await cluster.close()

    async def _take_all(self, batches: BatchProducer, arrived: asyncio.Event) -> None:
        while True:
            await arrived.wait()
            arrived.clear()
            with self._changed:
                taken, self._handed = self._handed, deque()
                self._is_told = False
                self._changed.notify_all()
            for topic, value, key, headers, partition, timestamp_ms, receipt in taken:
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

    def _settle(self, receipts: Sequence[Receipt], outcome: BaseException) -> None:
        with self._changed:
            for receipt in receipts:
                receipt.put(outcome)
            self._open.difference_update(receipts)
            self._changed.notify_all()

    def _give_up(self, why: BaseException) -> None:
        """What is still on its way will not arrive, or nobody will know."""
        with self._changed:
            gone = list(self._open)
        self._settle(gone, why)
