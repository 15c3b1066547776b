"""Both share consumers behind one face, over a model cluster in place of sockets.

A test that uses it is a contract: it holds for the blocking and for the asyncio consumer, word for word.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from share_cluster_model import ModelCluster

from leaselog.client import AsyncShareConsumer, ShareConsumer
from leaselog.client.errors import Unreachable
from leaselog.client.share.node_session import NodeAsk
from leaselog.client.share.steps import CoordinatorAsk, MetadataAsk
from leaselog.client.topology import Node, Topology
from leaselog.wire.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from leaselog.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from leaselog.wire.schema import Message

BASE = {"bootstrap.servers": "host:9092", "group.id": "g"}
EXPLICIT = {**BASE, "share.acknowledgement.mode": "explicit"}


class ModelDoor:
    """What a consumer uses of a `Cluster`, in front of a model of one."""

    def __init__(self, model: ModelCluster) -> None:
        self.model = model
        #: requests of this kind find their broker gone
        self.unreachable: type[Message] | None = None
        #: what a fetch waits for at the broker; anything that happens there wakes it
        self.happened = asyncio.Event()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.address = "model"
        self.on_send: Callable[[Message], None] = lambda message: None

    def wake(self) -> None:
        """Something happened at the broker; from any thread."""
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self.happened.set()
        self.happened = asyncio.Event()

    async def fetch_topology(self, topics: Any, *, auto_create: bool) -> Topology:
        self.loop = asyncio.get_running_loop()
        found = self.model.answer(MetadataAsk(tuple(topics)), now_ms())
        assert isinstance(found, Topology)
        return found

    async def coordinator(self, group: str) -> Node:
        return Node(1, "host", 9092)

    async def request(self, message: Message, kind: type[Message], *, node: Any = None) -> Message:
        """What has to do with configs."""
        await asyncio.sleep(0)
        return self.model.configs_answer(message)

    async def retrying(self, attempt: Callable[[], Any], *, timeout_ms: int | None = None) -> Any:
        return await attempt()

    async def open_connection(self, node: Node) -> ModelConnection:
        return ModelConnection(self, node.node_id)

    async def connection(self, node_id: int) -> ModelConnection:
        return ModelConnection(self, node_id)

    def open_now(self, node_id: int) -> ModelConnection:
        return ModelConnection(self, node_id)

    async def close(self) -> None:
        await asyncio.sleep(0)


class ModelConnection:
    address = "model"
    is_closed = False

    @property
    def is_to_leaselog(self) -> bool:
        return self._door.model.is_leaselogs

    def __init__(self, door: ModelDoor, node_id: int) -> None:
        self._door = door
        self._node_id = node_id

    def version_for(self, request: type[Message]) -> int:
        return request.VERSIONS.last

    def close(self) -> None:
        pass

    async def request(self, message: Message, kind: type[Message], *, timeout_ms: int) -> Message:
        await asyncio.sleep(0)
        self._check(message)
        if isinstance(message, ShareGroupHeartbeatRequest):
            answer = self._door.model.answer(CoordinatorAsk(message), now_ms())
        else:
            assert isinstance(message, ShareFetchRequest) or hasattr(message, "share_session_epoch")
            ask = NodeAsk(self._node_id, message, message.share_session_epoch)  # type: ignore[arg-type]
            answer = self._door.model.answer(ask, now_ms())
            if isinstance(message, ShareFetchRequest) and isinstance(answer, ShareFetchResponse):
                answer = await self._park(message, answer)
        assert isinstance(answer, kind)
        return answer

    def send_now(self, message: Message, kind: type[Message]) -> asyncio.Future[Message]:
        self._door.on_send(message)
        return asyncio.ensure_future(self.request(message, kind, timeout_ms=0))

    async def answer_to(self, message: Message, sent: asyncio.Future[Message], *, timeout_ms: int) -> Message:
        return await sent

    async def _park(self, message: ShareFetchRequest, answer: ShareFetchResponse) -> Message:
        """A broker with nothing to lease waits; what comes meanwhile is leased in the same answer."""
        deadline = time.monotonic() + message.max_wait_ms / 1000
        model = self._door.model
        while not any(p.acquired_records or p.error_code for t in answer.responses for p in t.partitions):
            remaining = deadline - time.monotonic()
            if remaining <= 0 or answer.error_code:
                break
            happened = self._door.happened
            with suppress(TimeoutError):
                async with asyncio.timeout(remaining):
                    await happened.wait()
            self._check(message)
            more = model.look_again(self._node_id, message, now_ms())
            more.responses[0].partitions = [*answer.responses[0].partitions, *more.responses[0].partitions]
            answer = more
        return answer

    def _check(self, message: Message) -> None:
        gone = self._door.unreachable
        if gone is not None and isinstance(message, gone):
            raise Unreachable("the broker is gone")


class BlockingFlavour:
    name = "blocking"

    def __init__(self, model: ModelCluster, **config: Any) -> None:
        self.model = model
        self.consumer: Any = ShareConsumer({**BASE, **config})
        self.door = ModelDoor(model)
        self.consumer._consumer._carrier.cluster = self.door

    def __getattr__(self, name: str) -> Any:
        return getattr(self.consumer, name)

    def each(self) -> Iterator[Any]:
        return iter(self.consumer)

    def later(self, call: Callable[[], None]) -> None:
        """Soon, while the consumer waits in a call."""
        threading.Timer(0.05, call).start()

    def handler(self, work: Callable[[Any], object]) -> Any:
        return work

    def processing(self, record: Any, **more: Any) -> Any:
        return self.consumer.processing(record, **more)

    def end(self) -> None:
        self.consumer.close()


class AsyncFlavour:
    """The asyncio consumer, called as if it were the blocking one; its loop runs while a call waits."""

    name = "asyncio"

    def __init__(self, model: ModelCluster, **config: Any) -> None:
        self.model = model
        self.runner = asyncio.Runner()
        self.consumer: Any = AsyncShareConsumer({**BASE, **config})
        self.door = ModelDoor(model)
        self.consumer._carrier.cluster = self.door

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.consumer, name)
        if not callable(found):
            return found

        def call(*args: Any, **more: Any) -> Any:
            async def within() -> Any:
                made = found(*args, **more)
                return await made if inspect.isawaitable(made) else made

            return self.runner.run(within())

        return call

    def each(self) -> Iterator[Any]:
        records = aiter(self.consumer)

        async def following() -> Any:
            return await anext(records, None)

        while (record := self.runner.run(following())) is not None:
            yield record

    def later(self, call: Callable[[], None]) -> None:
        self.runner.get_loop().call_later(0.05, call)

    def handler(self, work: Callable[[Any], object]) -> Any:
        async def handle(record: Any) -> None:
            await asyncio.sleep(0)
            work(record)

        return handle

    @contextmanager
    def processing(self, record: Any, **more: Any) -> Iterator[Any]:
        """The block's two ends are in the loop, as they would be in a coroutine."""
        block = self.consumer.processing(record, **more)

        async def begin() -> Any:
            return block.__enter__()

        async def end(error: BaseException | None) -> bool:
            return bool(block.__exit__(type(error) if error else None, error, None))

        same = self.runner.run(begin())
        try:
            yield same
        except BaseException as error:
            if not self.runner.run(end(error)):
                raise
        else:
            self.runner.run(end(None))

    def end(self) -> None:
        self.runner.run(self.consumer.close())
        self.runner.close()


FLAVOURS = (BlockingFlavour, AsyncFlavour)
Flavour = BlockingFlavour | AsyncFlavour
Make = Callable[..., Flavour]


def now_ms() -> int:
    return time.monotonic_ns() // 1_000_000
