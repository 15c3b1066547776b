"""One contract for every persister that keeps share state, whether here or on another node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

import pytest
from persister_wire import Address, WirePersister

from leaselog.broker.broker import Broker
from leaselog.broker.cluster.cluster import CreatedTopic, NewTopic
from leaselog.broker.config import BrokerConfig, ConfigError
from leaselog.broker.net.api import RequestContext, api_of
from leaselog.broker.runtime.client import Client
from leaselog.broker.share_state.colocated_persister import ColocatedPersister
from leaselog.broker.share_state.coordinator import share_state_limits
from leaselog.broker.share_state.owner import ShareStateCounts
from leaselog.broker.share_state.persister import InProcessPersister, NoOpPersister, Persister
from leaselog.coordination.share_state_batches import StateBatch
from leaselog.coordination.share_state_commands import (
    DeleteState,
    InitializeState,
    ReadState,
    ShareSummary,
    StateRead,
    SummarizeState,
    WriteState,
    Written,
)
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import ErrorCode, GroupId, Refused, TopicId
from leaselog.wire.codec import decode, encode
from leaselog.wire.schema import Message

M = TypeVar("M", bound=Message)
Story = Callable[["Desk"], Coroutine[None, None, None]]


class Loopback:
    """The way over the wire without the wire: requests go through the codec and the handlers of this broker."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def ask(self, node: Address | None, request: Message, version: int, response: type[M]) -> M:
        api = api_of(request.API_KEY)
        assert api is not None
        arrived = decode(api.request, version, encode(request, version))
        context = RequestContext(self._broker, api, version, "test", Client(1, "127.0.0.1", 5555))
        reply = api.handler(arrived, context)
        made = await reply if isinstance(reply, Awaitable) else reply
        assert made is not None
        return decode(response, version, encode(made, version))


async def no_time(_: float) -> None:
    await asyncio.sleep(0)


MAKERS: dict[str, Callable[[Broker], Persister]] = {
    "in process": lambda broker: InProcessPersister(broker.share_coordinator),
    "co-located": lambda broker: ColocatedPersister(
        broker.runtime, broker.cluster, broker.logs, ShareStateCounts(), share_state_limits(broker.config)
    ),
    "over the wire": lambda broker: WirePersister(Loopback(broker), jitter=lambda: 1.0, sleep=no_time),
}


@dataclass
class Desk:
    """A persister, and a topic of two partitions that it may be asked about."""

    persister: Persister
    topic_id: TopicId
    broker: Broker

    def key(self, partition: int = 0, group: str = "g") -> SharePartitionKey:
        return SharePartitionKey(GroupId(group), self.topic_id, partition)


@asynccontextmanager
async def desk(make: Callable[[Broker], Persister]) -> AsyncIterator[Desk]:
    config = BrokerConfig.from_originals({"share.coordinator.state.topic.num.partitions": "3"})
    broker = Broker(config, data_dir=None)
    flushing = asyncio.ensure_future(broker.flusher.run())
    broker.logs.begin()
    await broker.cluster.start()
    await broker.share_coordinator.start()
    try:
        created = (await broker.cluster.create_topics([NewTopic("t", 2, 1)]))[0]
        assert isinstance(created, CreatedTopic)
        yield Desk(make(broker), created.topic.topic_id, broker)
    finally:
        broker.share_coordinator.stop()
        flushing.cancel()
        await asyncio.gather(flushing, return_exceptions=True)
        await broker.flusher.sync_all()
        broker.flusher.close()
        broker.logs.close()
        broker.cluster.close()


@pytest.fixture(params=list(MAKERS))
def tell(request: pytest.FixtureRequest) -> Callable[[Story], None]:
    """Runs a story against a fresh persister."""

    async def run(story: Story) -> None:
        async with desk(MAKERS[request.param]) as there:
            await story(there)

    return lambda story: asyncio.run(run(story))


def code(answer: object) -> ErrorCode:
    return answer.code if isinstance(answer, Refused) else ErrorCode.NONE


def test_what_was_written_is_read(tell: Callable[[Story], None]) -> None:
    async def story(desk: Desk) -> None:
        persister, key = desk.persister, desk.key()
        assert await persister.initialize(InitializeState(key, 1, 0)) == Written()
        assert await persister.read(ReadState(key, 0)) == StateRead(1, 0)
        batches = (StateBatch(0, 10, 0, 1), StateBatch(3, 5, 2, 1))
        assert await persister.write(WriteState(key, 1, 0, 0, 2, batches)) == Written()
        assert await persister.write(WriteState(key, 1, 0, 1, 3, (StateBatch(5, 6, 4, 2),))) == Written()
        merged = (
            StateBatch(1, 3, 0, 1),
            StateBatch(3, 5, 2, 1),
            StateBatch(5, 6, 4, 2),
            StateBatch(6, 10, 0, 1),
        )
        assert await persister.read(ReadState(key, 0)) == StateRead(1, 1, merged)
        assert await persister.read_summary(SummarizeState(key)) == ShareSummary(1, 0, 1, 3)

    tell(story)


def test_keys_are_kept_apart(tell: Callable[[Story], None]) -> None:
    async def story(desk: Desk) -> None:
        keys = [desk.key(0), desk.key(1), desk.key(0, "h"), desk.key(1, "h:h")]
        await asyncio.gather(
            *(desk.persister.initialize(InitializeState(key, i, 10 * i)) for i, key in enumerate(keys))
        )
        reads = await asyncio.gather(*(desk.persister.read(ReadState(key, -1)) for key in keys))
        assert reads == [StateRead(i, 10 * i) for i in range(4)]

    tell(story)


def test_writes_under_way_together_all_count(tell: Callable[[Story], None]) -> None:
    async def story(desk: Desk) -> None:
        persister, key = desk.persister, desk.key()
        await persister.initialize(InitializeState(key, 0, 0))
        writes = [
            persister.write(WriteState(key, 0, 0, batches=(StateBatch(i, i + 1, 2, 1),))) for i in range(50)
        ]
        assert await asyncio.gather(*writes) == [Written()] * 50
        assert await persister.read(ReadState(key, 0)) == StateRead(0, 0, (StateBatch(0, 50, 2, 1),))

    tell(story)


def test_what_was_never_initialized_is_refused(tell: Callable[[Story], None]) -> None:
    async def story(desk: Desk) -> None:
        persister, key = desk.persister, desk.key()
        assert code(await persister.read(ReadState(key, 0))) is ErrorCode.INVALID_REQUEST
        assert code(await persister.write(WriteState(key, 0, 0))) is ErrorCode.INVALID_REQUEST
        assert await persister.read_summary(SummarizeState(key)) == ShareSummary(0, 0, -1, -1)
        assert await persister.delete(DeleteState(key)) == Written()

    tell(story)


def test_an_older_leader_is_fenced(tell: Callable[[Story], None]) -> None:
    async def story(desk: Desk) -> None:
        persister, key = desk.persister, desk.key()
        await persister.initialize(InitializeState(key, 0, 0))
        await persister.read(ReadState(key, 3))
        assert code(await persister.read(ReadState(key, 2))) is ErrorCode.FENCED_LEADER_EPOCH
        assert code(await persister.write(WriteState(key, 0, 2))) is ErrorCode.FENCED_LEADER_EPOCH
        assert await persister.write(WriteState(key, 0, 3)) == Written()
        assert await persister.read_summary(SummarizeState(key, 0)) == ShareSummary(0, 3, 0, -1)

    tell(story)


def test_whoever_works_on_replaced_offsets_is_fenced(tell: Callable[[Story], None]) -> None:
    async def story(desk: Desk) -> None:
        persister, key = desk.persister, desk.key()
        await persister.initialize(InitializeState(key, 1, 0))
        await persister.write(WriteState(key, 1, 0, batches=(StateBatch(0, 9, 2, 1),)))
        await persister.initialize(InitializeState(key, 2, 4))
        assert code(await persister.write(WriteState(key, 1, 0))) is ErrorCode.FENCED_STATE_EPOCH
        assert code(await persister.initialize(InitializeState(key, 1, 0))) is ErrorCode.FENCED_STATE_EPOCH
        assert await persister.read(ReadState(key, 0)) == StateRead(2, 4)

    tell(story)


def test_what_is_deleted_is_gone(tell: Callable[[Story], None]) -> None:
    async def story(desk: Desk) -> None:
        persister, key = desk.persister, desk.key()
        await persister.initialize(InitializeState(key, 1, 0))
        assert await persister.delete(DeleteState(key)) == Written()
        assert code(await persister.read(ReadState(key, 0))) is ErrorCode.INVALID_REQUEST
        assert await persister.initialize(InitializeState(key, 0, 7)) == Written()
        assert await persister.read(ReadState(key, 0)) == StateRead(0, 7)

    tell(story)


def test_a_partition_that_is_not_there_is_unknown(tell: Callable[[Story], None]) -> None:
    async def story(desk: Desk) -> None:
        for key in (desk.key(2), SharePartitionKey(GroupId("g"), TopicId(UUID(int=1)), 0)):
            answer = await desk.persister.initialize(InitializeState(key, 0, 0))
            assert code(answer) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    tell(story)


def test_a_deleted_topic_takes_its_state_along(tell: Callable[[Story], None]) -> None:
    async def story(desk: Desk) -> None:
        await desk.persister.initialize(InitializeState(desk.key(), 0, 0))
        await desk.broker.cluster.delete_topics([desk.topic_id])
        answer = await desk.persister.read_summary(SummarizeState(desk.key()))
        assert code(answer) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert desk.broker.share_coordinator.key_count() == 0

    tell(story)


def test_the_one_for_tests_says_yes_to_everything() -> None:
    async def run() -> None:
        persister: Persister = NoOpPersister()
        key = SharePartitionKey(GroupId("g"), TopicId(UUID(int=1)), 0)
        assert await persister.initialize(InitializeState(key, 0, 0)) == Written()
        assert await persister.write(WriteState(key, 0, 0)) == Written()
        assert await persister.read(ReadState(key, 0)) == StateRead(0, 0)
        assert await persister.read_summary(SummarizeState(key)) == ShareSummary(start_offset=0)
        assert await persister.delete(DeleteState(key)) == Written()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (None, InProcessPersister),
        ("org.apache.kafka.server.share.persister.DefaultStatePersister", InProcessPersister),
        ("org.apache.kafka.server.share.persister.NoOpStatePersister", NoOpPersister),
        ("leaselog.ColocatedPersister", ColocatedPersister),
    ],
)
def test_the_config_names_the_persister(name: str | None, kind: type) -> None:
    originals = {} if name is None else {"group.share.persister.class.name": name}
    assert type(Broker(BrokerConfig.from_originals(originals), data_dir=None).persister) is kind


def test_a_persister_that_is_not_known_stops_the_start() -> None:
    config = BrokerConfig.from_originals({"group.share.persister.class.name": "com.example.Mine"})
    with pytest.raises(ConfigError, match=r"com\.example\.Mine"):
        Broker(config, data_dir=None)
