"""The admin calls against the real handlers, and against answers that only other brokers give."""

from __future__ import annotations

import asyncio
import inspect
import pickle
from uuid import UUID

import pytest
from admin_cluster import BoxCluster, box_cluster
from broker_in_a_box import run

from leaselog.admin import (
    Admin,
    AsyncAdmin,
    GroupState,
    GroupType,
    NewPartitions,
    NewTopic,
    Resource,
    ResourceType,
    ShareOffset,
    SomeFailed,
)
from leaselog.client import EARLIEST, LATEST, BrokerError, ConnectionLost, Unreachable, kafka_errors
from leaselog.client.loop_thread import LoopThread
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.codec import encode
from leaselog.wire.messages import describe_groups as classic
from leaselog.wire.messages import share_group_describe as share
from leaselog.wire.messages.client_data import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)
from leaselog.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from leaselog.wire.messages.list_groups import ListedGroup, ListGroupsResponse


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaselog.client.cluster.RETRY_BACKOFF_MS", 1)


async def a_topic(cluster: BoxCluster, name: str = "t", partitions: int = 2) -> AsyncAdmin:
    admin = AsyncAdmin.over(cluster)
    await admin.create_topics([NewTopic(name, partitions)])
    return admin


def test_topics_are_made_listed_described_grown_and_deleted() -> None:
    async def main() -> None:
        async with box_cluster() as cluster:
            admin = await a_topic(cluster)
            await admin.create_topics([NewTopic("seen-only")], validate_only=True)
            assert [t.name for t in await admin.list_topics()] == ["t"]
            await admin.create_partitions({"t": NewPartitions(3)})
            described = await admin.describe_topics(["t", "nobody"])
            assert {name: len(topic.partitions) for name, topic in described.items()} == {"t": 3}
            await admin.delete_topics(["t"])
            assert await admin.list_topics() == []

    run(main())


def test_one_thing_fails_with_its_own_error_named_as_kafkas() -> None:
    async def main() -> None:
        async with box_cluster() as cluster:
            admin = await a_topic(cluster)
            with pytest.raises(kafka_errors.TopicExistsException) as failed:
                await admin.create_topics([NewTopic("t")])
            assert failed.value.code is ErrorCode.TOPIC_ALREADY_EXISTS
            with pytest.raises(kafka_errors.UnknownTopicOrPartitionException):
                await admin.delete_topics(["nobody"])
            with pytest.raises(kafka_errors.GroupIdNotFoundException):
                await admin.describe_groups(["nobody"])

    run(main())


def test_several_things_fail_each_by_itself_and_the_rest_is_done() -> None:
    async def main() -> None:
        async with box_cluster() as cluster:
            admin = await a_topic(cluster)
            existing, wrong = list[BaseExceptionGroup](), list[BaseExceptionGroup]()
            try:
                await admin.create_topics([NewTopic("t"), NewTopic("u"), NewTopic("v", 0)])
            except* kafka_errors.TopicExistsException as known:
                existing.append(known)
            except* kafka_errors.InvalidPartitionsException as known:
                wrong.append(known)
            (first,) = existing
            assert isinstance(first, SomeFailed)
            assert (list(first.errors), list(first.results)) == (["t"], ["u"])
            assert len(wrong) == 1
            assert [t.name for t in await admin.list_topics()] == ["t", "u"]

    run(main())


def test_every_code_of_kafkas_has_its_exception_and_an_unknown_one_still_is_an_error() -> None:
    named = {BrokerError(code).__class__ for code in ErrorCode if code}
    assert named == {getattr(kafka_errors, name) for name in kafka_errors.__all__}
    assert len(named) == len(ErrorCode) - 1
    assert type(BrokerError(30_000)) is BrokerError


def test_an_error_survives_the_way_to_another_process() -> None:
    error = pickle.loads(pickle.dumps(BrokerError(ErrorCode.NON_EMPTY_GROUP, "two members")))
    assert isinstance(error, kafka_errors.GroupNotEmptyException)
    assert (error.code, error.message) == (ErrorCode.NON_EMPTY_GROUP, "two members")


def test_configs_of_topics_brokers_and_groups_are_set_shown_and_unset() -> None:
    changes = [
        (Resource(ResourceType.TOPIC, "t"), "retention.ms", "5000"),
        (Resource(ResourceType.BROKER, ""), "log.retention.ms", "6000"),
        (Resource(ResourceType.GROUP, "g"), "share.auto.offset.reset", "earliest"),
    ]

    async def main() -> None:
        async with box_cluster() as cluster:
            admin = await a_topic(cluster)
            for resource, name, value in changes:
                await admin.alter_configs(resource, put={name: value})
                entries = (await admin.describe_configs([resource]))[resource]
                assert {e.name: e.value for e in entries}[name] == value
            assert await admin.list_config_resources(ResourceType.GROUP) == ["g"]
            await admin.alter_configs(changes[2][0], delete=["share.auto.offset.reset"])
            assert await admin.list_config_resources(ResourceType.GROUP) == []
            with pytest.raises(kafka_errors.InvalidConfigurationException):
                await admin.alter_configs(changes[0][0], put={"retention.ms": "soon"})

    run(main())


def test_share_group_offsets_are_set_listed_and_deleted_and_the_group_with_them() -> None:
    t0, t1 = TopicPartition("t", 0), TopicPartition("t", 1)

    async def main() -> None:
        async with box_cluster() as cluster:
            admin = await a_topic(cluster)
            await cluster.box.append("t", 1, 2, 3)
            await admin.alter_share_group_offsets("g", {t0: 1})
            (listed,) = await admin.list_groups(types=[GroupType.SHARE])
            assert (listed.group_id, listed.state, listed.protocol) == ("g", GroupState.EMPTY, "share")
            assert await admin.list_share_group_offsets({"g": None}) == {"g": {t0: ShareOffset(1, 0, 2)}}
            asked = await admin.list_share_group_offsets({"g": [t0, t1]})
            assert asked["g"] == {t0: ShareOffset(1, 0, 2), t1: None}
            with pytest.raises(kafka_errors.UnknownTopicOrPartitionException):
                await admin.alter_share_group_offsets("g", {TopicPartition("t", 9): 0})
            await admin.delete_share_group_offsets("g", ["t"])
            assert await admin.list_share_group_offsets({"g": None}) == {"g": {}}
            with pytest.raises(kafka_errors.UnknownTopicOrPartitionException):
                await admin.delete_share_group_offsets("g", ["t"])
            await admin.delete_groups(["g"])
            assert await admin.list_groups() == []
            with pytest.raises(kafka_errors.GroupIdNotFoundException):
                await admin.delete_share_group_offsets("g", ["t"])

    run(main())


def test_a_coordinator_that_loads_or_moves_is_asked_again_and_only_for_what_is_missing() -> None:
    def answer(**codes: ErrorCode) -> DeleteGroupsResponse:
        results = [DeletableGroupResult(group_id=g, error_code=code) for g, code in codes.items()]
        return DeleteGroupsResponse(results=results)

    answers = [
        answer(a=ErrorCode.NONE, b=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, c=ErrorCode.NON_EMPTY_GROUP),
        ConnectionLost("gone"),
        answer(b=ErrorCode.NOT_COORDINATOR),
        answer(b=ErrorCode.NONE),
    ]

    async def main() -> None:
        async with box_cluster(DeleteGroups=answers) as cluster:
            with pytest.raises(SomeFailed) as failed:
                await AsyncAdmin.over(cluster).delete_groups(["a", "b", "c"])
            assert failed.value.results == {"a": None, "b": None}
            assert isinstance(failed.value.errors["c"], kafka_errors.GroupNotEmptyException)
            assert cluster.asked.count("DeleteGroups") == 4
            assert cluster.asked.count("FindCoordinator") == 6, "each time for those that are left"

    run(main())


def test_a_coordinator_that_never_gets_ready_is_the_error_at_the_deadline() -> None:
    async def main() -> None:
        loading = DeleteGroupsResponse(
            results=[DeletableGroupResult(group_id="g", error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)]
        )
        async with box_cluster(DeleteGroups=[loading] * 1000) as cluster:
            cluster.api_timeout_ms = 20
            with pytest.raises(kafka_errors.CoordinatorLoadInProgressException):
                await AsyncAdmin.over(cluster).delete_groups(["g"])

    run(main())


def test_a_group_is_described_as_what_it_is() -> None:
    assigned = [ConsumerProtocolAssignmentTopicPartition(topic="t", partitions=[1])]
    member = classic.DescribedGroupMember(
        member_id="m",
        client_id="c",
        client_host="/h",
        member_metadata=b"\x00\x00" + encode(ConsumerProtocolSubscription(topics=["t"]), 0),
        member_assignment=b"\x00\x00" + encode(ConsumerProtocolAssignment(assigned_partitions=assigned), 0),
    )
    strange = classic.DescribedGroupMember(member_id="x", member_metadata=b"?", member_assignment=b"\x00\x00")
    answers = {
        "ListGroups": [
            ListGroupsResponse(
                groups=[
                    ListedGroup(group_id="old", protocol_type="consumer", group_type="Classic"),
                    ListedGroup(group_id="new", protocol_type="share", group_type="share"),
                ]
            )
        ],
        "DescribeGroups": [
            classic.DescribeGroupsResponse(
                groups=[
                    classic.DescribedGroup(
                        group_id="old",
                        group_state="PreparingRebalance",
                        protocol_type="consumer",
                        protocol_data="range",
                        members=[member, strange],
                    )
                ]
            )
        ],
        "ShareGroupDescribe": [
            share.ShareGroupDescribeResponse(
                groups=[
                    share.DescribedGroup(
                        group_id="new",
                        group_state="Stable",
                        group_epoch=7,
                        assignment_epoch=6,
                        assignor_name="simple",
                        members=[
                            share.Member(
                                member_id="s",
                                member_epoch=6,
                                subscribed_topic_names=["t"],
                                assignment=share.Assignment(
                                    topic_partitions=[
                                        share.TopicPartitions(
                                            topic_id=UUID(int=1), topic_name="t", partitions=[0, 1]
                                        )
                                    ]
                                ),
                            )
                        ],
                    )
                ]
            )
        ],
    }

    async def main() -> None:
        async with box_cluster(**answers) as cluster:
            found = await AsyncAdmin.over(cluster).describe_groups(["new", "old"])
        old, new = found["old"], found["new"]
        assert (old.type, old.state, old.assignor, old.epoch) == (
            GroupType.CLASSIC,
            GroupState.PREPARING_REBALANCE,
            "range",
            None,
        )
        assert old.members[0].assignment == {TopicPartition("t", 1)}
        assert old.members[0].subscribed_topics == ("t",)
        assert (old.members[1].subscribed_topics, old.members[1].assignment) == ((), frozenset())
        assert (new.type, new.state, new.epoch, new.assignment_epoch) == (
            GroupType.SHARE,
            GroupState.STABLE,
            7,
            6,
        )
        assert new.members[0].assignment == {TopicPartition("t", 0), TopicPartition("t", 1)}

    run(main())


def test_a_group_that_is_dead_is_not_found_whatever_the_version() -> None:
    dead = classic.DescribeGroupsResponse(groups=[classic.DescribedGroup(group_id="g", group_state="Dead")])

    async def main() -> None:
        async with box_cluster(DescribeGroups=[dead]) as cluster:
            with pytest.raises(kafka_errors.GroupIdNotFoundException):
                await AsyncAdmin.over(cluster).describe_groups(["g"], type=GroupType.CLASSIC)

    run(main())


def test_records_are_deleted_and_the_new_beginnings_told() -> None:
    t0 = TopicPartition("t", 0)

    async def main() -> None:
        async with box_cluster() as cluster:
            admin = await a_topic(cluster)
            await cluster.box.append("t", 1, 2, 3)
            assert await admin.delete_records({t0: 2}) == {t0: 2}
            assert await admin.list_offsets({t0: EARLIEST}) == {t0: 2}
            assert await admin.list_offsets({t0: LATEST}) == {t0: 3}
            with pytest.raises(kafka_errors.OffsetOutOfRangeException):
                await admin.delete_records({t0: 9})
            with pytest.raises(kafka_errors.UnknownTopicOrPartitionException):
                await admin.delete_records({TopicPartition("nobody", 0): 1})

    run(main())


@pytest.mark.parametrize("missing", [set(), {"DescribeCluster"}])
def test_the_cluster_is_described_also_by_a_broker_too_old_for_it(missing: set[str]) -> None:
    async def main() -> None:
        async with box_cluster() as cluster:
            cluster.missing = missing
            found = await AsyncAdmin.over(cluster).describe_cluster()
        assert found.cluster_id == cluster.box.broker.cluster.cluster_id
        assert [node.node_id for node in found.nodes] == [0]

    run(main())


def test_both_kinds_of_admin_have_the_same_methods() -> None:
    def surface(kind: type) -> dict[str, inspect.Signature]:
        return {
            name: inspect.signature(method)
            for name, method in inspect.getmembers(kind, inspect.isfunction)
            if not name.startswith("_")
        }

    assert surface(Admin) == surface(AsyncAdmin)


def test_a_loop_on_a_thread_of_its_own_gives_results_and_errors_and_ends() -> None:
    async def add(a: int, b: int) -> int:
        await asyncio.sleep(0)
        return a + b

    async def fail() -> None:
        raise BrokerError(ErrorCode.INVALID_GROUP_ID)

    loop = LoopThread("test")
    assert loop.run(add(1, 2)) == 3
    with pytest.raises(kafka_errors.InvalidGroupIdException):
        loop.run(fail())
    loop.close()
    loop.close()
    with pytest.raises(RuntimeError, match="test is closed"):
        loop.run(add(1, 2))


def test_a_blocking_admin_works_where_a_loop_is_running_already() -> None:
    async def in_a_notebook() -> None:
        with Admin("127.0.0.1:1", default_api_timeout_ms=200) as admin, pytest.raises(Unreachable):
            admin.list_topics()

    run(in_a_notebook())
