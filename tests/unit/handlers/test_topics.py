"""CreateTopics, DeleteTopics, CreatePartitions: every entry on its own merits, in every version."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from broker_in_a_box import Box, in_a_box, run

from leaselog.model import ZERO_UUID, ErrorCode
from leaselog.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from leaselog.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from leaselog.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

OK = ErrorCode.NONE


def wish(name: str, count: int = 1, **configs: str) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=count,
        replication_factor=1,
        configs=[CreatableTopicConfig(name=k.replace("_", "."), value=v) for k, v in configs.items()],
    )


async def create(box: Box, *topics: CreatableTopic, version: int = 7) -> dict[str, CreatableTopicResult]:
    answer = await box.ask(CreateTopicsRequest(topics=topics), CreateTopicsResponse, version)
    return {topic.name: topic for topic in answer.topics}


@pytest.mark.parametrize("version", range(2, 8))
def test_a_created_topic_is_described_as_far_as_the_version_can(version: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            made = (await create(box, wish("t", 2, retention_ms="77"), version=version))["t"]
            assert made.error_code == OK
            known = box.broker.cluster.topic("t")
            assert known is not None
            assert known.partition_count == 2
            if version >= 7:
                assert made.topic_id == known.topic_id
            if version >= 5:
                assert (made.num_partitions, made.replication_factor) == (2, 1)
                configs = {config.name: config for config in made.configs or ()}
                assert (configs["retention.ms"].value, configs["retention.ms"].config_source) == ("77", 1)
                assert (configs["segment.bytes"].value, configs["segment.bytes"].config_source) == (
                    "1073741824",
                    5,
                )

    run(story())


def test_bad_topics_do_not_hinder_good_ones() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            results = await create(
                box,
                wish("good"),
                wish("twice"),
                wish("twice"),
                wish("a b"),
                wish("none", 0),
                wish("odd", nope="1"),
                wish("wrong", retention_ms="x"),
                CreatableTopic(
                    name="null",
                    num_partitions=1,
                    replication_factor=1,
                    configs=[CreatableTopicConfig(name="retention.ms", value=None)],
                ),
                CreatableTopic(
                    name="hand",
                    num_partitions=-1,
                    replication_factor=-1,
                    assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=[1])],
                ),
            )
            assert {name: result.error_code for name, result in results.items()} == {
                "good": OK,
                "twice": ErrorCode.INVALID_REQUEST,
                "a b": ErrorCode.INVALID_TOPIC_EXCEPTION,
                "none": ErrorCode.INVALID_PARTITIONS,
                "odd": ErrorCode.INVALID_CONFIG,
                "wrong": ErrorCode.INVALID_CONFIG,
                "null": ErrorCode.INVALID_CONFIG,
                "hand": ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            }
            assert results["twice"].error_message == "Duplicate topic name."
            assert [topic.name for topic in box.broker.cluster.topics()] == ["good"]

    run(story())


async def delete(box: Box, version: int, *topics: tuple[str | None, UUID]) -> list[DeletableTopicResult]:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=n, topic_id=i) for n, i in topics])
    if version < 6:
        request = DeleteTopicsRequest(topic_names=[name or "" for name, _ in topics])
    return list((await box.ask(request, DeleteTopicsResponse, version)).responses)


@pytest.mark.parametrize("version", range(1, 7))
def test_a_topic_is_deleted_by_name(version: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await create(box, wish("t"), wish("u"))
            results = await delete(box, version, ("t", ZERO_UUID), ("nope", ZERO_UUID))
            assert {r.name: r.error_code for r in results} == {
                "t": OK,
                "nope": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            }
            assert [topic.name for topic in box.broker.cluster.topics()] == ["u"]
            assert box.broker.logs.partition("t", 0) is None

    run(story())


def test_a_topic_is_deleted_by_id_and_named_in_the_answer() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            made = (await create(box, wish("t")))["t"]
            (result,) = await delete(box, 6, (None, made.topic_id))
            assert (result.name, result.topic_id, result.error_code) == ("t", made.topic_id, OK)

    run(story())


def test_entries_that_name_nothing_or_too_much_are_refused_alone() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            topics = await create(box, wish("t"), wish("u"), wish("v"))
            unknown, twice = uuid4(), topics["v"].topic_id
            results = await delete(
                box,
                6,
                ("t", ZERO_UUID),
                ("t", ZERO_UUID),
                ("u", topics["u"].topic_id),
                (None, ZERO_UUID),
                (None, unknown),
                (None, twice),
                (None, twice),
            )
            assert {(r.name, r.topic_id): (r.error_code, r.error_message) for r in results} == {
                ("t", ZERO_UUID): (42, "Duplicate topic name."),
                ("u", topics["u"].topic_id): (42, "You may not specify both topic name and topic id."),
                (None, ZERO_UUID): (42, "Neither topic name nor id were specified."),
                (None, unknown): (100, "This server does not host this topic ID."),
                (None, twice): (42, "Duplicate topic id."),
            }
            assert len(list(box.broker.cluster.topics())) == 3

    run(story())


@pytest.mark.parametrize(
    ("version", "code"), [(2, ErrorCode.INVALID_REQUEST), (6, ErrorCode.TOPIC_DELETION_DISABLED)]
)
def test_deletion_can_be_forbidden(version: int, code: ErrorCode) -> None:
    async def story() -> None:
        async with in_a_box(delete_topic_enable="false") as box:
            await create(box, wish("t"))
            (result,) = await delete(box, version, ("t", ZERO_UUID))
            assert result.error_code == code
            assert box.broker.cluster.topic("t") is not None

    run(story())


@pytest.mark.parametrize("version", range(4))
def test_partitions_are_added_for_each_topic_on_its_own_merits(version: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await create(box, wish("t", 2), wish("u", 2), wish("v", 2))
            request = CreatePartitionsRequest(
                topics=[
                    CreatePartitionsTopic(name="t", count=4, assignments=None),
                    CreatePartitionsTopic(name="u", count=2, assignments=None),
                    CreatePartitionsTopic(
                        name="v", count=3, assignments=[CreatePartitionsAssignment(broker_ids=[0])]
                    ),
                    CreatePartitionsTopic(name="nope", count=2, assignments=None),
                    CreatePartitionsTopic(name="twice", count=2, assignments=None),
                    CreatePartitionsTopic(name="twice", count=2, assignments=None),
                ]
            )
            answer = await box.ask(request, CreatePartitionsResponse, version)
            assert {r.name: (r.error_code, r.error_message) for r in answer.results} == {
                "t": (OK, None),
                "u": (ErrorCode.INVALID_PARTITIONS, "Topic already has 2 partition(s)."),
                "v": (OK, None),
                "nope": (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None),
                "twice": (ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
            }
            assert box.broker.logs.partition("t", 3) is not None
            assert box.broker.logs.partition("v", 2) is not None

    run(story())
