"""The five share-state APIs as a client of any version reads them, and the coordinator behind them."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest
from broker_in_a_box import Box, in_a_box, run

from leaselog.broker.cluster.cluster import SHARE_STATE_TOPIC, CreatedTopic, NewTopic
from leaselog.coordination.share_state_commands import InitializeState, ShareSummary, SummarizeState
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import ErrorCode, GroupId, TopicId
from leaselog.wire.messages import delete_share_group_state as delete
from leaselog.wire.messages import initialize_share_group_state as initialize
from leaselog.wire.messages import read_share_group_state as read
from leaselog.wire.messages import read_share_group_state_summary as summary
from leaselog.wire.messages import write_share_group_state as write
from leaselog.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

NO_TOPIC = "This server does not host this topic-partition."


async def topic_in(box: Box, name: str = "t", partitions: int = 2) -> TopicId:
    await box.broker.cluster.ensure_topic(SHARE_STATE_TOPIC)
    created = (await box.broker.cluster.create_topics([NewTopic(name, partitions, 1)]))[0]
    assert isinstance(created, CreatedTopic)
    return created.topic.topic_id


async def begin(box: Box, topic_id: UUID, *partitions: int, epoch: int = 0, start: int = 0) -> list[int]:
    asked = [initialize.PartitionData(partition=p, state_epoch=epoch, start_offset=start) for p in partitions]
    topics = [initialize.InitializeStateData(topic_id=topic_id, partitions=asked)]
    request = initialize.InitializeShareGroupStateRequest(group_id="g", topics=topics)
    answer = await box.ask(request, initialize.InitializeShareGroupStateResponse, 0)
    return [p.error_code for topic in answer.results for p in topic.partitions]


async def put(box: Box, topic_id: UUID, version: int, **data: int) -> write.PartitionResult:
    batch = write.StateBatch(first_offset=0, last_offset=4, delivery_state=2, delivery_count=1)
    asked = write.PartitionData(state_batches=[batch], **data)
    topics = [write.WriteStateData(topic_id=topic_id, partitions=[asked])]
    request = write.WriteShareGroupStateRequest(group_id="g", topics=topics)
    answer = await box.ask(request, write.WriteShareGroupStateResponse, version)
    return answer.results[0].partitions[0]


async def get(box: Box, topic_id: UUID, partition: int = 0, leader_epoch: int = 0) -> read.PartitionResult:
    asked = read.PartitionData(partition=partition, leader_epoch=leader_epoch)
    topics = [read.ReadStateData(topic_id=topic_id, partitions=[asked])]
    request = read.ReadShareGroupStateRequest(group_id="g", topics=topics)
    answer = await box.ask(request, read.ReadShareGroupStateResponse, 0)
    return answer.results[0].partitions[0]


async def summed_up(box: Box, topic_id: UUID, version: int, partition: int = 0) -> summary.PartitionResult:
    asked = summary.PartitionData(partition=partition, leader_epoch=0)
    topics = [summary.ReadStateSummaryData(topic_id=topic_id, partitions=[asked])]
    request = summary.ReadShareGroupStateSummaryRequest(group_id="g", topics=topics)
    answer = await box.ask(request, summary.ReadShareGroupStateSummaryResponse, version)
    return answer.results[0].partitions[0]


@pytest.mark.parametrize(("version", "count"), [(0, -1), (1, 3)])
def test_what_is_written_is_read(version: int, count: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            topic_id = await topic_in(box)
            assert await begin(box, topic_id, 0, epoch=1) == [0]
            written = await put(box, topic_id, version, partition=0, state_epoch=1, delivery_complete_count=3)
            assert (written.error_code, written.error_message) == (0, None)
            found = await get(box, topic_id)
            assert (found.error_code, found.state_epoch, found.start_offset) == (0, 1, 0)
            batch = found.state_batches[0]
            assert (batch.first_offset, batch.last_offset) == (0, 4)
            assert (batch.delivery_state, batch.delivery_count) == (2, 1)
            total = await summed_up(box, topic_id, 1)
            assert (total.start_offset, total.delivery_complete_count) == (0, count)
            assert (await summed_up(box, topic_id, 0)).delivery_complete_count == -1

    run(story())


def test_one_bad_partition_leaves_its_neighbours_alone() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            topic_id = await topic_in(box)
            assert await begin(box, topic_id, 0, 7, -1, 1) == [
                ErrorCode.NONE,
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                ErrorCode.INVALID_REQUEST,
                ErrorCode.NONE,
            ]

    run(story())


def test_refusals_say_what_kafka_says() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            topic_id = await topic_in(box)
            never = await put(box, topic_id, 1, partition=0)
            assert never.error_code == ErrorCode.INVALID_REQUEST
            assert never.error_message == "Write operation on uninitialized share partition not allowed."
            assert (await get(box, topic_id)).error_code == ErrorCode.INVALID_REQUEST
            negative = await put(box, topic_id, 1, partition=-1)
            assert negative.error_message == "The partition id cannot be a negative number."
            unknown = await summed_up(box, UUID(int=7), 1)
            assert (unknown.error_code, unknown.error_message) == (3, NO_TOPIC)
            assert (unknown.start_offset, unknown.delivery_complete_count) == (0, -1)
            await begin(box, topic_id, 0, epoch=2)
            await get(box, topic_id, 0, 5)
            fenced = await put(box, topic_id, 1, partition=0, state_epoch=2, leader_epoch=4)
            assert fenced.error_code == ErrorCode.FENCED_LEADER_EPOCH
            assert "older than the epoch on the broker" in (fenced.error_message or "")
            replaced = await put(box, topic_id, 1, partition=0, state_epoch=1, leader_epoch=5)
            assert replaced.error_code == ErrorCode.FENCED_STATE_EPOCH
            assert "state epoch did not match" in (replaced.error_message or "")

    run(story())


def test_what_nobody_initialized_has_a_summary_all_the_same() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            total = await summed_up(box, await topic_in(box), 1)
            assert (total.error_code, total.start_offset, total.delivery_complete_count) == (0, -1, -1)

    run(story())


def test_a_deletion_is_for_good() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            topic_id = await topic_in(box)
            await begin(box, topic_id, 0)
            topics = [
                delete.DeleteStateData(
                    topic_id=topic_id,
                    partitions=[delete.PartitionData(partition=0), delete.PartitionData(partition=1)],
                )
            ]
            request = delete.DeleteShareGroupStateRequest(group_id="g", topics=topics)
            answer = await box.ask(request, delete.DeleteShareGroupStateResponse, 0)
            assert [p.error_code for p in answer.results[0].partitions] == [0, 0]
            assert (await get(box, topic_id)).error_code == ErrorCode.INVALID_REQUEST

    run(story())


def test_no_group_or_no_partitions_is_an_empty_answer() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            topic_id = await topic_in(box)
            for group_id, partitions in (("", [read.PartitionData(partition=0)]), ("g", [])):
                request = read.ReadShareGroupStateRequest(
                    group_id=group_id, topics=[read.ReadStateData(topic_id=topic_id, partitions=partitions)]
                )
                assert (await box.ask(request, read.ReadShareGroupStateResponse, 0)).results == []

    run(story())


def test_without_the_topic_this_is_not_the_coordinator() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            assert await begin(box, UUID(int=1), 0) == [ErrorCode.NOT_COORDINATOR]

    run(story())


def test_state_outlives_the_broker_but_not_its_topic(tmp_path_factory: pytest.TempPathFactory) -> None:
    data_dir = str(tmp_path_factory.mktemp("data"))

    async def first() -> tuple[TopicId, TopicId]:
        async with in_a_box(data_dir) as box:
            kept, doomed = await topic_in(box, "kept"), await topic_in(box, "doomed")
            await begin(box, kept, 0, start=7)
            await begin(box, doomed, 0, start=8)
            return kept, doomed

    async def second(kept: TopicId, doomed: TopicId) -> None:
        async with in_a_box(data_dir) as box:
            # As if the broker had died between the deletion and the tombstones.
            box.broker.share_coordinator.topic_deleted = lambda name: None  # type: ignore[method-assign]
            await box.broker.share_coordinator.start()
            assert (await get(box, kept)).start_offset == 7
            assert (await get(box, doomed)).start_offset == 8
            await box.broker.cluster.delete_topics([doomed])

    async def third(kept: TopicId) -> None:
        async with in_a_box(data_dir) as box:
            coordinator = box.broker.share_coordinator
            await coordinator.start()
            assert coordinator.key_count() == 1
            await asyncio.sleep(0)
            key = SharePartitionKey(GroupId("g"), kept, 0)
            assert await coordinator.ask(SummarizeState(key)) == ShareSummary(0, 0, 7, 0)

    topics = run(first())
    run(second(*topics))
    run(third(topics[0]))


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("g:{}:0", 0),
        ("g:h:{}:0", 0),  # Kafka reads the key from its end
        ("g:{}:-1", 0),
        (":{}:0", ErrorCode.INVALID_REQUEST),
        ("{}:0", ErrorCode.INVALID_REQUEST),
        ("g:nope:0", ErrorCode.INVALID_REQUEST),
        ("g:{}:x", ErrorCode.INVALID_REQUEST),
        ("g", ErrorCode.INVALID_REQUEST),
    ],
)
def test_the_coordinator_of_a_share_partition_is_found_by_its_key(key: str, code: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            request = FindCoordinatorRequest(
                key_type=2, coordinator_keys=[key.format("AAAAAAAAAAAAAAAAAAAACQ")]
            )
            answer = await box.ask(request, FindCoordinatorResponse, 6)
            assert answer.coordinators[0].error_code == code

    run(story())


def test_state_is_lost_with_the_topic_that_keeps_it() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            topic_id = await topic_in(box)
            await begin(box, topic_id, 0)
            state_topic = box.broker.cluster.topic(SHARE_STATE_TOPIC)
            assert state_topic is not None
            await box.broker.cluster.delete_topics([state_topic.topic_id])
            key = SharePartitionKey(GroupId("g"), topic_id, 0)
            assert await box.broker.persister.read_summary(SummarizeState(key)) == ShareSummary()
            assert await box.broker.persister.initialize(InitializeState(key, 0, 3)) is not None
            assert (await get(box, topic_id)).start_offset == 3

    run(story())


def test_housekeeping_cuts_the_logs_and_writes_down_where_they_start() -> None:
    async def story() -> None:
        async with in_a_box(share_coordinator_state_topic_num_partitions="1") as box:
            topic_id = await topic_in(box)
            for epoch in range(3):
                await begin(box, topic_id, 0, epoch=epoch)
            await box.broker.share_coordinator.prune()
            partition = box.broker.logs.partition(SHARE_STATE_TOPIC, 0)
            assert partition is not None
            assert partition.log.start_offset == 2
            assert box.broker.logs.directory.start_offsets()[partition.key] == 2

    run(story())
