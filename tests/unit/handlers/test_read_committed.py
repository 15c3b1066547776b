"""Readers of committed records: how far they see, what they are told of aborted ones, and when they are woken."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from broker_in_a_box import Box, in_a_box, run, until_quiet

from leaselog.broker.cluster.cluster import NewTopic
from leaselog.broker.records.partition import Partition
from leaselog.log import Appended
from leaselog.model import ErrorCode
from leaselog.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from leaselog.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from leaselog.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from leaselog.wire.record_batch import iterate_headers
from leaselog.wire.records import Record, build_batch

T = 1_700_000_000_000
COMMITTED = 1
LATEST, MAX_TIMESTAMP = -1, -3


class Scene:
    """Partition 0 of t, and the transactions in it."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.sequences: dict[int, int] = {}

    @property
    def partition(self) -> Partition:
        found = self.box.broker.logs.partition("t", 0)
        assert found is not None
        return found

    async def write(self, producer_id: int, count: int = 1, *, time: int = T, size: int = 1) -> None:
        sequence = self.sequences.get(producer_id, 0)
        self.sequences[producer_id] = sequence + count
        batch = build_batch(
            [Record(b"k", b"v" * size, (), time)] * count,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=True,
        )
        outcome = await self.partition.append(batch, now_ms=T)
        assert isinstance(outcome, Appended), outcome

    async def end(self, producer_id: int, *, commit: bool) -> None:
        outcome = await self.partition.write_marker(producer_id, 0, 0, commit, now_ms=T)
        assert isinstance(outcome, Appended), outcome

    async def fetch(self, offset: int = 0, *, isolation: int = COMMITTED, wait_ms: int = 0, min_bytes: int = 1,
                    max_bytes: int = 1 << 20, version: int = 12) -> PartitionData:  # fmt: skip
        part = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)
        request = FetchRequest(
            topics=[FetchTopic(topic="t", partitions=[part])],
            isolation_level=isolation,
            max_wait_ms=wait_ms,
            min_bytes=min_bytes,
        )
        response = await self.box.ask(request, FetchResponse, version)
        return response.responses[0].partitions[0]

    async def offset(self, place: int, *, isolation: int = COMMITTED) -> int:
        part = ListOffsetsPartition(partition_index=0, timestamp=place)
        request = ListOffsetsRequest(
            replica_id=-1, isolation_level=isolation, topics=[ListOffsetsTopic(name="t", partitions=[part])]
        )
        response = await self.box.ask(request, ListOffsetsResponse, 7)
        found = response.topics[0].partitions[0]
        assert found.error_code == 0
        return found.offset


async def a_scene(box: Box, **configs: str) -> Scene:
    settings = (("retention.ms", "-1"), *configs.items())
    await box.broker.cluster.create_topics([NewTopic("t", 1, configs=settings)])
    return Scene(box)


def spans(data: PartitionData) -> list[tuple[int, int]]:
    return [(h.base_offset, h.end_offset) for _, h in iterate_headers(data.records or b"")]


def aborted(data: PartitionData) -> list[tuple[int, int]]:
    return [(one.producer_id, one.first_offset) for one in data.aborted_transactions or ()]


def test_committed_readers_see_up_to_the_first_open_transaction_and_others_all() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            scene = await a_scene(box)
            await box.append("t", T, T)
            await scene.write(1, 2)
            await box.append("t", T)
            seen, all_of_it = await scene.fetch(), await scene.fetch(isolation=0)
            assert (spans(seen), spans(all_of_it)) == ([(0, 2)], [(0, 2), (2, 4), (4, 5)])
            for one in (seen, all_of_it):
                assert (one.last_stable_offset, one.high_watermark) == (2, 5)
            assert (aborted(seen), all_of_it.aborted_transactions) == ([], None)
            beyond = await scene.fetch(4)
            assert (beyond.error_code, spans(beyond)) == (0, [])
            await scene.end(1, commit=True)
            assert spans(await scene.fetch()) == [(0, 2), (2, 4), (4, 5), (5, 6)]

    run(story())


def test_aborted_transactions_are_told_with_the_records_they_touch_and_with_no_others() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            scene = await a_scene(box)
            for producer_id in (1, 2, 3):
                await scene.write(producer_id)
            await scene.end(2, commit=False)
            await scene.end(1, commit=True)
            await scene.end(3, commit=False)
            data = await scene.fetch()
            assert len(spans(data)) == 6
            assert aborted(data) == [(2, 1), (3, 2)]
            (first,) = spans(await scene.fetch(max_bytes=1))
            assert first == (0, 1)
            assert aborted(await scene.fetch(max_bytes=1)) == []
            assert aborted(await scene.fetch(5)) == [(3, 2)]
            assert (await scene.fetch(isolation=0)).aborted_transactions is None

    run(story())


def test_a_waiting_committed_reader_is_woken_by_the_marker_and_not_by_what_it_may_not_see() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            scene = await a_scene(box)
            waiting = asyncio.ensure_future(scene.fetch(wait_ms=3_600_000))
            await until_quiet()
            await scene.write(1)
            await box.append("t", T)
            await until_quiet()
            assert not waiting.done()
            await scene.end(1, commit=False)
            await until_quiet()
            assert waiting.done()
            data = await waiting
            assert (spans(data), aborted(data)) == ([(0, 1), (1, 2), (2, 3)], [(1, 0)])

    run(story())


def test_min_bytes_counts_what_is_stable() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            scene = await a_scene(box)
            await box.append("t", T)
            await scene.write(1, size=4000)
            waiting = asyncio.ensure_future(scene.fetch(wait_ms=3_600_000, min_bytes=2000))
            await until_quiet()
            assert not waiting.done()
            await scene.end(1, commit=True)
            await until_quiet()
            assert len(spans(await told(waiting))) == 3

    run(story())


async def told(answer: Awaitable[PartitionData]) -> PartitionData:
    return await asyncio.wait_for(answer, 5)


def test_a_damaged_index_refuses_committed_readers_alone() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            scene = await a_scene(box)
            await scene.write(1)
            await scene.end(1, commit=False)
            log = scene.partition.log
            log.roll(T)
            segment = next(iter(log._segments))
            segment.close_idle()
            path = next(path for path in segment.index_paths if path.endswith(".txnindex"))
            box.broker.logs.directory.files.open(path, writable=True).truncate(5)
            assert (await scene.fetch()).error_code == ErrorCode.CORRUPT_MESSAGE
            assert (await scene.fetch(isolation=0)).error_code == 0

    run(story())


def test_the_latest_offset_of_a_committed_reader_is_the_last_stable_one() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            scene = await a_scene(box)
            await box.append("t", T, T + 1)
            await scene.write(1, time=T + 5)
            assert [await scene.offset(LATEST, isolation=level) for level in (0, 1)] == [3, 2]
            assert [await scene.offset(T + 1, isolation=level) for level in (0, 1)] == [1, 1]
            assert [await scene.offset(T + 2, isolation=level) for level in (0, 1)] == [2, -1]
            assert [await scene.offset(MAX_TIMESTAMP, isolation=level) for level in (0, 1)] == [2, -1]
            await scene.end(1, commit=True)
            assert [await scene.offset(LATEST, isolation=level) for level in (0, 1)] == [4, 4]
            assert await scene.offset(MAX_TIMESTAMP) == 2

    run(story())


def test_describe_producers_tells_the_open_transaction_and_the_coordinators_epoch() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            scene = await a_scene(box)
            await box.append("t", T)

            async def described() -> tuple[int, int, int, int]:
                request = DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[0])])
                response = await box.ask(request, DescribeProducersResponse, 0)
                (one,) = response.topics[0].partitions[0].active_producers
                return one.producer_id, one.last_sequence, one.coordinator_epoch, one.current_txn_start_offset

            await scene.write(7, 2)
            assert await described() == (7, 1, -1, 1)
            await scene.end(7, commit=True)
            assert await described() == (7, 1, 0, -1)

    run(story())
