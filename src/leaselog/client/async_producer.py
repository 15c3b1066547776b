"""The producer for asyncio: configuration, serialisers and receipts around the batches of ``producer``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Generic, TypeVar, cast, overload

from leaselog.client.cluster import Cluster
from leaselog.client.errors import ConnectionLost
from leaselog.client.producer import BatchProducer, Delivered
from leaselog.client.producer_config import ProducerConfig
from leaselog.client.receipts import AsyncReceipt, settle
from leaselog.client.serializers import Serializer
from leaselog.wire.records import RecordHeader

__all__ = ["CLOSE_TIMEOUT_S", "AsyncProducer"]

K = TypeVar("K")
V = TypeVar("V")

#: for what was sent to arrive; Java waits for as long as it takes, which is delivery.timeout.ms at most
CLOSE_TIMEOUT_S = 120.0


class AsyncProducer(Generic[K, V]):
    """Use as ``async with``, or `close` it. Idempotent, in batches, in order for each partition.

    Configuration is Kafka's, as a mapping, as keywords, or both; names have dots or underscores.
    """

    # The most particular first: the last takes any keyword.
    @overload
    def __init__(
        self: AsyncProducer[K, V],
        config: Mapping[str, object] | None = None,
        *,
        key_serializer: Serializer[K],
        value_serializer: Serializer[V],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: AsyncProducer[bytes, V],
        config: Mapping[str, object] | None = None,
        *,
        value_serializer: Serializer[V],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: AsyncProducer[K, bytes],
        config: Mapping[str, object] | None = None,
        *,
        key_serializer: Serializer[K],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: AsyncProducer[bytes, bytes],
        config: Mapping[str, object] | None = None,
        **more: object,
    ) -> None: ...

    def __init__(self, config: Mapping[str, object] | None = None, **more: object) -> None:
        self.config = ProducerConfig.of(config, **more)
        self._cluster = Cluster(
            self.config.bootstrap_servers,
            client_id=self.config.client_id,
            request_timeout_ms=self.config.request_timeout_ms,
            api_timeout_ms=self.config.settings.max_block_ms,
        )
        self._batches: BatchProducer | None = None
        self._beginning = asyncio.Lock()
        self._open = dict[AsyncReceipt, None]()  # an ordered set
        self._closed = False

    async def __aenter__(self) -> AsyncProducer[K, V]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(0 if error is not None else CLOSE_TIMEOUT_S)

    async def send(
        self,
        topic: str,
        value: V | None = None,
        key: K | None = None,
        *,
        headers: Sequence[RecordHeader] = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> AsyncReceipt:
        """Hand a record over; waits for room, not for its delivery. Await the receipt for that.

        Raises what can be known at once: an unknown topic, a record too large, no room for ``max.block.ms``.
        """
        if self._closed:
            raise RuntimeError("This producer has already been closed.")
        batches = self._batches or await self._begin()
        receipt = AsyncReceipt()
        await batches.send(
            topic,
            None if value is None else self.config.value_serializer(value),
            None if key is None else self.config.key_serializer(key),
            headers=headers,
            partition=partition,
            timestamp_ms=timestamp_ms,
            tag=receipt,
        )
        self._open[receipt] = None
        if receipt.is_done:
            self._open.pop(receipt, None)
        return receipt

    async def flush(self) -> None:
        """Wait until every record handed over is delivered or given up."""
        if self._batches is not None:
            await self._batches.flush()

    async def close(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
        """Deliver what was handed over, for ``timeout`` seconds at most, and let go of everything."""
        if self._closed:
            return
        self._closed = True
        try:
            if self._batches is not None and timeout > 0:
                async with asyncio.timeout(timeout):
                    await self._batches.flush()
        except TimeoutError:
            pass  # the receipts say so, of each record
        finally:
            if self._batches is not None:
                await self._batches.stop()
            self._give_up(ConnectionLost("the producer was closed"))
            await self._cluster.close()

    async def _begin(self) -> BatchProducer:
        async with self._beginning:
            if self._batches is None:
                self._batches = BatchProducer(
                    self._cluster,
                    self.config.settings,
                    on_delivered=self._delivered,
                    on_failed=self._give_up,
                )
                self._batches.start()
            return self._batches

    def _delivered(self, delivered: Delivered) -> None:
        for receipt in settle(delivered):
            self._open.pop(cast(AsyncReceipt, receipt), None)

    def _give_up(self, why: BaseException) -> None:
        """What is still on its way will not arrive, or nobody will know."""
        gone, self._open = self._open, {}
        for receipt in gone:
            receipt.put(why)
