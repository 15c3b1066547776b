"""Using a share consumer wrongly, at once, or not to the end: nothing is accepted that was not finished."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from share_cluster_model import TOPIC, ModelCluster
from share_flavours import EXPLICIT, ModelDoor

from leaselog.client import AcknowledgeType, AsyncShareConsumer, ConcurrentAccess, ShareConsumer, WakeupError
from leaselog.client.loop_thread import _Crossing
from leaselog.wire.messages.share_fetch import ShareFetchRequest
from leaselog.wire.schema import Message

WAIT_S = 30.0
ACCEPT = AcknowledgeType.ACCEPT


def model_with(records: int) -> ModelCluster:
    model = ModelCluster()
    model.produce([b"%d" % i for i in range(records)])
    return model


def async_consumer(model: ModelCluster, **config: Any) -> Any:
    consumer: Any = AsyncShareConsumer({**EXPLICIT, **config})
    consumer._carrier.cluster = ModelDoor(model)
    consumer.subscribe([TOPIC])
    return consumer


@contextmanager
def blocking_consumer(model: ModelCluster) -> Iterator[Any]:
    consumer: Any = ShareConsumer(EXPLICIT)
    consumer._consumer._carrier.cluster = ModelDoor(model)
    consumer.subscribe([TOPIC])
    try:
        yield consumer
    finally:
        consumer.close()


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


Life = Callable[[Any, set[int]], Any]


async def explicit_life(consumer: Any, finished: set[int]) -> None:
    while True:
        for record in await consumer.poll(WAIT_S):
            await asyncio.sleep(0)
            finished.add(record.offset)
            consumer.acknowledge(record)
            await asyncio.sleep(0)
        await consumer.commit_sync(WAIT_S)


async def implicit_life(consumer: Any, finished: set[int]) -> None:
    while True:
        records = await consumer.poll(WAIT_S)
        for _ in records:
            await asyncio.sleep(0)
        finished |= {record.offset for record in records}


async def processing_life(consumer: Any, finished: set[int]) -> None:
    while True:
        for record in await consumer.poll(WAIT_S):
            with consumer.processing(record):
                await turns(2)
                finished.add(record.offset)
        consumer.commit_async()


async def working_life(consumer: Any, finished: set[int]) -> None:
    async def handler(record: Any) -> None:
        await turns(record.offset % 5)
        finished.add(record.offset)

    await consumer.run(handler, concurrency=3)


@pytest.mark.parametrize(
    ("life", "mode"),
    [
        (explicit_life, "explicit"),
        (implicit_life, "implicit"),
        (processing_life, "explicit"),
        (working_life, "explicit"),
    ],
)
def test_cancelled_anywhere_nothing_is_accepted_that_was_not_finished(life: Life, mode: str) -> None:
    async def live(cancel_after: int) -> tuple[set[int], dict[int, int], list[int]]:
        model, finished = model_with(9), set[int]()
        config = {"share.acknowledgement.mode": mode, "max.poll.records": 3, "fetch.max.wait.ms": 5}
        consumer = async_consumer(model, **config)
        task = asyncio.create_task(life(consumer, finished))
        await turns(cancel_after)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await consumer.close(WAIT_S)
        return finished, model.ended(), model.held()

    most = 0
    for cancel_after in range(90):
        finished, ended, held = asyncio.run(live(cancel_after))
        accepted = {offset for offset, kind in ended.items() if kind == ACCEPT}
        assert accepted <= finished, f"cancelled after {cancel_after} turns"
        assert held == [], f"cancelled after {cancel_after} turns"
        most = max(most, len(accepted))
    assert most >= 3, "the test must get somewhere before it is cancelled"


def test_two_tasks_in_one_consumer_are_one_too_many() -> None:
    async def main() -> None:
        consumer = async_consumer(model_with(0))
        polling = asyncio.create_task(consumer.poll(WAIT_S))
        await turns(3)
        with pytest.raises(ConcurrentAccess, match="commit_sync while another task is in poll"):
            await consumer.commit_sync(WAIT_S)
        polling.cancel()
        with suppress(asyncio.CancelledError):
            await polling
        await consumer.close(WAIT_S)

    asyncio.run(main())


def test_two_threads_in_one_consumer_are_one_too_many() -> None:
    with blocking_consumer(model_with(0)) as consumer:
        polling = threading.Thread(target=lambda: suppress_wakeup(consumer))
        polling.start()
        try:
            while not consumer._in_use.locked():
                pass  # until the other thread is in there
            with pytest.raises(ConcurrentAccess, match="acknowledge while another thread is in poll"):
                consumer.acknowledge(TOPIC, 0, 0)
        finally:
            consumer.wakeup()
            polling.join()


def suppress_wakeup(consumer: Any) -> None:
    with suppress(WakeupError):
        consumer.poll(WAIT_S)


@pytest.mark.parametrize("comes", ["before the records", "just behind the records"])
def test_records_that_came_while_a_poll_was_interrupted_are_for_the_next_poll(
    monkeypatch: pytest.MonkeyPatch, comes: str
) -> None:
    model = model_with(3)
    with blocking_consumer(model) as consumer:
        # Ctrl-C strikes while the application's thread waits; the loop's thread has the records by then.
        monkeypatch.setattr(_Crossing, "cancel", lambda self: None)
        wait = _Crossing.wait

        def interrupted(self: _Crossing[Any]) -> Any:
            if comes == "just behind the records":
                wait(self)
            raise KeyboardInterrupt

        monkeypatch.setattr(_Crossing, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            consumer.poll(WAIT_S)
        monkeypatch.undo()
        records = consumer.poll(WAIT_S)
        assert [record.offset for record in records] == [0, 1, 2]
        for record in records:
            consumer.acknowledge(record)
    assert model.ended() == dict.fromkeys(range(3), ACCEPT)


def test_a_request_leaves_before_the_application_goes_on() -> None:
    """It may work for long without awaiting: meanwhile the broker looks for its next records."""

    async def main() -> None:
        model = model_with(20)
        consumer = async_consumer(model, **{"max.poll.records": "5"})
        door = consumer._carrier.cluster
        for _ in range(2):
            for record in await consumer.poll(WAIT_S):
                consumer.acknowledge(record)
        sent: list[Message] = []
        door.on_send = sent.append
        await consumer.poll(WAIT_S)
        assert [isinstance(message, ShareFetchRequest) for message in sent] == [True]
        await consumer.close()

    asyncio.run(main())


def test_a_bug_in_the_core_is_raised_and_not_waited_for() -> None:
    async def main() -> None:
        model = model_with(1)
        consumer = async_consumer(model)
        consumer.core.heard = lambda *_: 1 / 0
        with pytest.raises(ZeroDivisionError):
            await consumer.poll(WAIT_S)
        with pytest.raises(ZeroDivisionError):
            await consumer.commit_sync(WAIT_S)
        del consumer.core.heard
        await consumer.close(0)

    asyncio.run(main())
