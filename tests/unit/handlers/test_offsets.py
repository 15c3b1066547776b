"""ListOffsets, OffsetForLeaderEpoch, DeleteRecords, DescribeLogDirs, DescribeProducers: questions about logs."""

from __future__ import annotations

import pytest
from broker_in_a_box import Box, in_a_box, run

from leaselog.broker.cluster.cluster import NewTopic
from leaselog.model import ErrorCode
from leaselog.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from leaselog.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from leaselog.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from leaselog.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from leaselog.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

T = 1_700_000_000_000
UNKNOWN, FENCED = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.FENCED_LEADER_EPOCH
#: error, offset, timestamp, leader epoch
Found = tuple[int, int, int, int]
NOWHERE = (0, -1, -1, -1)


async def a_log(box: Box) -> None:
    """Offsets 0 to 5, whose timestamps go back and forth, in three batches."""
    await box.broker.cluster.create_topics([NewTopic("t", 2)])
    await box.append("t", T + 10, T + 30, T + 20)
    await box.append("t", T + 25)
    await box.append("t", T + 30, T + 5)


async def look(
    box: Box, *timestamps: int, version: int = 11, topic: str = "t", index: int = 0, epoch: int = -1
) -> list[Found]:
    found = []
    for timestamp in timestamps:
        wish = ListOffsetsPartition(partition_index=index, current_leader_epoch=epoch, timestamp=timestamp)
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[wish])])
        (answer,) = (await box.ask(request, ListOffsetsResponse, version)).topics
        (p,) = answer.partitions
        found.append((p.error_code, p.offset, p.timestamp, p.leader_epoch))
    return found


@pytest.mark.parametrize("version", range(1, 12))
def test_the_ends_of_a_log_in_every_version(version: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_log(box)
            epoch = 0 if version >= 4 else -1
            assert await look(box, -1, -2, version=version) == [(0, 6, -1, epoch), (0, 0, -1, epoch)]

    run(story())


def test_a_time_is_the_first_record_no_older() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_log(box)
            first, second = (0, 0, T + 10, 0), (0, 1, T + 30, 0)
            times = (0, T + 10, T + 11, T + 25, T + 30, T + 31)
            assert await look(box, *times) == [first, first, second, second, second, NOWHERE]

    run(story())


def test_the_largest_timestamp_is_found_at_its_first_record() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_log(box)
            assert await look(box, -3) == [(0, 1, T + 30, 0)]
            assert await look(box, -3, index=1) == [NOWHERE]

    run(story())


def test_tiered_storage_holds_nothing() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_log(box)
            assert await look(box, -4, -5, -6) == [(0, 0, -1, 0), NOWHERE, NOWHERE]

    run(story())


@pytest.mark.parametrize(("place", "since"), [(-3, 7), (-4, 8), (-5, 9), (-6, 11), (-7, 12)])
def test_a_place_is_unsupported_before_its_version(place: int, since: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_log(box)
            for version in range(1, 12):
                ((code, *_),) = await look(box, place, version=version)
                assert code == (ErrorCode.UNSUPPORTED_VERSION if version < since else 0)

    run(story())


def test_leader_epochs_and_unknown_partitions_are_told() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_log(box)
            assert (await look(box, -1, epoch=1))[0][0] == ErrorCode.UNKNOWN_LEADER_EPOCH
            assert (await look(box, -1, epoch=0))[0][0] == 0
            assert (await look(box, -1, index=2))[0][0] == UNKNOWN
            assert (await look(box, -1, topic="nope"))[0][0] == UNKNOWN

    run(story())


def test_a_partition_asked_for_twice_is_refused_once() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_log(box)
            wishes = [ListOffsetsPartition(partition_index=0, timestamp=at) for at in (-1, -2)]
            request = ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=wishes)])
            (answer,) = (await box.ask(request, ListOffsetsResponse, 11)).topics
            assert [p.error_code for p in answer.partitions] == [ErrorCode.INVALID_REQUEST]

    run(story())


@pytest.mark.parametrize("version", range(2, 5))
def test_an_epoch_ends_where_the_next_begins(version: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_log(box)

            async def end(index: int, current: int, epoch: int) -> tuple[int, int, int]:
                wish = OffsetForLeaderPartition(
                    partition=index, current_leader_epoch=current, leader_epoch=epoch
                )
                request = OffsetForLeaderEpochRequest(
                    topics=[OffsetForLeaderTopic(topic="t", partitions=[wish])]
                )
                (answer,) = (await box.ask(request, OffsetForLeaderEpochResponse, version)).topics
                (p,) = answer.partitions
                return p.error_code, p.leader_epoch, p.end_offset

            assert await end(0, -1, 0) == (0, 0, 6)
            assert await end(0, 0, 0) == (0, 0, 6)
            assert await end(1, -1, 0) == (0, 0, 0)
            assert await end(0, -1, 5) == (0, -1, -1)
            assert await end(0, 1, 0) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)
            assert await end(7, -1, 0) == (UNKNOWN, -1, -1)

    run(story())


async def cut(box: Box, topic: str, offset: int, index: int = 0, version: int = 2) -> tuple[int, int]:
    wish = DeleteRecordsPartition(partition_index=index, offset=offset)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=[wish])])
    (answer,) = (await box.ask(request, DeleteRecordsResponse, version)).topics
    (p,) = answer.partitions
    return p.error_code, p.low_watermark


@pytest.mark.parametrize("version", range(3))
def test_a_log_begins_where_it_was_cut(version: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_log(box)
            assert await cut(box, "t", 2, version=version) == (0, 2)
            assert await cut(box, "t", 1, version=version) == (0, 2)  # never goes back
            assert await look(box, -2, T + 10) == [(0, 2, -1, 0), (0, 2, T + 20, 0)]
            assert await cut(box, "t", -1, version=version) == (0, 6)
            assert await look(box, -2, T) == [(0, 6, -1, 0), NOWHERE]

    run(story())


def test_a_cut_is_on_disk_when_it_is_answered() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_log(box)
            await cut(box, "t", 3)
            partition = box.broker.logs.partition("t", 0)
            assert partition is not None
            assert box.broker.logs.directory.start_offsets() == {partition.key: 3}

    run(story())


def test_cuts_that_cannot_be_are_refused() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_log(box)
            await box.broker.cluster.create_topics(
                [
                    NewTopic(n, 1, configs=(("cleanup.policy", n.replace("-", ",")),))
                    for n in ("compact", "compact-delete")
                ]
            )
            await box.append("compact-delete", T, T)
            refused = [
                (topic, await cut(box, topic, at, index))
                for topic, at, index in (
                    ("t", 7, 0),
                    ("t", -2, 0),
                    ("t", 0, 9),
                    ("nope", 0, 0),
                    ("compact", 0, 0),
                    ("__consumer_offsets", 0, 0),
                    ("compact-delete", 1, 0),
                )
            ]
            assert refused == [
                ("t", (ErrorCode.OFFSET_OUT_OF_RANGE, -1)),
                ("t", (ErrorCode.OFFSET_OUT_OF_RANGE, -1)),
                ("t", (UNKNOWN, -1)),
                ("nope", (UNKNOWN, -1)),
                ("compact", (ErrorCode.POLICY_VIOLATION, -1)),
                ("__consumer_offsets", (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)),
                ("compact-delete", (0, 1)),
            ]

    run(story())


@pytest.mark.parametrize("version", range(1, 6))
def test_the_directory_tells_what_partitions_take(version: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_log(box)

            async def sizes(topics: list[DescribableLogDirTopic] | None) -> dict[tuple[str, int], int]:
                answer = await box.ask(
                    DescribeLogDirsRequest(topics=topics), DescribeLogDirsResponse, version
                )
                (directory,) = answer.results
                assert (directory.error_code, directory.total_bytes) == (0, -1)
                return {
                    (t.name, p.partition_index): p.partition_size
                    for t in directory.topics
                    for p in t.partitions
                }

            log = box.broker.logs.partition("t", 0)
            assert log is not None
            size_bytes = log.log.size_bytes()
            assert size_bytes > 0
            assert await sizes(None) == {("t", 0): size_bytes, ("t", 1): 0}
            named = DescribableLogDirTopic(topic="t", partitions=[0, 9])
            assert await sizes([named, DescribableLogDirTopic(topic="nope", partitions=[0])]) == {
                ("t", 0): size_bytes
            }
            assert await sizes([]) == {}

    run(story())


def test_a_real_directory_tells_its_volumes_size(tmp_path: object) -> None:
    async def story() -> None:
        async with in_a_box(str(tmp_path)) as box:
            answer = await box.ask(DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse, 4)
            (directory,) = answer.results
            assert directory.log_dir == str(tmp_path)
            assert 0 < directory.usable_bytes <= directory.total_bytes

    run(story())


def test_producers_are_told_as_the_log_remembers_them() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_log(box)
            await box.append("t", T + 40, T + 41, producer_id=7, producer_epoch=2, base_sequence=0)

            async def producers(topic: str, index: int) -> tuple[int, str | None, list[tuple[int, ...]]]:
                request = DescribeProducersRequest(
                    topics=[TopicRequest(name=topic, partition_indexes=[index])]
                )
                (answer,) = (await box.ask(request, DescribeProducersResponse, 0)).topics
                (p,) = answer.partitions
                return (
                    p.error_code,
                    p.error_message,
                    [
                        (
                            s.producer_id,
                            s.producer_epoch,
                            s.last_sequence,
                            s.last_timestamp,
                            s.coordinator_epoch,
                            s.current_txn_start_offset,
                        )
                        for s in p.active_producers
                    ],
                )

            assert await producers("t", 0) == (0, None, [(7, 2, 1, T + 41, -1, -1)])
            assert await producers("t", 1) == (0, None, [])
            assert await producers("t", 9) == (UNKNOWN, None, [])
            assert (await producers("nope", 0))[0] == UNKNOWN
            assert (await producers("", 0))[0] == ErrorCode.INVALID_TOPIC_EXCEPTION

    run(story())
