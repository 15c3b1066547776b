"""Metadata, DescribeTopicPartitions, DescribeCluster: what clients learn of the cluster."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID, uuid4

import pytest
from broker_in_a_box import Box, in_a_box, run

from leaselog.broker.cluster.cluster import NewTopic
from leaselog.broker.config.listeners import Address
from leaselog.model import ZERO_UUID, ErrorCode
from leaselog.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from leaselog.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from leaselog.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

INT_MIN = -(2**31)
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def topics(box: Box, *names: str, count: int = 2) -> None:
    await box.broker.cluster.create_topics([NewTopic(name, count) for name in names])


async def ask(
    box: Box, version: int, names: Sequence[str | UUID] | None, *, make: bool = True
) -> MetadataResponse:
    asked = None
    if names is not None:
        asked = [
            MetadataRequestTopic(name=name)
            if isinstance(name, str)
            else MetadataRequestTopic(name=None, topic_id=name)
            for name in names
        ]
    return await box.ask(
        MetadataRequest(topics=asked, allow_auto_topic_creation=make), MetadataResponse, version
    )


def errors(found: Sequence[MetadataResponseTopic]) -> dict[str | None, int]:
    return {topic.name: topic.error_code for topic in found}


@pytest.mark.parametrize("version", range(14))
def test_a_topic_is_described_as_far_as_the_version_can(version: int) -> None:
    async def story() -> None:
        async with in_a_box(node_id="5", broker_rack="r1") as box:
            await topics(box, "t")
            box.broker.cluster.advertised.listening_on({"PLAINTEXT": Address("127.0.0.1", 9092)})
            answer = await ask(box, version, ["t"])
            (broker,) = answer.brokers
            rack = "r1" if version >= 1 else None
            assert (broker.node_id, broker.host, broker.port, broker.rack) == (5, "127.0.0.1", 9092, rack)
            assert answer.controller_id == (5 if version >= 1 else -1)
            assert answer.cluster_id == (box.broker.cluster.cluster_id if version >= 2 else None)
            (topic,) = answer.topics
            known = box.broker.cluster.topic("t")
            assert known is not None
            assert topic.topic_id == (known.topic_id if version >= 10 else ZERO_UUID)
            assert [p.partition_index for p in topic.partitions] == [0, 1]
            for partition in topic.partitions:
                assert (partition.error_code, partition.leader_id) == (0, 5)
                assert partition.leader_epoch == (0 if version >= 7 else -1)
                assert (partition.replica_nodes, partition.isr_nodes) == ([5], [5])

    run(story())


def test_all_topics_are_an_empty_list_in_v0_and_null_after_it() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await topics(box, "t", "u")
            for version, names in ((0, []), (1, None), (13, None)):
                assert errors((await ask(box, version, names)).topics) == {"t": 0, "u": 0}
            assert (await ask(box, 1, [])).topics == []
            assert (await ask(box, 13, [])).topics == []

    run(story())


def test_a_missing_topic_is_made_and_answered_at_once() -> None:
    async def story() -> None:
        async with in_a_box(num_partitions="3") as box:
            (topic,) = (await ask(box, 12, ["t"])).topics
            assert (topic.error_code, len(topic.partitions)) == (0, 3)
            assert all(partition.leader_id == 0 for partition in topic.partitions)

    run(story())


@pytest.mark.parametrize(("client", "broker"), [(False, "true"), (True, "false")])
def test_a_missing_topic_is_made_only_if_client_and_broker_want_it(client: bool, broker: str) -> None:
    async def story() -> None:
        async with in_a_box(auto_create_topics_enable=broker) as box:
            assert errors((await ask(box, 12, ["t"], make=client)).topics) == {"t": UNKNOWN}
            assert box.broker.cluster.topic("t") is None

    run(story())


def test_versions_before_4_cannot_say_that_they_do_not_want_it() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            assert errors((await ask(box, 3, ["t"], make=True)).topics) == {"t": 0}

    run(story())


def test_names_no_topic_can_have_are_not_made() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            bad = ErrorCode.INVALID_TOPIC_EXCEPTION
            assert errors((await ask(box, 12, ["", "a b", "x" * 250])).topics) == {
                "": bad,
                "a b": bad,
                "x" * 250: bad,
            }

    run(story())


def test_internal_topics_are_made_with_their_own_counts_and_marked() -> None:
    async def story() -> None:
        async with in_a_box(offsets_topic_num_partitions="4") as box:
            (topic,) = (await ask(box, 12, ["__consumer_offsets"])).topics
            assert (topic.is_internal, len(topic.partitions)) == (True, 4)

    run(story())


def test_topics_are_found_by_id_and_names_beside_ids_are_passed_over() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await topics(box, "t", "u")
            known, unknown = box.broker.cluster.topic("t"), uuid4()
            assert known is not None
            answer = await ask(box, 12, [known.topic_id, unknown, "u"])
            assert {(t.name, t.topic_id): t.error_code for t in answer.topics} == {
                ("t", known.topic_id): 0,
                (None, unknown): ErrorCode.UNKNOWN_TOPIC_ID,
            }

    run(story())


@pytest.mark.parametrize("version", [10, 11])
def test_ids_are_refused_before_version_12(version: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            answer = await ask(box, version, [uuid4()])
            assert [topic.error_code for topic in answer.topics] == [ErrorCode.INVALID_REQUEST]
            assert answer.brokers == []

    run(story())


def test_operations_are_told_only_when_asked_for() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await topics(box, "t")
            silent = await ask(box, 8, ["t"])
            assert (silent.cluster_authorized_operations, silent.topics[0].topic_authorized_operations) == (
                INT_MIN,
                INT_MIN,
            )
            asked = MetadataRequest(
                topics=[MetadataRequestTopic(name="t")],
                include_cluster_authorized_operations=True,
                include_topic_authorized_operations=True,
            )
            told = await box.ask(asked, MetadataResponse, 8)
            assert (told.cluster_authorized_operations, told.topics[0].topic_authorized_operations) == (
                8096,
                3576,
            )

    run(story())


def test_a_partition_whose_log_is_not_open_has_no_leader() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await topics(box, "t")
            logs = box.broker.logs.topic("t")
            assert logs is not None
            logs.partitions.pop(1).log.close()
            (topic,) = (await ask(box, 12, ["t"])).topics
            lost = topic.partitions[1]
            assert (topic.partitions[0].leader_id, lost.leader_id) == (0, -1)
            assert lost.error_code == ErrorCode.LEADER_NOT_AVAILABLE
            assert (lost.isr_nodes, lost.offline_replicas) == ([], [0])

    run(story())


async def page(
    box: Box, *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None
) -> tuple[list[tuple[str | None, int, list[int]]], tuple[str, int] | None]:
    answer = await box.ask(
        DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=name) for name in names],
            response_partition_limit=limit,
            cursor=None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1]),
        ),
        DescribeTopicPartitionsResponse,
        0,
    )
    following = answer.next_cursor
    return (
        [(t.name, t.error_code, [p.partition_index for p in t.partitions]) for t in answer.topics],
        None if following is None else (following.topic_name, following.partition_index),
    )


def test_pages_follow_each_other_by_name_and_lose_nothing() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await topics(box, "c", "a", "b")
            assert await page(box) == ([("a", 0, [0, 1]), ("b", 0, [0, 1]), ("c", 0, [0, 1])], None)
            assert await page(box, limit=3) == ([("a", 0, [0, 1]), ("b", 0, [0])], ("b", 1))
            assert await page(box, limit=3, cursor=("b", 1)) == ([("b", 0, [1]), ("c", 0, [0, 1])], None)
            assert await page(box, limit=2) == ([("a", 0, [0, 1])], ("b", 0))
            assert await page(box, "a", "b", limit=4) == ([("a", 0, [0, 1]), ("b", 0, [0, 1])], None)

    run(story())


def test_a_page_is_never_empty_and_never_past_the_brokers_limit() -> None:
    async def story() -> None:
        async with in_a_box(max_request_partition_size_limit="3") as box:
            await topics(box, "a", count=9)
            assert await page(box, limit=0) == ([("a", 0, [0])], ("a", 1))
            assert await page(box, limit=100) == ([("a", 0, [0, 1, 2])], ("a", 3))

    run(story())


def test_unknown_topics_are_told_and_bad_cursors_refused() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await topics(box, "a")
            assert await page(box, "a", "nope") == ([("a", 0, [0, 1]), ("nope", UNKNOWN, [])], None)
            refused: object = ([("a", ErrorCode.INVALID_REQUEST, [])], None)
            assert await page(box, "a", cursor=("a", -1)) == refused
            assert await page(box, "a", cursor=("b", 0)) == refused
            assert await page(box, cursor=("Z", 0)) == ([("a", 0, [0, 1])], None)

    run(story())


@pytest.mark.parametrize("version", range(3))
def test_the_cluster_is_one_broker_that_controls_itself(version: int) -> None:
    async def story() -> None:
        async with in_a_box(node_id="4") as box:
            request = DescribeClusterRequest(include_cluster_authorized_operations=True)
            answer = await box.ask(request, DescribeClusterResponse, version)
            assert (answer.error_code, answer.controller_id) == (0, 4)
            assert [broker.broker_id for broker in answer.brokers] == [4]
            assert answer.cluster_authorized_operations == 8096

    run(story())


@pytest.mark.parametrize(
    ("endpoint", "code"),
    [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)],
)
def test_controllers_are_not_to_be_found_here(endpoint: int, code: ErrorCode) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            answer = await box.ask(DescribeClusterRequest(endpoint_type=endpoint), DescribeClusterResponse, 2)
            assert answer.error_code == code

    run(story())
