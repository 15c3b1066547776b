"""What Apache's tools ask of a broker that has neither users nor replicas to move."""

from __future__ import annotations

import pytest
from broker_in_a_box import Box, in_a_box, run

from leaselog.broker.cluster.cluster import NewTopic
from leaselog.model import ErrorCode
from leaselog.wire.messages import alter_partition_reassignments as moves
from leaselog.wire.messages import create_acls, delete_acls, describe_quorum, elect_leaders
from leaselog.wire.messages import describe_user_scram_credentials as scram
from leaselog.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from leaselog.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from leaselog.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from leaselog.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def with_topic(box: Box) -> None:
    await box.broker.cluster.create_topics([NewTopic("t", 1)])


@pytest.mark.parametrize("version", range(6))
def test_every_idempotent_producer_gets_an_id_of_its_own(version: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            request = InitProducerIdRequest(transactional_id=None)
            answers = [await box.ask(request, InitProducerIdResponse, version) for _ in range(3)]
            assert [(a.error_code, a.producer_id, a.producer_epoch) for a in answers] == [
                (0, 0, 0),
                (0, 1, 0),
                (0, 2, 0),
            ]

    run(story())


@pytest.mark.parametrize(
    ("transactional_id", "producer_id", "epoch", "code"),
    [
        (None, 5, -1, ErrorCode.INVALID_REQUEST),
        (None, -1, 5, ErrorCode.INVALID_REQUEST),
        ("", -1, -1, ErrorCode.INVALID_REQUEST),
        ("tx", -1, -1, ErrorCode.NOT_COORDINATOR),
        (None, 5, 1, ErrorCode.NONE),
    ],
)
def test_what_init_producer_id_refuses(
    transactional_id: str | None, producer_id: int, epoch: int, code: ErrorCode
) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            request = InitProducerIdRequest(
                transactional_id=transactional_id, producer_id=producer_id, producer_epoch=epoch
            )
            answer = await box.ask(request, InitProducerIdResponse, 5)
            assert answer.error_code == code
            assert (answer.producer_id == -1) == (code != 0)

    run(story())


def test_a_feature_that_is_unknown_refuses_the_request() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            updates = [FeatureUpdateKey(feature="foo", max_version_level=1)]
            answer = await box.ask(UpdateFeaturesRequest(feature_updates=updates), UpdateFeaturesResponse, 2)
            assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
            assert answer.error_message == (
                "The update failed for all features since the following feature had an error: Invalid update "
                "version 1 for feature foo. Local controller 0 does not support this feature."
            )

    run(story())


@pytest.mark.parametrize("version", range(3))
def test_a_level_that_is_there_already_is_a_success(version: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            updates = [FeatureUpdateKey(feature="metadata.version", max_version_level=33)]
            answer = await box.ask(
                UpdateFeaturesRequest(feature_updates=updates), UpdateFeaturesResponse, version
            )
            assert (answer.error_code, answer.error_message) == (0, None)
            assert [r.feature for r in answer.results] == (["metadata.version"] if version < 2 else [])

    run(story())


def test_nothing_is_ever_on_the_move() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            request = ListPartitionReassignmentsRequest(topics=None)
            answer = await box.ask(request, ListPartitionReassignmentsResponse, 0)
            assert (answer.error_code, answer.topics) == (0, [])

    run(story())


@pytest.mark.parametrize("version", range(2))
@pytest.mark.parametrize(
    ("topic", "index", "replicas", "code"),
    [
        ("t", 0, [0], ErrorCode.NONE),
        ("t", 0, [1], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("t", 0, [], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("t", 0, None, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
        ("t", 9, [0], UNKNOWN),
        ("nope", 0, [0], UNKNOWN),
    ],
)
def test_a_partition_can_only_be_moved_to_where_it_is(
    topic: str, index: int, replicas: list[int] | None, code: ErrorCode, version: int
) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await with_topic(box)
            wish = moves.ReassignablePartition(partition_index=index, replicas=replicas)
            request = moves.AlterPartitionReassignmentsRequest(
                topics=[moves.ReassignableTopic(name=topic, partitions=[wish])]
            )
            answer = await box.ask(request, moves.AlterPartitionReassignmentsResponse, version)
            assert answer.error_code == 0
            assert [p.error_code for t in answer.responses for p in t.partitions] == [code]

    run(story())


@pytest.mark.parametrize("version", range(3))
def test_no_election_is_needed(version: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await with_topic(box)
            asked = [
                elect_leaders.TopicPartitions(topic="t", partitions=[0, 9]),
                elect_leaders.TopicPartitions(topic="nope", partitions=[0]),
            ]
            request = elect_leaders.ElectLeadersRequest(topic_partitions=asked)
            answer = await box.ask(request, elect_leaders.ElectLeadersResponse, version)
            codes = [p.error_code for t in answer.replica_election_results for p in t.partition_result]
            assert codes == [ErrorCode.ELECTION_NOT_NEEDED, UNKNOWN, UNKNOWN]

    run(story())


def test_an_election_for_all_names_no_partition() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await with_topic(box)
            request = elect_leaders.ElectLeadersRequest(topic_partitions=None)
            answer = await box.ask(request, elect_leaders.ElectLeadersResponse, 2)
            assert [(t.topic, t.partition_result) for t in answer.replica_election_results] == [("t", [])]

    run(story())


@pytest.mark.parametrize("version", range(3))
def test_the_quorum_is_this_node(version: int) -> None:
    async def story() -> None:
        async with in_a_box(node_id="4") as box:
            asked = describe_quorum.TopicData(
                topic_name="__cluster_metadata", partitions=[describe_quorum.PartitionData()]
            )
            request = describe_quorum.DescribeQuorumRequest(topics=[asked])
            answer = await box.ask(request, describe_quorum.DescribeQuorumResponse, version)
            (topic,) = answer.topics
            (quorum,) = topic.partitions
            assert (quorum.error_code, quorum.leader_id) == (0, 4)
            assert [voter.replica_id for voter in quorum.current_voters] == [4]
            assert quorum.high_watermark == box.broker.cluster.features_epoch

    run(story())


def test_other_topics_have_no_quorum() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            asked = describe_quorum.TopicData(topic_name="t", partitions=[describe_quorum.PartitionData()])
            request = describe_quorum.DescribeQuorumRequest(topics=[asked])
            answer = await box.ask(request, describe_quorum.DescribeQuorumResponse, 2)
            assert answer.topics[0].partitions[0].error_code == UNKNOWN

    run(story())


def test_in_the_beginning_there_are_no_users() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            everybody = scram.DescribeUserScramCredentialsRequest(users=None)
            answer = await box.ask(everybody, scram.DescribeUserScramCredentialsResponse, 0)
            assert (answer.error_code, answer.results) == (0, [])
            named = scram.DescribeUserScramCredentialsRequest(
                users=[scram.UserName(name=name) for name in ("u", "twice", "twice")]
            )
            answer = await box.ask(named, scram.DescribeUserScramCredentialsResponse, 0)
            assert {r.user: r.error_code for r in answer.results} == {
                "u": ErrorCode.RESOURCE_NOT_FOUND,
                "twice": ErrorCode.DUPLICATE_RESOURCE,
            }

    run(story())


@pytest.mark.parametrize("version", range(1, 4))
def test_without_an_authorizer_there_are_no_access_lists(version: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            described = await box.ask(DescribeAclsRequest(), DescribeAclsResponse, version)
            created = await box.ask(
                create_acls.CreateAclsRequest(creations=[create_acls.AclCreation()]),
                create_acls.CreateAclsResponse,
                version,
            )
            deleted = await box.ask(
                delete_acls.DeleteAclsRequest(filters=[delete_acls.DeleteAclsFilter()]),
                delete_acls.DeleteAclsResponse,
                version,
            )
            codes = [
                described.error_code,
                created.results[0].error_code,
                deleted.filter_results[0].error_code,
            ]
            assert codes == [ErrorCode.SECURITY_DISABLED] * 3

    run(story())
