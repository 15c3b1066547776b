"""A broker without a socket: requests go through the codec and the handler, and come back through the codec."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from leaselog.broker.broker import Broker
from leaselog.broker.config import BrokerConfig
from leaselog.broker.net.api import RequestContext, api_of
from leaselog.broker.runtime.client import Client
from leaselog.broker.runtime.machine import RealMachine
from leaselog.broker.runtime.sync_threads import Outcomes, run_jobs
from leaselog.log import SyncJob
from leaselog.wire.codec import decode, encode
from leaselog.wire.records import Record, build_batch
from leaselog.wire.schema import Message

T = TypeVar("T")
M = TypeVar("M", bound=Message)

__all__ = ["Box", "ThreadlessLoop", "in_a_box", "run", "until_quiet", "use_persister"]


#: who asks, where a test does not say
SOMEBODY = Client(1, "127.0.0.1", 5555)

#: no test has this much to do between two moments of its clock
TURNS_UNTIL_QUIET = 10_000


class ThreadlessLoop(asyncio.SelectorEventLoop):
    """What is given to another thread is done at once instead, so what happens next depends on no scheduler."""

    #: how often it was given something to do
    given = 0

    def call_soon(self, *args: Any, **named: Any) -> asyncio.Handle:
        self.given += 1
        return super().call_soon(*args, **named)

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as failure:  # noqa: BLE001 - whoever waits gets it, as from a thread
            done.set_exception(failure)
        return done


def run(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=ThreadlessLoop) as runner:
        return runner.run(work)


async def until_quiet() -> None:
    """Returns when everything that can run now has: only the clock and the test make anything happen after that.

    A broker in a box waits for no thread, and what is due later is a timer; so it is quiet when all that a turn of the
    loop was given to do is to come back here.
    """
    loop = asyncio.get_running_loop()
    assert isinstance(loop, ThreadlessLoop)
    for _ in range(TURNS_UNTIL_QUIET):
        before = loop.given
        await asyncio.sleep(0)
        if loop.given == before + 1:
            return
    raise AssertionError(f"still at work after {TURNS_UNTIL_QUIET} turns")


def use_persister(broker: Broker, persister: Any) -> None:
    """The share state of the broker is kept there from now on."""
    broker.persister = broker.shares.support.persister = persister


class PromptMachine(RealMachine):
    """This computer, with a disk that is waited for on the loop: what a broker does next depends on no thread."""

    def syncs(self) -> PromptMachine:
        return self

    def run(self, jobs: Sequence[SyncJob], done: Callable[[Outcomes], None]) -> None:
        asyncio.get_running_loop().call_soon(done, run_jobs(jobs))

    def close(self) -> None:
        """Nothing runs beside the loop."""


class Box:
    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    async def ask(self, request: Message, answer: type[M], version: int, by: Client = SOMEBODY) -> M:
        """The answer as a client of that version reads it."""
        api = api_of(request.API_KEY)
        assert api is not None
        assert version in api.versions
        arrived = decode(api.request, version, encode(request, version))
        context = RequestContext(self.broker, api, version, "test", by)
        reply = api.handler(arrived, context)
        made = await reply if isinstance(reply, Awaitable) else reply
        assert made is not None
        context.hold(-context.held_bytes)  # as a connection does that has handed the answer over
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
    broker = Broker(config, data_dir=data_dir, machine=PromptMachine(data_dir))
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
