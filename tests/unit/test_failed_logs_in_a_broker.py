"""What a broker answers while a log has failed, and how whoever builds on a partition finds it when it is back."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from broker_in_a_box import Box, in_a_box, run

from leaselog.broker.broker import Broker
from leaselog.broker.cluster.cluster import CreatedTopic, NewTopic
from leaselog.broker.records.partition import Partition
from leaselog.broker.telling.text import registry_of
from leaselog.log import UnusableLog
from leaselog.model import ErrorCode, GroupId, Refused, TopicId
from leaselog.share import TopicIdPartition
from leaselog.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from leaselog.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from leaselog.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from leaselog.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from leaselog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from leaselog.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from leaselog.wire.records import Record, build_batch


def partition_of(broker: Broker, topic: str) -> Partition:
    found = broker.logs.partition(topic, 0)
    assert found is not None
    return found


def fail(partition: Partition) -> None:
    """As a write that the disk refuses."""
    partition.log.failure = OSError(28, "No space left on device")
    partition.tell_failure()


def try_again(broker: Broker) -> None:
    revival = broker.logs.revival
    due_s = revival.next_due_s(0.0)
    assert due_s is not None
    for key in revival.due(due_s):
        revival.retry(key, due_s)


async def make(box: Box, name: str) -> TopicId:
    (made,) = await box.broker.cluster.create_topics([NewTopic(name, 1)])
    assert isinstance(made, CreatedTopic)
    return made.topic.topic_id


async def produce(box: Box, topic: str) -> int:
    batch = bytes(build_batch([Record(None, b"v")]))
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch)])
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data])
    answer = await box.ask(request, ProduceResponse, 11)
    return answer.responses[0].partition_responses[0].error_code


async def fetch(box: Box, topic: str) -> int:
    wanted = FetchTopic(topic=topic, partitions=[FetchPartition(partition=0, fetch_offset=0)])
    request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=[wanted])
    answer = await box.ask(request, FetchResponse, 12)
    return answer.responses[0].partitions[0].error_code


async def leader(box: Box, topic: str) -> int:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
    return (await box.ask(request, MetadataResponse, 12)).topics[0].partitions[0].leader_id


def test_a_partition_that_is_not_open_is_a_storage_error_until_it_is(tmp_path: Path) -> None:
    async def story() -> None:
        async with in_a_box(str(tmp_path)) as box:
            for name in ("t", "u"):
                await make(box, name)
                await box.append(name, 1)
        tag = tmp_path / "t-0" / "partition.metadata"
        right = tag.read_bytes()
        tag.write_bytes((tmp_path / "u-0" / "partition.metadata").read_bytes())
        async with in_a_box(str(tmp_path)) as box:
            assert await produce(box, "u") == ErrorCode.NONE
            assert await produce(box, "t") == ErrorCode.KAFKA_STORAGE_ERROR
            assert await fetch(box, "t") == ErrorCode.KAFKA_STORAGE_ERROR
            assert await leader(box, "t") == -1
            tag.write_bytes(right)
            try_again(box.broker)
            assert await produce(box, "t") == ErrorCode.NONE
            assert await fetch(box, "t") == ErrorCode.NONE
            assert await leader(box, "t") == box.broker.cluster.node_id
            assert partition_of(box.broker, "t").log.end_offset == 2

    run(story())


def test_a_log_that_fails_and_returns_is_counted() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await make(box, "t")
            registry = registry_of(box.broker)

            def told() -> list[float | None]:
                names = ("leaselog_failed_logs", "leaselog_log_failures_total", "leaselog_log_returns_total")
                return [registry.get_sample_value(name) for name in names]

            assert told() == [0, 0, 0]
            fail(partition_of(box.broker, "t"))
            assert told() == [1, 1, 0]
            try_again(box.broker)
            assert told() == [0, 1, 1]

    run(story())


def test_a_coordinator_reads_its_partition_again_when_its_log_is_back() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            request = FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
            await box.ask(request, FindCoordinatorResponse, 6)
            before = box.broker.groups._owner(GroupId("g"))
            assert before is not None
            fail(before.partition)
            try_again(box.broker)
            after = box.broker.groups._owner(GroupId("g"))
            assert after is not None
            assert after is not before
            assert after.partition.log.failure is None
            assert (before.state, after.state) == ("failed", "active")

    run(story())


def test_the_owner_of_a_share_partition_ends_when_its_log_is_another() -> None:
    """What it holds may be of records that are not there any more; the next fetch reads its state again."""

    async def story() -> None:
        async with in_a_box() as box:
            topic_id = await make(box, "t")
            await box.append("t", 1)
            at, group = TopicIdPartition(topic_id, 0), GroupId("g")
            before = box.broker.shares.owner(group, at, partition_of(box.broker, "t"))
            fail(before.partition)
            try_again(box.broker)
            assert before.is_over
            assert box.broker.shares.find(group, at) is None

    run(story())


def test_a_topic_that_goes_ends_its_own_owners_and_looks_at_no_other() -> None:
    """A group may have ten thousand others, and topics are deleted a hundred at a time."""

    async def story() -> None:
        async with in_a_box() as box:
            shares, group = box.broker.shares, GroupId("g")
            ids = {name: await make(box, name) for name in ("deleted", "failed", "other")}
            deleted, failed = (
                shares.owner(group, TopicIdPartition(ids[name], 0), partition_of(box.broker, name))
                for name in ("deleted", "failed")
            )
            # whoever looks at it finds that it is no owner
            shares.group(group).owners[TopicIdPartition(ids["other"], 0)] = object()  # type: ignore[assignment]
            await box.broker.cluster.delete_topics([ids["deleted"]])
            assert (deleted.is_over, failed.is_over) == (True, False)
            fail(failed.partition)
            try_again(box.broker)
            assert failed.is_over
            shares.group(group).owners.clear()

    run(story())


def test_the_cluster_takes_changes_again_when_its_log_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            cluster, log = box.broker.cluster, box.broker.cluster._log._opened()
            end_offset = log.end_offset
            await make(box, "t")

            def no_sync() -> None:
                raise OSError(5, "Input/output error")

            write = log.flush
            monkeypatch.setattr(log, "flush", no_sync)
            (refused,) = await cluster.create_topics([NewTopic("u", 1)])
            assert isinstance(refused, Refused)
            assert refused.code is ErrorCode.KAFKA_STORAGE_ERROR
            log.failure = OSError(5, "Input/output error")
            monkeypatch.setattr(log, "flush", write)
            try_again(box.broker)
            assert cluster._log.end_offset == log.durable_end > end_offset
            await make(box, "u")
            assert [topic.name for topic in cluster.topics()] == ["t", "u"]

    run(story())


def test_partitions_without_a_cluster_are_not_taken_for_deleted(tmp_path: Path) -> None:
    async def story() -> None:
        async with in_a_box(str(tmp_path)) as box:
            await make(box, "t")
            await box.append("t", 1)
        shutil.rmtree(tmp_path / "__cluster_metadata-0")
        with pytest.raises(
            UnusableLog, match=r"without it nobody knows .* is not there, but 1 partitions are"
        ):
            async with in_a_box(str(tmp_path)):
                pass
        assert (tmp_path / "t-0").exists()

    run(story())


def test_records_are_not_said_to_be_deleted_if_the_log_was_opened_anew_before_they_were() -> None:
    """Whoever keeps something among them may take its time, and the log that is back begins where the old one did."""

    async def story() -> None:
        async with in_a_box() as box:
            await make(box, "t")
            for _ in range(3):
                await box.append("t", 1)

            async def takes_its_time(partition: Partition, before: int) -> bool:
                fail(partition)
                try_again(box.broker)
                return True

            box.broker.logs.may_cut = takes_its_time
            wish = DeleteRecordsPartition(partition_index=0, offset=2)
            request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="t", partitions=[wish])])
            answer = await box.ask(request, DeleteRecordsResponse, 2)
            told = answer.topics[0].partitions[0]
            assert (told.error_code, told.low_watermark) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
            assert partition_of(box.broker, "t").log.start_offset == 0

    run(story())


def test_what_is_told_of_a_logs_size_is_of_the_log_that_is_in_its_place() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            for name in ("t", "u"):
                await make(box, name)
                await box.append(name, 1)
            before = partition_of(box.broker, "u")
            box.broker.turns.clock = lambda: float("inf")  # every turn is spent after one partition
            asked = asyncio.ensure_future(
                box.ask(DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse, 4)
            )
            await asyncio.sleep(0)
            assert box.broker.turns._queue, "it has stepped back"
            fail(before)
            try_again(box.broker)
            after = partition_of(box.broker, "u")
            await box.append("u", 2)
            answer = await asked
            told = {t.name: t.partitions[0].partition_size for t in answer.results[0].topics}
            assert told["u"] == after.log.size_bytes() > before.log.size_bytes()

    run(story())
