"""librdkafka's admin client: topics, configs, groups and records, and the refusals by name."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import closing

import pytest
from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from interop.confluent_io import (
    WAIT_S,
    Sent,
    admin_of,
    consumer_of,
    create_topic,
    numbered,
    produce,
    read,
    take,
    wait_until,
)

LISTED = {"isolation_level": IsolationLevel.READ_UNCOMMITTED, "request_timeout": WAIT_S}


@pytest.fixture
def admin(broker):
    return admin_of(broker)


def refusal(future: Future) -> int:
    """The error code this ends in."""
    with pytest.raises(KafkaException) as raised:
        future.result(WAIT_S)
    return raised.value.args[0].code()


def create(admin, topic: NewTopic, **options) -> Future:
    return admin.create_topics([topic], **options)[topic.topic]


def configs(admin, kind: ResourceType, name: str) -> dict[str, ConfigEntry]:
    resource = ConfigResource(kind, name)
    return admin.describe_configs([resource])[resource].result(WAIT_S)


def change(admin, topic: str, *entries: tuple[str, str | None, AlterConfigOpType]) -> Future:
    changes = [
        ConfigEntry(name, value, incremental_operation=operation) for name, value, operation in entries
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=changes)
    return admin.incremental_alter_configs([resource])[resource]


def emptied_group(broker, topic: str, group: str, offset: int = 3) -> None:
    """A group nobody is in, with one committed offset."""
    with closing(consumer_of(broker, group)) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)


def test_a_topic_is_created_listed_and_described(broker, admin, fresh) -> None:
    topic = create_topic(broker, fresh("topic"), partitions=3)
    listed = admin.list_topics(timeout=WAIT_S).topics[topic]
    assert sorted(listed.partitions) == [0, 1, 2]
    described = admin.describe_topics(TopicCollection([topic]))[topic].result(WAIT_S)
    assert [partition.id for partition in described.partitions] == [0, 1, 2]
    for partition in described.partitions:
        assert [node.id for node in partition.replicas] == [node.id for node in partition.isr]
        assert partition.leader.port == broker.port
    assert not described.is_internal
    assert str(described.topic_id) not in ("", "AAAAAAAAAAAAAAAAAAAAAA")


def test_a_topic_without_numbers_gets_the_brokers(broker, admin, fresh) -> None:
    name = fresh("topic")
    create(admin, NewTopic(name, -1, -1)).result(WAIT_S)
    assert len(admin.list_topics(name, timeout=WAIT_S).topics[name].partitions) == 1


def test_a_topic_is_created_once(broker, admin, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    assert refusal(create(admin, NewTopic(topic, 1, 1))) == KafkaError.TOPIC_ALREADY_EXISTS


def test_validating_a_topic_creates_none(admin, fresh) -> None:
    name = fresh("topic")
    create(admin, NewTopic(name, 1, 1), validate_only=True).result(WAIT_S)
    assert name not in admin.list_topics(timeout=WAIT_S).topics


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (NewTopic("spaces are bad", 1, 1), KafkaError.TOPIC_EXCEPTION),
        (NewTopic("x" * 250, 1, 1), KafkaError.TOPIC_EXCEPTION),
        (NewTopic("..", 1, 1), KafkaError.TOPIC_EXCEPTION),
        (NewTopic("bad-replication", 1, 2), KafkaError.INVALID_REPLICATION_FACTOR),
        (NewTopic("bad-config", 1, 1, config={"no.such.config": "1"}), KafkaError.INVALID_CONFIG),
        (NewTopic("bad-value", 1, 1, config={"retention.ms": "soon"}), KafkaError.INVALID_CONFIG),
        (NewTopic("bad-policy", 1, 1, config={"cleanup.policy": "burn"}), KafkaError.INVALID_CONFIG),
        (NewTopic("bad-replica", 1, replica_assignment=[[99]]), KafkaError.INVALID_REPLICA_ASSIGNMENT),
    ],
    ids=lambda value: value.topic[:15] if isinstance(value, NewTopic) else str(value),
)
def test_a_topic_that_cannot_be_is_refused_by_name(admin, bad, code) -> None:
    assert refusal(create(admin, bad)) == code
    assert bad.topic not in admin.list_topics(timeout=WAIT_S).topics


def test_one_bad_topic_does_not_fail_its_neighbour(admin, fresh) -> None:
    good, bad = fresh("good"), fresh("bad")
    made = admin.create_topics([NewTopic(bad, 1, 3), NewTopic(good, 1, 1)])
    assert refusal(made[bad]) == KafkaError.INVALID_REPLICATION_FACTOR
    made[good].result(WAIT_S)


def test_names_that_differ_in_a_dot_and_an_underscore_collide(broker, admin, fresh) -> None:
    stem = fresh("topic").replace(".", "-")
    create_topic(broker, stem + ".x")
    assert refusal(create(admin, NewTopic(stem + "_x", 1, 1))) == KafkaError.TOPIC_EXCEPTION


def test_a_deleted_topic_is_gone_with_its_records(broker, admin, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    produce(broker, topic, numbered(5))
    admin.delete_topics([topic])[topic].result(WAIT_S)
    wait_until(lambda: topic not in admin.list_topics(timeout=WAIT_S).topics, "deletion")
    assert refusal(admin.delete_topics([topic])[topic]) == KafkaError.UNKNOWN_TOPIC_OR_PART
    create_topic(broker, topic)
    assert produce(broker, topic, [Sent(value=b"v")]).offsets == {0: [0]}


def test_partitions_are_added_and_never_taken_away(broker, admin, fresh) -> None:
    topic = create_topic(broker, fresh("topic"), partitions=2)
    produce(broker, topic, numbered(5, 1))
    admin.create_partitions([NewPartitions(topic, 4)])[topic].result(WAIT_S)
    wait_until(lambda: len(admin.list_topics(topic, timeout=WAIT_S).topics[topic].partitions) == 4, "four")
    assert produce(broker, topic, numbered(5, 3)).offsets == {3: [0, 1, 2, 3, 4]}
    assert len(read(broker, topic, 5, partitions=[1])) == 5
    fewer = admin.create_partitions([NewPartitions(topic, 3)])[topic]
    assert refusal(fewer) == KafkaError.INVALID_PARTITIONS
    unknown = fresh("nowhere")
    nowhere = admin.create_partitions([NewPartitions(unknown, 3)])[unknown]
    assert refusal(nowhere) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_a_topics_configs_say_where_each_value_is_from(broker, admin, fresh) -> None:
    topic = create_topic(
        broker, fresh("topic"), config={"retention.ms": "12345", "cleanup.policy": "compact"}
    )
    entries = configs(admin, ResourceType.TOPIC, topic)
    assert entries["retention.ms"].value == "12345"
    assert entries["retention.ms"].source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    assert not entries["retention.ms"].is_default
    assert entries["cleanup.policy"].value == "compact"
    assert entries["segment.bytes"].value == str(1 << 30)
    assert entries["segment.bytes"].is_default
    assert not entries["segment.bytes"].is_sensitive


def test_the_brokers_configs_are_described(broker, admin) -> None:
    (node,) = admin.describe_cluster().result(WAIT_S).nodes
    entries = configs(admin, ResourceType.BROKER, str(node.id))
    assert entries["node.id"].value == str(node.id)
    assert entries["node.id"].is_read_only
    assert entries["group.initial.rebalance.delay.ms"].value == "0"
    assert entries["group.initial.rebalance.delay.ms"].source == ConfigSource.STATIC_BROKER_CONFIG.value
    assert entries["num.network.threads"].value == "3"


def test_configs_of_an_unknown_topic_are_refused(admin, fresh) -> None:
    resource = ConfigResource(ResourceType.TOPIC, fresh("nowhere"))
    assert refusal(admin.describe_configs([resource])[resource]) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_configs_change_one_by_one(broker, admin, fresh) -> None:
    topic = create_topic(broker, fresh("topic"), config={"retention.ms": "12345"})
    change(admin, topic, ("max.message.bytes", "2000", AlterConfigOpType.SET)).result(WAIT_S)
    wait_until(
        lambda: configs(admin, ResourceType.TOPIC, topic)["max.message.bytes"].value == "2000", "the change"
    )
    assert configs(admin, ResourceType.TOPIC, topic)["retention.ms"].value == "12345"
    assert produce(broker, topic, [Sent(value=bytes(3_000))]).error_codes == [KafkaError.MSG_SIZE_TOO_LARGE]
    change(admin, topic, ("max.message.bytes", None, AlterConfigOpType.DELETE)).result(WAIT_S)
    wait_until(
        lambda: configs(admin, ResourceType.TOPIC, topic)["max.message.bytes"].is_default, "the default"
    )
    assert produce(broker, topic, [Sent(value=bytes(3_000))]).errors == []


def test_lists_are_appended_to_and_subtracted_from(broker, admin, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    change(admin, topic, ("cleanup.policy", "compact", AlterConfigOpType.APPEND)).result(WAIT_S)
    wait_until(
        lambda: configs(admin, ResourceType.TOPIC, topic)["cleanup.policy"].value == "delete,compact", "both"
    )
    change(admin, topic, ("cleanup.policy", "delete", AlterConfigOpType.SUBTRACT)).result(WAIT_S)
    wait_until(lambda: configs(admin, ResourceType.TOPIC, topic)["cleanup.policy"].value == "compact", "one")


def test_an_impossible_config_change_changes_nothing(broker, admin, fresh) -> None:
    topic = create_topic(broker, fresh("topic"), config={"retention.ms": "12345"})
    both = [("retention.ms", "1", AlterConfigOpType.SET), ("segment.bytes", "x", AlterConfigOpType.SET)]
    assert refusal(change(admin, topic, *both)) == KafkaError.INVALID_CONFIG
    assert configs(admin, ResourceType.TOPIC, topic)["retention.ms"].value == "12345"


def test_the_cluster_is_one_node_and_its_controller(broker, admin) -> None:
    cluster = admin.describe_cluster().result(WAIT_S)
    assert cluster.cluster_id
    assert [node.id for node in cluster.nodes] == [cluster.controller.id]
    assert (cluster.nodes[0].host, cluster.nodes[0].port) == ("127.0.0.1", broker.port)


def test_offsets_are_listed_by_place_and_by_time(broker, admin, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    times = [1_000, 5_000, 3_000, 4_000]
    for at in times:  # one batch each: the largest time is not the last
        produce(broker, topic, [Sent(value=b"v", timestamp_ms=1_000_000 + at)])
    here = TopicPartition(topic, 0)

    def offset(spec: OffsetSpec) -> tuple[int, int]:
        result = admin.list_offsets({here: spec}, **LISTED)[here].result(WAIT_S)
        return result.offset, result.timestamp

    assert offset(OffsetSpec.earliest()) == (0, -1)
    assert offset(OffsetSpec.latest()) == (4, -1)
    assert offset(OffsetSpec.max_timestamp()) == (1, 1_005_000)
    assert offset(OffsetSpec.for_timestamp(1_002_000)) == (1, 1_005_000)
    assert offset(OffsetSpec.for_timestamp(2_000_000)) == (-1, -1)


def test_deleted_records_are_gone_and_the_rest_stays(broker, admin, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    produce(broker, topic, numbered(10))
    here = TopicPartition(topic, 0)
    deleted = admin.delete_records([TopicPartition(topic, 0, 6)])[here].result(WAIT_S)
    assert deleted.low_watermark == 6
    assert [message.offset() for message in read(broker, topic, 4)] == [6, 7, 8, 9]
    beyond = admin.delete_records([TopicPartition(topic, 0, 11)])[here]
    assert refusal(beyond) == KafkaError.OFFSET_OUT_OF_RANGE
    everything = admin.delete_records([TopicPartition(topic, 0, -1)])[here].result(WAIT_S)
    assert everything.low_watermark == 10


def test_groups_are_listed_by_state_and_type(broker, admin, fresh) -> None:
    topic, group, alive = create_topic(broker, fresh("topic")), fresh("group"), fresh("alive")
    produce(broker, topic, numbered(1))
    emptied_group(broker, topic, group)
    with closing(consumer_of(broker, alive)) as consumer:
        consumer.subscribe([topic])
        take(consumer, 1)

        def listed(**filters) -> dict[str, ConsumerGroupState]:
            result = admin.list_consumer_groups(request_timeout=WAIT_S, **filters).result(WAIT_S)
            assert result.errors == []
            return {each.group_id: each.state for each in result.valid if each.group_id in (group, alive)}

        assert listed() == {group: ConsumerGroupState.EMPTY, alive: ConsumerGroupState.STABLE}
        assert listed(states={ConsumerGroupState.STABLE}) == {alive: ConsumerGroupState.STABLE}
        assert listed(states={ConsumerGroupState.DEAD}) == {}
        assert set(listed(types={ConsumerGroupType.CLASSIC})) == {group, alive}
        assert listed(types={ConsumerGroupType.CONSUMER}) == {}


def test_only_a_group_nobody_is_in_is_deleted(broker, admin, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), fresh("group")
    produce(broker, topic, numbered(1))
    with closing(consumer_of(broker, group)) as consumer:
        consumer.subscribe([topic])
        consumer.commit(message=take(consumer, 1)[0], asynchronous=False)
        assert refusal(admin.delete_consumer_groups([group])[group]) == KafkaError.NON_EMPTY_GROUP
    admin.delete_consumer_groups([group])[group].result(WAIT_S)
    assert refusal(admin.delete_consumer_groups([group])[group]) == KafkaError.GROUP_ID_NOT_FOUND
    with closing(consumer_of(broker, group)) as consumer:
        assert consumer.committed([TopicPartition(topic, 0)], timeout=WAIT_S)[0].offset < 0


def test_a_groups_offsets_are_listed_and_altered(broker, admin, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic"), partitions=2), fresh("group")
    emptied_group(broker, topic, group, offset=3)

    def offsets() -> dict[int, int]:
        asked = ConsumerGroupTopicPartitions(group)  # no partitions: all the group has
        answer = admin.list_consumer_group_offsets([asked])[group].result(WAIT_S)
        return {each.partition: each.offset for each in answer.topic_partitions}

    assert offsets() == {0: 3}
    wanted = [TopicPartition(topic, 0, 8), TopicPartition(topic, 1, 9)]
    request = ConsumerGroupTopicPartitions(group, wanted)
    admin.alter_consumer_group_offsets([request])[group].result(WAIT_S)
    assert offsets() == {0: 8, 1: 9}


def test_offsets_of_a_group_with_members_are_not_altered(broker, admin, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), fresh("group")
    produce(broker, topic, numbered(1))
    with closing(consumer_of(broker, group)) as consumer:
        consumer.subscribe([topic])
        take(consumer, 1)
        request = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 0)])
        answer = admin.alter_consumer_group_offsets([request])[group].result(WAIT_S)
        assert answer.topic_partitions[0].error.code() == KafkaError.UNKNOWN_MEMBER_ID


def test_a_group_nobody_knows_is_described_as_dead(admin, fresh) -> None:
    group = fresh("nobody")
    described = admin.describe_consumer_groups([group])[group].result(WAIT_S)
    assert (described.state, described.members) == (ConsumerGroupState.DEAD, [])
