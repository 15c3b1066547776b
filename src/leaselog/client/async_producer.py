"""The producer for asyncio: configuration, serialisers and receipts around the batches of ``producer``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Generic, TypeVar, cast, overload

from leaselog.client.cluster import READY_TIMEOUT_S, Cluster
from leaselog.client.committed_offsets import CommittedOffset
from leaselog.client.config_values import Given
from leaselog.client.errors import ConnectionLost, IllegalState
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
from leaselog.client.receipts import AsyncReceipt, settle
from leaselog.client.serializers import Serializer
from leaselog.client.transactions import GroupMetadata, Transactions, checked_offsets
from leaselog.client.undelivered import Undelivered
from leaselog.model import TopicPartition

__all__ = ["CLOSE_TIMEOUT_S", "AsyncProducer"]

K = TypeVar("K")
V = TypeVar("V")

#: for what was sent to arrive; Java waits for as long as it takes, which is delivery.timeout.ms at most
CLOSE_TIMEOUT_S = 120.0


class AsyncProducer(Generic[K, V]):
    """Use as ``async with``, or `close` it. Idempotent, in batches, in order for each partition.

    Configuration is Kafka's, as a mapping, as keywords, or both; names have dots or underscores. A text in place of the
    mapping is ``bootstrap.servers``. A producer belongs to the event loop in which it was first used.
    """

    # The most particular first: the last takes any keyword.
    @overload
    def __init__(
        self: AsyncProducer[K, V],
        config: Given = None,
        *,
        key_serializer: Serializer[K],
        value_serializer: Serializer[V],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: AsyncProducer[bytes, V],
        config: Given = None,
        *,
        value_serializer: Serializer[V],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: AsyncProducer[K, bytes],
        config: Given = None,
        *,
        key_serializer: Serializer[K],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: AsyncProducer[bytes, bytes],
        config: Given = None,
        **more: object,
    ) -> None: ...

    def __init__(self, config: Given = None, **more: object) -> None:
        self.config = ProducerConfig.of(config, **more)
        self._cluster = Cluster(
            self.config.bootstrap_servers,
            security=self.config.security,
            client_id=self.config.client_id,
            request_timeout_ms=self.config.request_timeout_ms,
            api_timeout_ms=self.config.settings.max_block_ms,
        )
        self._batches: BatchProducer | None = None
        self._beginning = asyncio.Lock()
        self._open = dict[AsyncReceipt, None]()  # an ordered set
        self._untold = Undelivered()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    async def __aenter__(self) -> AsyncProducer[K, V]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self.close()
            return
        try:
            await self._end(0)
        finally:
            self._untold.log_them()

    async def send(
        self,
        topic: str,
        value: V | None = None,
        key: K | None = None,
        *,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> AsyncReceipt:
        """Hand a record over; waits for room, not for its delivery. Await the receipt for that.

        Raises ``TypeError`` and ``ValueError`` for what cannot be sent, and what can be known at once: an unknown topic
        after ``max.block.ms``, a record too large, no room for as long.
        """
        self._check_usable()
        checked_topic(topic)
        record = (
            serialized(self.config.value_serializer, value, "value"),
            serialized(self.config.key_serializer, key, "key"),
        )
        checked = checked_headers(headers)
        partition, timestamp_ms = checked_partition(partition), checked_timestamp(timestamp_ms)
        batches = self._batches or await self._begin()
        receipt = AsyncReceipt(self._untold)
        await batches.send(
            topic, *record, headers=checked, partition=partition, timestamp_ms=timestamp_ms, tag=receipt
        )
        if not receipt.is_done:
            self._open[receipt] = None
        return receipt

    async def init_transactions(self) -> None:
        """Take ``transactional.id`` over, once and before the first transaction: whoever had it is fenced."""
        self._check_usable()
        await (self._batches or await self._begin()).transactions.init()

    def begin_transaction(self) -> None:
        """What is sent from here on counts together, or not at all."""
        self._transactions.begin()

    async def commit_transaction(self) -> None:
        """Deliver what was sent, and let it count. Raises what is wrong with the transaction: abort it then.

        A ``ProducerFencedException`` says that another producer has the transactional id: close this one.
        """
        await self._transactions.commit()

    async def abort_transaction(self) -> None:
        """Nothing that was sent since the transaction began counts; the receipts of what had not left yet say so."""
        await self._transactions.abort()
        self._untold.take()  # who aborts knows

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, CommittedOffset | int], group: GroupMetadata | str
    ) -> None:
        """Where the group goes on, once the transaction is committed: behind what it has read to write this."""
        await self._transactions.send_offsets(*checked_offsets(offsets, group))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncProducer[K, V]]:
        """``async with producer.transaction():`` commits at its end; an exception aborts, and goes on."""
        self.begin_transaction()
        try:
            yield self
            await self.commit_transaction()
        except BaseException:
            if self._transactions.may_abort:
                await self.abort_transaction()
            raise

    @property
    def _transactions(self) -> Transactions:
        self._check_usable()
        if self._batches is None:
            raise IllegalState("Call init_transactions before the first transaction.")
        return self._batches.transactions

    async def flush(self, timeout: float | None = None) -> bool:
        """Wait until every record handed over so far is delivered or given up; whether that came in ``timeout`` s.

        Raises ``DeliveryFailed`` if records were given up, now or before, and nobody has asked their receipts.
        """
        self._check_loop()
        in_time = await self._wait_settled(timeout)
        self._untold.raise_them()
        return in_time

    async def wait_until_ready(
        self, timeout: float | None = READY_TIMEOUT_S, topics: Iterable[str] = ()
    ) -> None:
        """Returns when the cluster answers, and has these topics with a leader for each partition.

        Raises the reason why not after ``timeout`` seconds, or at once if waiting cannot help.
        """
        self._check_usable()
        await self._cluster.wait_until_ready(timeout, [checked_topic(topic) for topic in topics])

    async def close(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
        """Deliver what was handed over, for ``timeout`` seconds at most, and let go of everything.

        Raises ``DeliveryFailed`` as `flush` does, of what did not arrive in time as well.
        """
        if self._closed:
            return
        try:
            await self._end(timeout)
        except BaseException:
            self._untold.log_them()
            raise
        self._untold.raise_them()

    async def _end(self, timeout: float) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            self._check_loop()
            if timeout > 0:
                await self._wait_settled(timeout)
        finally:
            if self._is_in_its_loop:
                if self._batches is not None:
                    await self._batches.stop()
                await self._cluster.close()
            self._give_up(ConnectionLost("the producer was closed"))

    async def _wait_settled(self, timeout: float | None) -> bool:
        waiting = list(self._open)
        if self._batches is None or not waiting:
            return True
        self._batches.hurry(1)
        try:
            async with asyncio.timeout(timeout):
                for receipt in waiting:
                    await receipt.settled()
        except TimeoutError:
            return False
        finally:
            self._batches.hurry(-1)
        return True

    @property
    def _is_in_its_loop(self) -> bool:
        return self._loop is None or self._loop is asyncio.get_running_loop()

    def _check_usable(self) -> None:
        self._check_loop()
        if self._closed:
            raise IllegalState("This producer has already been closed.")

    def _check_loop(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif self._loop is not loop:
            raise IllegalState(
                "This producer began in another event loop, and asyncio.run makes a new one each time:"
                " make a producer in each, or call asyncio.run once."
            )

    async def _begin(self) -> BatchProducer:
        async with self._beginning:
            if self._batches is None:
                self._batches = BatchProducer(
                    self._cluster,
                    self.config.settings,
                    on_delivered=self._delivered,
                    on_failed=self._give_up,
                    on_abandoned=self._abandoned,
                )
                self._batches.start()
            return self._batches

    def _delivered(self, delivered: Delivered) -> None:
        for receipt in settle(delivered):
            self._open.pop(cast(AsyncReceipt, receipt), None)
        if delivered.error is not None:
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
        gone, self._open = self._open, {}
        for receipt in gone:
            receipt.put(why)
        if gone:
            self._say_later()

    def _abandoned(self, why: BaseException) -> None:
        """The loop ended, and nobody has closed the producer."""
        self._closed = True
        self._give_up(why)
        self._untold.log_them()
