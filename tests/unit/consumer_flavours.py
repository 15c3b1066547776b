"""Both ordinary consumers behind one face, over a real broker without a socket, in the consumer's own loop.

A test that uses it is a contract: it holds for the blocking and for the asyncio consumer, word for word.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

from broker_in_a_box import Box, in_a_box

from leaselog.broker.net.api import api_of
from leaselog.client import AsyncConsumer, Consumer
from leaselog.client.cluster import Cluster
from leaselog.client.errors import ConnectionLost, Unreachable
from leaselog.client.loop_thread import LoopThread
from leaselog.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from leaselog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from leaselog.wire.records import Record, build_batch
from leaselog.wire.schema import Message

T = TypeVar("T")

TOPIC = "t"
BASE = {
    "bootstrap.servers": "box:9092",
    "group.id": "g",
    "auto.offset.reset": "earliest",
    "heartbeat.interval.ms": 20,
    "fetch.max.wait.ms": 20,
}


def configured(config: dict[str, Any]) -> dict[str, Any]:
    """The base with this over it; None leaves a setting out."""
    return {**BASE, **{name.replace("_", "."): value for name, value in config.items()}}


#: what an error code of an answer is replaced with, or raised in place of it
Step = Callable[[Message], None] | Exception


class Boxed:
    """A broker, the requests that reached it, and what is to happen to some of them."""

    def __init__(self, **settings: str) -> None:
        self._context = in_a_box(group_initial_rebalance_delay_ms="0", **settings)
        self.box: Box
        self.asked = list[Message]()
        #: by the name of a request: what its next answers become
        self.steps = dict[str, list[Step]]()
        self.is_away = False

    async def begin(self) -> None:
        self.box = await self._context.__aenter__()

    async def end(self) -> None:
        await self._context.__aexit__(None, None, None)

    def names(self) -> list[str]:
        return [message.NAME.removesuffix("Request") for message in self.asked]

    async def answer(self, message: Message, kind: type[Message]) -> Message:
        await asyncio.sleep(0)
        if self.is_away:
            raise ConnectionLost("the broker is away")
        self.asked.append(message)
        steps = self.steps.get(message.NAME.removesuffix("Request"), [])
        step = steps.pop(0) if steps else None
        if isinstance(step, Exception):
            raise step
        api = api_of(message.API_KEY)
        assert api is not None
        answer = await self.box.ask(message, kind, min(api.versions.last, message.VERSIONS.last))
        if step is not None:
            step(answer)
        return answer

    async def make(self, topic: str) -> None:
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=True)
        for _ in range(100):
            if not (await self.box.ask(asked, MetadataResponse, 12)).topics[0].error_code:
                return
        raise AssertionError(f"topic {topic} is not made")

    async def delete(self, topic: str) -> None:
        asked = DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)], timeout_ms=1000)
        answer = await self.box.ask(asked, DeleteTopicsResponse, 6)
        assert answer.responses[0].error_code == 0

    async def produce(
        self, *values: bytes, topic: str = TOPIC, partition: int = 0, times_ms: tuple[int, ...] = ()
    ) -> None:
        found = self.box.broker.logs.partition(topic, partition)
        assert found is not None
        records = [
            Record(b"k", value, timestamp_ms=times_ms[i] if times_ms else 1_000_000)
            for i, value in enumerate(values)
        ]
        await found.append(build_batch(records), now_ms=self.box.broker.now_ms())


class BoxConnection:
    def __init__(self, boxed: Boxed) -> None:
        self._boxed = boxed
        self.is_closed = False
        self.is_to_leaselog = True

    async def request(self, message: Message, kind: type[Message], *, timeout_ms: int) -> Message:
        return await self._boxed.answer(message, kind)

    def close(self) -> None:
        self.is_closed = True


class BoxCluster(Cluster):
    """Every address leads to the broker in the box."""

    boxed: Boxed

    async def _open(self, address: tuple[str, int]) -> Any:
        if self.boxed.is_away:
            raise Unreachable("nobody is there")
        return BoxConnection(self.boxed)


def put_into(consumer: AsyncConsumer[Any, Any], boxed: Boxed) -> None:
    """Have it talk to the broker in the box."""
    cluster = consumer._cluster
    cluster.__class__ = BoxCluster
    assert isinstance(cluster, BoxCluster)
    cluster.boxed = boxed


class BlockingFlavour:
    name = "blocking"

    def __init__(self, boxed: Boxed, **config: Any) -> None:
        self.boxed = boxed
        self.consumer: Any = Consumer(configured(config))
        put_into(self.consumer._consumer, boxed)
        self.run(boxed.begin())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.consumer, name)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """In the loop where consumer and broker live."""
        made: T = self.consumer._wait(work)
        return made

    def each(self) -> Iterator[Any]:
        return iter(self.consumer)

    def later(self, call: Callable[[], object]) -> None:
        """Soon, while the consumer waits in a call."""
        threading.Timer(0.05, call).start()

    def produce_later(self, value: bytes) -> None:
        """Soon, while the consumer waits in a call."""
        self.later(lambda: self.consumer._thread.start(self.boxed.produce(value)))

    def leave(self, error: Exception | None = None) -> None:
        """The end of a `with` block, which this error ended. The loop goes on, for the broker."""
        self.consumer._thread.close = lambda: None
        with self.consumer:
            if error is not None:
                raise error

    def end(self) -> None:
        thread = self.consumer._thread
        thread.close = lambda: None
        self.consumer.close()
        thread.run(self.boxed.end())
        LoopThread.close(thread)


class AsyncFlavour:
    """The asyncio consumer, called as if it were the blocking one; its loop runs while a call waits."""

    name = "asyncio"

    def __init__(self, boxed: Boxed, **config: Any) -> None:
        self.boxed = boxed
        self.runner = asyncio.Runner()
        self.consumer: Any = AsyncConsumer(configured(config))
        put_into(self.consumer, boxed)
        self.run(boxed.begin())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.consumer, name)
        if not callable(found):
            return found

        def call(*args: Any, **more: Any) -> Any:
            async def within() -> Any:
                made = found(*args, **more)
                return await made if inspect.isawaitable(made) else made

            return self.run(within())

        return call

    def each(self) -> Iterator[Any]:
        records = aiter(self.consumer)

        async def following() -> Any:
            return await anext(records, None)

        while (record := self.run(following())) is not None:
            yield record

    def later(self, call: Callable[[], object]) -> None:
        self.runner.get_loop().call_later(0.05, call)

    def produce_later(self, value: bytes) -> None:
        self.later(lambda: asyncio.ensure_future(self.boxed.produce(value)))

    def leave(self, error: Exception | None = None) -> None:
        async def block() -> None:
            async with self.consumer:
                if error is not None:
                    raise error

        self.run(block())

    def end(self) -> None:
        self.run(self.consumer.close())
        self.run(self.boxed.end())
        self.runner.close()


FLAVOURS = (BlockingFlavour, AsyncFlavour)
Flavour = BlockingFlavour | AsyncFlavour
