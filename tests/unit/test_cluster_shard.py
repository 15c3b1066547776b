"""The cluster's decisions: who may have which topic, and that replay alone changes anything."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaselog.coordination.cluster_features import Feature, FeatureUpdate
from leaselog.coordination.cluster_quotas import QuotaAlteration
from leaselog.coordination.cluster_records import (
    ConfigChanged,
    FeatureLevelSet,
    PartitionCreated,
    ProducerIdsReserved,
    ResourceType,
    TopicCreated,
    TopicRemoved,
)
from leaselog.coordination.cluster_shard import (
    PRODUCER_ID_BLOCK,
    AlterQuotas,
    ChangeConfigs,
    ClusterCommand,
    ClusterShard,
    CreatePartitions,
    CreateTopic,
    Decision,
    DeleteTopic,
    ReserveProducerIds,
    Topic,
    UpdateFeatures,
)
from leaselog.model import BrokenInvariant, ErrorCode, NodeId, ProducerId, Refused, TopicId

NODE = NodeId(0)
FEATURES = (Feature("metadata.version", 7, 33, 33), Feature("share.version", 0, 2, 1))


def id_of(number: int) -> TopicId:
    return TopicId(UUID(int=1000 + number))


def shard(*commands: ClusterCommand) -> ClusterShard:
    made = ClusterShard(NODE, FEATURES)
    for command in commands:
        commit(made, command)
    return made


def commit(shard: ClusterShard, command: ClusterCommand) -> Decision | Refused:
    decision = shard.handle(command)
    if isinstance(decision, Decision):
        for record in decision.records:
            shard.replay(record)
    return decision


def state(shard: ClusterShard) -> object:
    return (
        shard.topics,
        shard.topics_by_id,
        shard.configs,
        shard.feature_levels,
        shard.next_producer_id,
        shard.partition_count,
        shard.quotas,
        shard._collisions,
    )


def refusal(decision: Decision | Refused) -> tuple[ErrorCode, str | None]:
    assert isinstance(decision, Refused)
    return decision.code, decision.message


def test_a_new_topic_is_its_name_its_configs_and_its_partitions() -> None:
    decision = shard().handle(CreateTopic("t", id_of(1), 2, 1, configs=(("retention.ms", "5"),)))
    assert decision == Decision(
        (
            TopicCreated("t", id_of(1)),
            ConfigChanged(ResourceType.TOPIC, "t", "retention.ms", "5"),
            PartitionCreated(id_of(1), 0, NODE),
            PartitionCreated(id_of(1), 1, NODE),
        ),
        Topic("t", id_of(1), 2),
    )


def test_deciding_changes_nothing() -> None:
    cluster = shard(CreateTopic("t", id_of(1)))
    before = repr(state(cluster))
    cluster.handle(CreateTopic("u", id_of(2)))
    cluster.handle(DeleteTopic(id_of(1)))
    cluster.handle(CreatePartitions("t", 9))
    cluster.handle(ReserveProducerIds())
    assert repr(state(cluster)) == before


def test_counts_of_minus_one_are_the_defaults() -> None:
    decision = shard().handle(CreateTopic("t", id_of(1), default_partition_count=5))
    assert isinstance(decision, Decision)
    assert decision.reply == Topic("t", id_of(1), 5)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, f"the length of '{'x' * 250}' is longer than the max allowed length 249"),
        ("a b", "'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
        ("ä", "'ä' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
        ("t\n", "'t\n' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
    ],
)
def test_illegal_names_are_refused_in_kafkas_words(name: str, reason: str) -> None:
    code, message = refusal(shard().handle(CreateTopic(name, id_of(1))))
    assert (code, message) == (ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")


def test_the_longest_name_is_legal() -> None:
    assert isinstance(shard().handle(CreateTopic("x" * 249, id_of(1))), Decision)


def test_a_name_is_taken_once() -> None:
    cluster = shard(CreateTopic("t", id_of(1)))
    assert refusal(cluster.handle(CreateTopic("t", id_of(2)))) == (
        ErrorCode.TOPIC_ALREADY_EXISTS,
        "Topic 't' already exists.",
    )


def test_names_that_metrics_cannot_tell_apart_collide() -> None:
    cluster = shard(CreateTopic("a.b_c", id_of(1)))
    assert refusal(cluster.handle(CreateTopic("a_b.c", id_of(2)))) == (
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        "Topic 'a_b.c' collides with existing topic: a.b_c",
    )


def test_a_deleted_topic_frees_its_name_and_its_collisions_and_loses_its_configs() -> None:
    cluster = shard(CreateTopic("a.b", id_of(1), configs=(("k", "v"),)), DeleteTopic(id_of(1)))
    assert isinstance(commit(cluster, CreateTopic("a_b", id_of(2))), Decision)
    assert cluster.configs == {}
    assert cluster.partition_count == 1


def test_the_clusters_own_topic_is_nobodys_to_make() -> None:
    code, message = refusal(shard().handle(CreateTopic("__cluster_metadata", id_of(1))))
    assert code is ErrorCode.INVALID_REQUEST
    assert message == "Creation of internal topic __cluster_metadata is prohibited."


@pytest.mark.parametrize(
    ("partitions", "replicas", "code"),
    [
        (0, 1, ErrorCode.INVALID_PARTITIONS),
        (-2, 1, ErrorCode.INVALID_PARTITIONS),
        (1, 0, ErrorCode.INVALID_REPLICATION_FACTOR),
        (1, -2, ErrorCode.INVALID_REPLICATION_FACTOR),
        (1, 2, ErrorCode.INVALID_REPLICATION_FACTOR),
    ],
)
def test_impossible_counts_are_refused(partitions: int, replicas: int, code: ErrorCode) -> None:
    assert refusal(shard().handle(CreateTopic("t", id_of(1), partitions, replicas)))[0] is code


@pytest.mark.parametrize(
    ("assignments", "code", "message"),
    [
        (
            ((0, (1,)),),
            39,
            "The manual partition assignment includes broker 1, but no such broker is registered.",
        ),
        (((0, (0, 0)),), 39, "The manual partition assignment includes the broker 0 more than once."),
        (((0, ()),), 39, "The manual partition assignment includes an empty replica list."),
        (((1, (0,)),), 39, "partitions should be a consecutive 0-based integer sequence"),
        (((0, (0,)), (0, (0,))), 39, "Found multiple manual partition assignments for partition 0"),
    ],
)
def test_placements_by_hand_that_cannot_be(
    assignments: tuple[tuple[int, tuple[int, ...]], ...], code: int, message: str
) -> None:
    assert refusal(shard().handle(CreateTopic("t", id_of(1), assignments=assignments))) == (code, message)


def test_a_placement_by_hand_counts_the_partitions_itself() -> None:
    by_hand = ((1, (0,)), (0, (0,)))
    decision = shard().handle(CreateTopic("t", id_of(1), assignments=by_hand))
    assert isinstance(decision, Decision)
    assert decision.reply.partition_count == 2
    for counts in ((2, -1), (-1, 1)):
        refused = shard().handle(CreateTopic("t", id_of(1), *counts, assignments=by_hand))
        assert refusal(refused)[0] is ErrorCode.INVALID_REQUEST


def test_more_partitions_go_behind_those_there_are() -> None:
    cluster = shard(CreateTopic("t", id_of(1), 2, 1))
    decision = cluster.handle(CreatePartitions("t", 4, ((0,), (0,))))
    assert isinstance(decision, Decision)
    assert decision.records == (PartitionCreated(id_of(1), 2, NODE), PartitionCreated(id_of(1), 3, NODE))


@pytest.mark.parametrize(
    ("count", "assignments", "code", "message"),
    [
        (2, None, 37, "Topic already has 2 partition(s)."),
        (1, None, 37, "The topic t currently has 2 partition(s); 1 would not be an increase."),
        (-1, None, 37, "The topic t currently has 2 partition(s); -1 would not be an increase."),
        (
            4,
            ((0,),),
            39,
            "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
        ),
        (
            3,
            ((1,),),
            39,
            "The manual partition assignment includes broker 1, but no such broker is registered.",
        ),
    ],
)
def test_partitions_that_cannot_be_added(
    count: int, assignments: tuple[tuple[int, ...], ...] | None, code: int, message: str
) -> None:
    cluster = shard(CreateTopic("t", id_of(1), 2, 1))
    assert refusal(cluster.handle(CreatePartitions("t", count, assignments))) == (code, message)


def test_unknown_topics_are_told_by_name_or_id() -> None:
    assert refusal(shard().handle(CreatePartitions("t", 2)))[0] is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refusal(shard().handle(DeleteTopic(id_of(1))))[0] is ErrorCode.UNKNOWN_TOPIC_ID


def test_no_producer_id_is_reserved_twice() -> None:
    cluster = shard()
    blocks = [commit(cluster, ReserveProducerIds()) for _ in range(3)]
    firsts = [block.reply for block in blocks if isinstance(block, Decision)]
    assert firsts == [0, PRODUCER_ID_BLOCK, 2 * PRODUCER_ID_BLOCK]


def test_producer_ids_end_before_they_begin_anew() -> None:
    cluster = shard()
    cluster.replay(ProducerIdsReserved(NODE, ProducerId(2**63 - 1)))
    assert refusal(cluster.handle(ReserveProducerIds()))[0] is ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(
    ("name", "level", "upgrade_type", "reason"),
    [
        ("foo", 1, 1, "Local controller 0 does not support this feature."),
        ("share.version", 3, 1, "Local controller 0 only supports versions 0-2"),
        ("share.version", -1, 1, "A feature version cannot be less than 0."),
        ("share.version", 1, 0, "The controller does not support the given upgrade type."),
        ("share.version", 2, 1, "leaselog does not act on this level yet; the highest it does is 1."),
    ],
)
def test_levels_that_cannot_be_set(name: str, level: int, upgrade_type: int, reason: str) -> None:
    decision = shard().handle(UpdateFeatures((FeatureUpdate(name, level, upgrade_type),)))
    assert refusal(decision) == (
        ErrorCode.INVALID_UPDATE_VERSION,
        f"Invalid update version {level} for feature {name}. {reason}",
    )


def test_a_level_falls_only_when_told_to_fall() -> None:
    cluster = shard(UpdateFeatures((FeatureUpdate("share.version", 1, 1),)))
    assert isinstance(cluster.handle(UpdateFeatures((FeatureUpdate("share.version", 0, 1),))), Refused)
    assert cluster.handle(UpdateFeatures((FeatureUpdate("share.version", 0, 2),))) == Decision(
        (FeatureLevelSet("share.version", 0),)
    )


def test_one_bad_level_refuses_the_good_ones_too() -> None:
    updates = (FeatureUpdate("share.version", 1, 1), FeatureUpdate("foo", 1, 1))
    assert isinstance(shard().handle(UpdateFeatures(updates)), Refused)


def test_a_level_that_is_there_already_writes_nothing() -> None:
    cluster = shard(UpdateFeatures((FeatureUpdate("share.version", 1, 1),)))
    assert cluster.handle(UpdateFeatures((FeatureUpdate("share.version", 1, 1),))) == Decision(())


def test_records_that_cannot_follow_are_a_broken_invariant() -> None:
    cluster = shard(CreateTopic("t", id_of(1)))
    for record in (
        TopicCreated("t", id_of(2)),
        TopicCreated("u", id_of(1)),
        PartitionCreated(id_of(1), 5, NODE),
        PartitionCreated(id_of(9), 0, NODE),
        TopicRemoved(id_of(9)),
    ):
        with pytest.raises(BrokenInvariant):
            cluster.replay(record)


NAMES = st.sampled_from(["a", "b", "a.b", "a_b", "", "c"])
IDS = st.integers(0, 4).map(id_of)
CONFIGS = st.builds(
    ConfigChanged,
    st.sampled_from([ResourceType.TOPIC, ResourceType.BROKER]),
    NAMES,
    st.sampled_from(["k", "l"]),
    st.none() | st.text(max_size=3),
)
QUOTAS = st.builds(
    QuotaAlteration,
    st.sampled_from([[("user", "a")], [("user", "a"), ("client-id", None)], [("ip", "::1")]]),
    st.lists(
        st.tuples(
            st.sampled_from(["producer_byte_rate", "connection_creation_rate"]),
            st.sampled_from([None, 1.0, 2.0]),
        ),
        max_size=2,
    ),
)
COMMANDS = st.one_of(
    st.builds(AlterQuotas, st.lists(QUOTAS, max_size=2).map(tuple)),
    st.builds(CreateTopic, NAMES, IDS, st.integers(-1, 3), st.integers(-1, 2)),
    st.builds(DeleteTopic, IDS),
    st.builds(CreatePartitions, NAMES, st.integers(0, 5)),
    st.builds(ChangeConfigs, st.lists(CONFIGS, max_size=3).map(tuple)),
    st.builds(ReserveProducerIds),
    st.builds(
        UpdateFeatures,
        st.lists(
            st.builds(FeatureUpdate, st.just("share.version"), st.integers(0, 2), st.integers(1, 2)),
            max_size=1,
        ).map(tuple),
    ),
)


@given(st.lists(COMMANDS, max_size=30))
def test_a_snapshot_replays_to_the_same_state(commands: list[ClusterCommand]) -> None:
    live = ClusterShard(NODE, FEATURES)
    used = set[TopicId]()
    for command in commands:
        if isinstance(command, CreateTopic):
            if command.topic_id in used:
                continue  # ids are drawn anew each time
            used.add(command.topic_id)
        commit(live, command)
    records = list(live.records())
    again = ClusterShard(NODE, FEATURES)
    for record in records:
        again.replay(record)
    assert state(again) == state(live)
    assert len(records) <= live.record_count()
