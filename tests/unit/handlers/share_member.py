"""A member of a share group against a broker in a box: it keeps its session's epoch as a client does.

Time may be skipped: leases and long polls end when the loop's clock says so, and nobody sleeps.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from uuid import UUID

from broker_in_a_box import Box, ThreadlessLoop, in_a_box, until_quiet

from leaselog.broker.cluster.cluster import CreatedTopic, NewTopic
from leaselog.broker.config.resources import Alteration, AlterOp, Resource
from leaselog.broker.net.api import RequestContext, api_of
from leaselog.broker.runtime.client import Client
from leaselog.coordination.cluster_records import ResourceType
from leaselog.coordination.share_state_commands import InitializeState, Written
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import GroupId, Refused, TopicId
from leaselog.wire.codec import decode, encode
from leaselog.wire.messages import share_fetch as fetch_messages
from leaselog.wire.messages.share_acknowledge import ShareAcknowledgeResponse
from leaselog.wire.messages.share_fetch import PartitionData, ShareFetchResponse
from leaselog.wire.record_batch import iterate_headers
from leaselog.wire.records import read_records
from leaselog.wire.schema import Message
from leaselog.wire.share_extensions import (
    ExtendedAcknowledgementBatch,
    ExtendedAcknowledgePartition,
    ExtendedAcknowledgeTopic,
    ExtendedFetchPartition,
    ExtendedFetchTopic,
    ExtendedShareAcknowledgeRequest,
    ExtendedShareFetchRequest,
)
from leaselog.wire.share_fetch_ranges import RangesShareFetchResponse

M = TypeVar("M", bound=Message)
T = TypeVar("T")

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
#: first offset, last offset, types, and perhaps what only a broker of ours understands
Batch = tuple[int, int, list[int]] | tuple[int, int, list[int], dict[str, Any]]
#: by partition
Acks = dict[int, list[Batch]]
#: first offset, last offset, delivery count
Range = tuple[int, int, int]

LOCK_MS = 30_000
#: share partitions whose states are begun in one write of each owner
BEGUN_AT_ONCE = 1_000


class SkippingLoop(ThreadlessLoop):
    """A loop whose clock can be put forward."""

    skipped_s = 0.0

    def time(self) -> float:
        return super().time() + self.skipped_s


def run(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(work)


async def skip_ms(ms: int) -> None:
    """Puts the clock forward; what was due in between has happened when this returns."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SkippingLoop)
    loop.skipped_s += ms / 1000
    await asyncio.sleep(0)  # what is due now is given to the loop in this turn
    await until_quiet()


async def settled(task: asyncio.Future[Any]) -> bool:
    """Whether it is done once everything that can run now has."""
    await until_quiet()
    return task.done()


async def still_waiting(asked: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """It has begun, and is not answered by what can run now."""
    task = asyncio.ensure_future(asked)
    assert not await settled(task)
    return task


class Group:
    """A topic, and a group that consumes it from the beginning."""

    def __init__(self, box: Box, topic_id: UUID, name: str = "g") -> None:
        self.box = box
        self.topic_id = topic_id
        self.name = name
        self.topic = "t"

    def key(self, partition: int = 0) -> SharePartitionKey:
        return SharePartitionKey(GroupId(self.name), TopicId(self.topic_id), partition)

    async def begin(self, start_offset: int = 0, partitions: int = 2, epoch: int = 0) -> None:
        persister = self.box.broker.persister
        for at in range(0, partitions, BEGUN_AT_ONCE):
            some = range(at, min(at + BEGUN_AT_ONCE, partitions))
            wishes = (InitializeState(self.key(partition), epoch, start_offset) for partition in some)
            for outcome in await asyncio.gather(*map(persister.initialize, wishes)):
                assert isinstance(outcome, Written), outcome

    async def configure(self, **values: str) -> None:
        """Underscores stand for dots."""
        await configure(self.box, self.name, **values)

    async def produce(self, count: int, *, partition: int = 0, batches: int = 1) -> None:
        """So many records in each batch."""
        for _ in range(batches):
            await self.box.append(self.topic, *([self.box.broker.now_ms()] * count), partition=partition)

    def member(self, name: str = "m", *, connection: int = 1) -> Member:
        return Member(self, name, connection)


async def configure(box: Box, group: str, **values: str) -> None:
    resource = Resource(ResourceType.GROUP, group)
    wishes = [Alteration(key.replace("_", "."), AlterOp.SET, value) for key, value in values.items()]

    def decide() -> Any:
        changes = box.broker.cluster.configuration.alter(resource, wishes)
        assert not isinstance(changes, Refused), changes
        return changes

    assert await box.broker.cluster.alter_configs(decide) is None


def _batch(
    first: int, last: int, types: list[int], extras: dict[str, Any] | None = None
) -> ExtendedAcknowledgementBatch:
    return ExtendedAcknowledgementBatch(
        first_offset=first, last_offset=last, acknowledge_types=types, **(extras or {})
    )


class Member:
    def __init__(self, group: Group, name: str, connection: int) -> None:
        self.group = group
        self.name = name
        self.connection = connection
        self.epoch = 0

    async def fetch(
        self,
        *,
        partitions: Iterable[int] = (0,),
        acks: Acks | None = None,
        epoch: int | None = None,
        version: int = 2,
        topic_id: UUID | None = None,
        forget: Iterable[int] = (),
        **wish: Any,
    ) -> ShareFetchResponse:
        """The next fetch of the session; all partitions at first, later only those named."""
        if epoch is None:
            epoch, self.epoch = self.epoch, self.epoch + 1
        of_partition = {p: [] for p in (partitions if epoch == 0 else ())} | (acks or {})
        answer = RangesShareFetchResponse if "ranges_only" in wish else ShareFetchResponse
        request = ExtendedShareFetchRequest(
            **{
                "group_id": self.group.name,
                "member_id": self.name,
                "share_session_epoch": epoch,
                "max_records": 500,
                "batch_size": 500,
                "topics": [
                    ExtendedFetchTopic(
                        topic_id=topic_id or self.group.topic_id,
                        partitions=[
                            ExtendedFetchPartition(
                                partition_index=p,
                                acknowledgement_batches=[_batch(*batch) for batch in batches],
                            )
                            for p, batches in of_partition.items()
                        ],
                    )
                ],
                "forgotten_topics_data": [
                    fetch_messages.ForgottenTopic(topic_id=self.group.topic_id, partitions=list(forget))
                ],
                **wish,
            }
        )
        return await self._ask(request, answer, version)

    async def acknowledge(
        self,
        acks: Acks,
        *,
        epoch: int | None = None,
        version: int = 2,
        topic_id: UUID | None = None,
        **more: Any,
    ) -> ShareAcknowledgeResponse:
        if epoch is None:
            epoch, self.epoch = self.epoch, self.epoch + 1
        request = ExtendedShareAcknowledgeRequest(
            **{
                "group_id": self.group.name,
                "member_id": self.name,
                "share_session_epoch": epoch,
                "topics": [
                    ExtendedAcknowledgeTopic(
                        topic_id=topic_id or self.group.topic_id,
                        partitions=[
                            ExtendedAcknowledgePartition(
                                partition_index=p,
                                acknowledgement_batches=[_batch(*batch) for batch in batches],
                            )
                        ],
                    )
                    for p, batches in acks.items()
                ],
                **more,
            }
        )
        return await self._ask(request, ShareAcknowledgeResponse, version)

    def disconnect(self) -> None:
        self.group.box.broker.connection_closed(Client(self.connection, "127.0.0.1", 5555))

    async def _ask(self, request: Message, answer: type[M], version: int) -> M:
        api = api_of(request.API_KEY)
        assert api is not None
        arrived = decode(api.request, version, encode(request, version))
        client = Client(self.connection, "127.0.0.1", 5555)
        reply = api.handler(arrived, RequestContext(self.group.box.broker, api, version, "test", client))
        made = await reply if isinstance(reply, Awaitable) else reply
        assert made is not None
        return decode(answer, version, encode(made, version))


def partition_of(response: ShareFetchResponse, index: int = 0) -> PartitionData | None:
    """What the answer says of a partition, once at most."""
    found = [p for topic in response.responses for p in topic.partitions if p.partition_index == index]
    assert len(found) <= 1
    return found[0] if found else None


def ranges(response: ShareFetchResponse, index: int = 0) -> list[Range]:
    found = partition_of(response, index)
    if found is None:
        return []
    assert found.error_code == 0
    return [(r.first_offset, r.last_offset, r.delivery_count) for r in found.acquired_records]


def offsets_sent(response: ShareFetchResponse, index: int = 0) -> list[int]:
    """Of all records in the answer's bytes, the member's or not."""
    found = partition_of(response, index)
    data = b"" if found is None else bytes(found.records or b"")
    return [r.offset for at, header in iterate_headers(data) for r in read_records(data, header, at)]


def codes(response: ShareAcknowledgeResponse) -> dict[int, int]:
    assert response.error_code == 0
    return {p.partition_index: p.error_code for topic in response.responses for p in topic.partitions}


def acknowledge_codes(response: ShareFetchResponse) -> dict[int, int]:
    assert response.error_code == 0
    return {
        p.partition_index: p.acknowledge_error_code for topic in response.responses for p in topic.partitions
    }


@asynccontextmanager
async def a_group(
    data_dir: str | None = None, *, begin: bool = True, partitions: int = 2, **settings: str
) -> AsyncIterator[Group]:
    async with in_a_box(data_dir, **settings) as box:
        await box.broker.share_coordinator.start()
        topic = box.broker.cluster.topic("t")
        if topic is None:
            created = (await box.broker.cluster.create_topics([NewTopic("t", partitions)]))[0]
            assert isinstance(created, CreatedTopic)
            topic = created.topic
        group = Group(box, topic.topic_id)
        if begin:
            await group.begin(partitions=partitions)
        try:
            yield group
        finally:
            box.broker.shares.clear()
            box.broker.share_coordinator.stop()
