"""Orders come in on a thread of their own, while Spark starts."""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType

from leaselog.client import ClientError
from leaselog.client.cluster import Cluster
from leaselog.client.producer import BatchProducer, Delivered, ProducerSettings
from leaselog.spark.orders import order

__all__ = ["OrderProducer"]

#: records between two looks at the rest of the world
_STRIDE = 200
_STOP_TIMEOUT_S = 10.0


class OrderProducer:
    """Use as ``with``: leaving it ends what is still under way. `wait` until all orders are safe in the topic."""

    def __init__(self, address: str, topic: str, partitions: int, orders: int) -> None:
        self._address, self._topic = address, topic
        self._partitions, self._orders = partitions, orders
        self._thread = threading.Thread(target=self._run, name="orders", daemon=True)
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        #: handed over so far
        self.sent = 0

    def __enter__(self) -> OrderProducer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join(_STOP_TIMEOUT_S)

    def wait(self) -> None:
        """Raises ``ClientError`` for what could not be delivered."""
        while self._thread.is_alive():
            self._thread.join(0.1)  # in pieces, so that Ctrl-C is heard
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            asyncio.run(self._produce())
        except (ClientError, OSError) as failed:
            self._failure = failed

    async def _produce(self) -> None:
        async with (
            Cluster(self._address) as cluster,
            BatchProducer(cluster, ProducerSettings(), on_delivered=self._delivered) as producer,
        ):
            for number in range(self._orders):
                key, value = order(number)
                await producer.send(self._topic, value, key, partition=number % self._partitions)
                self.sent = number + 1
                if number % _STRIDE == 0:
                    await asyncio.sleep(0)
                    if self._ended.is_set() or self._failure is not None:
                        return

    def _delivered(self, batch: Delivered) -> None:
        if batch.error is not None:
            self._failure = batch.error
