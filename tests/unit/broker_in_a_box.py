"""A broker without a socket: requests go through the codec and the handler, and come back through the codec."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from leaselog.broker.api import Client, RequestContext, api_of
from leaselog.broker.broker import Broker
from leaselog.broker.config import BrokerConfig
from leaselog.wire.codec import decode, encode
from leaselog.wire.records import Record, build_batch
from leaselog.wire.schema import Message

T = TypeVar("T")
M = TypeVar("M", bound=Message)

__all__ = ["Box", "in_a_box", "run"]


def run(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner() as runner:
        return runner.run(work)


class Box:
    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    async def ask(self, request: Message, answer: type[M], version: int) -> M:
        """The answer as a client of that version reads it."""
        api = api_of(request.API_KEY)
        assert api is not None
        assert version in api.versions
        arrived = decode(api.request, version, encode(request, version))
        context = RequestContext(self.broker, api, version, "test", Client(1, "127.0.0.1", 5555))
        reply = api.handler(arrived, context)
        made = await reply if isinstance(reply, Awaitable) else reply
        assert made is not None
        return decode(answer, version, encode(made, version))

    async def append(self, topic: str, *timestamps: int, partition: int = 0, **batch: Any) -> None:
        """One batch with a record for each timestamp, on disk when this returns."""
        found = self.broker.logs.partition(topic, partition)
        assert found is not None
        records = [Record(b"k%d" % i, b"v", timestamp_ms=at) for i, at in enumerate(timestamps)]
        outcome = await found.append(build_batch(records, **batch), now_ms=self.broker.now_ms())
        assert hasattr(outcome, "end_offset"), outcome


@asynccontextmanager
async def in_a_box(data_dir: str | None = None, **settings: str) -> AsyncIterator[Box]:
    """A started broker; underscores in ``settings`` stand for dots. In memory without a ``data_dir``."""
    config = BrokerConfig.from_originals({key.replace("_", "."): value for key, value in settings.items()})
    broker = Broker(config, data_dir=data_dir)
    flushing = asyncio.ensure_future(broker.flusher.run())
    broker.logs.begin()
    await broker.cluster.start()
    try:
        yield Box(broker)
    finally:
        flushing.cancel()
        await asyncio.gather(flushing, return_exceptions=True)
        await broker.flusher.sync_all()
        broker.flusher.close()
        broker.logs.close()
        broker.cluster.close()
        broker.machine.release()
