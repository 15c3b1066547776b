"""kafka-python: idempotent by default, its own group protocol code, its own admin client."""

from __future__ import annotations

import time
from contextlib import closing

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic
from kafka.codec import has_gzip, has_lz4, has_snappy, has_zstd
from kafka.errors import (
    InvalidReplicationFactorError,
    MessageSizeTooLargeError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from kafka.structs import OffsetAndMetadata

from interop.confluent_io import as_sent, create_topic, numbered, produce, read, wait_until

WAIT_S = 20
HAS = {None: lambda: True, "gzip": has_gzip, "snappy": has_snappy, "lz4": has_lz4, "zstd": has_zstd}
CODECS = [
    pytest.param(codec, marks=pytest.mark.skipif(not has(), reason=f"kafka-python has no {codec} here"))
    for codec, has in HAS.items()
]
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def send(broker, topic: str, records, **config) -> list[int]:
    """Send in order; the offsets given."""
    with closing(KafkaProducer(bootstrap_servers=broker.address, linger_ms=5, **config)) as producer:
        futures = [
            producer.send(topic, r.value, r.key, partition=r.partition, headers=list(r.headers))
            for r in records
        ]
        return [future.get(WAIT_S).offset for future in futures]


def consumer_of(broker, *topics: str, **config) -> KafkaConsumer:
    defaults = {
        "bootstrap_servers": broker.address,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "heartbeat_interval_ms": 300,
    }
    return KafkaConsumer(*topics, **{**defaults, **config})


def take(consumer: KafkaConsumer, count: int) -> list:
    records = []
    deadline = time.monotonic() + WAIT_S
    while len(records) < count:
        assert time.monotonic() < deadline, f"{len(records)} of {count} records"
        # long, as in `sizes` below: it ends as soon as there are records
        for batch in consumer.poll(2_000, max_records=count - len(records)).values():
            records += batch
    return records


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_is_read_by_both_clients(broker, fresh, codec) -> None:
    topic = create_topic(broker, fresh("topic"))
    sent = numbered(300, size=100)
    assert send(broker, topic, sent, compression_type=codec) == list(range(300))
    with closing(consumer_of(broker, topic)) as consumer:
        assert [(r.key, r.value) for r in take(consumer, 300)] == [(r.key, r.value) for r in sent]
    assert [as_sent(message) for message in read(broker, topic, 300)] == sent


@pytest.mark.parametrize("codec", CODECS)
def test_what_librdkafka_wrote_is_read(broker, fresh, codec) -> None:
    topic = create_topic(broker, fresh("topic"))
    sent = numbered(300, size=100)
    produce(broker, topic, sent, compression_type=codec or "none")
    with closing(consumer_of(broker, topic)) as consumer:
        assert [record.value for record in take(consumer, 300)] == [record.value for record in sent]


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_every_level_of_acknowledgement_stores_the_records(broker, fresh, acks) -> None:
    topic = create_topic(broker, fresh("topic"))
    config = {"acks": acks, "enable_idempotence": False}
    with closing(KafkaProducer(bootstrap_servers=broker.address, **config)) as producer:
        for n in range(20):
            producer.send(topic, b"%d" % n, partition=0)
        producer.flush(WAIT_S)
    assert [message.value() for message in read(broker, topic, 20)] == [b"%d" % n for n in range(20)]


def test_a_record_too_large_is_refused(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"), config={"max.message.bytes": "1000"})
    with closing(KafkaProducer(bootstrap_servers=broker.address)) as producer:
        future = producer.send(topic, bytes(2_000), partition=0)
        with pytest.raises(MessageSizeTooLargeError):
            future.get(WAIT_S)


def test_a_group_goes_on_where_it_committed(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), fresh("group")
    here = TopicPartition(topic, 0)
    produce(broker, topic, numbered(10))
    with closing(consumer_of(broker, topic, group_id=group)) as consumer:
        take(consumer, 4)
        consumer.commit()
        assert consumer.committed(here) == 4
    with closing(consumer_of(broker, topic, group_id=group)) as consumer:
        assert take(consumer, 1)[0].offset == 4


def test_members_share_partitions_and_take_over(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic"), partitions=4), fresh("group")

    def sizes(*members: KafkaConsumer) -> list[int]:
        for member in members:
            # long: a poll that ends while a SyncGroup is under way can lose the assignment, on Apache Kafka
            # too (compat/kafka-python/FINDINGS.md)
            member.poll(500)
        return [len(member.assignment()) for member in members]

    with closing(consumer_of(broker, topic, group_id=group)) as one:
        wait_until(lambda: sizes(one) == [4], "one to hold all")
        with closing(consumer_of(broker, topic, group_id=group)) as two:
            wait_until(lambda: sizes(one, two) == [2, 2], "fair parts")
            assert not one.assignment() & two.assignment()
        wait_until(lambda: sizes(one) == [4], "one to hold all again")


def test_positions_ends_and_times_are_looked_up(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    here = TopicPartition(topic, 0)
    with closing(KafkaProducer(bootstrap_servers=broker.address)) as producer:
        for n in range(10):
            producer.send(topic, b"v", partition=0, timestamp_ms=1_000_000 + 1_000 * n).get(WAIT_S)
    with closing(consumer_of(broker)) as consumer:
        consumer.assign([here])
        assert consumer.beginning_offsets([here]) == {here: 0}
        assert consumer.end_offsets([here]) == {here: 10}
        found = consumer.offsets_for_times({here: 1_004_500})[here]
        assert (found.offset, found.timestamp) == (5, 1_005_000)
        consumer.seek_to_end(here)
        assert consumer.position(here) == 10
        consumer.seek(here, 8)
        assert [record.offset for record in take(consumer, 2)] == [8, 9]


@pytest.fixture
def admin(broker):
    with closing(KafkaAdminClient(bootstrap_servers=broker.address)) as client:
        yield client


def test_topics_partitions_and_configs_are_administered(broker, admin, fresh) -> None:
    topic = fresh("topic")
    made = NewTopic(topic, 2, 1, topic_configs={"retention.ms": "12345"})
    admin.create_topics([made])
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics([made])
    with pytest.raises(InvalidReplicationFactorError):
        admin.create_topics([NewTopic(fresh("bad"), 1, 3)])
    assert topic in admin.list_topics()
    admin.create_partitions({topic: NewPartitions(3)})
    wait_until(lambda: len(admin.describe_topics([topic])[0]["partitions"]) == 3, "three partitions")
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    assert "12345" in str(admin.describe_configs([resource]))
    admin.delete_topics([topic])
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.delete_topics([topic])


def test_groups_their_offsets_and_their_members_are_administered(broker, admin, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), fresh("group")
    here = TopicPartition(topic, 0)
    produce(broker, topic, numbered(10))
    with closing(consumer_of(broker, topic, group_id=group)) as consumer:
        take(consumer, 10)
        consumer.commit({here: OffsetAndMetadata(10, "done", -1)})
        assert group in str(admin.list_groups())
        described = str(admin.describe_groups([group]))
        assert "Stable" in described
        assert "'range'" in described
    offsets = admin.list_group_offsets({group: None})
    assert "offset=10" in str(offsets)
    admin.alter_group_offsets(group, {here: OffsetAndMetadata(4, "", -1)})
    assert "offset=4" in str(admin.list_group_offsets({group: None}))
    admin.delete_group_offsets(group, [here])
    assert "offset=4" not in str(admin.list_group_offsets({group: None}))
    with closing(consumer_of(broker, group_id=group)) as consumer:
        consumer.assign([here])
        consumer.commit({here: OffsetAndMetadata(1, "", -1)})
    assert admin.delete_groups([group]) == {group: "OK"}
    assert admin.delete_groups([group]) == {group: "GroupIdNotFoundError"}


def test_records_are_deleted_and_offsets_listed(broker, admin, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    here = TopicPartition(topic, 0)
    produce(broker, topic, numbered(10))
    admin.delete_records({here: 6})
    with closing(consumer_of(broker)) as consumer:
        assert consumer.beginning_offsets([here]) == {here: 6}


def test_the_cluster_its_versions_and_its_disks_are_described(broker, admin) -> None:
    cluster = admin.describe_cluster()
    assert [node["port"] for node in cluster["brokers"]] == [broker.port]
    assert admin.api_versions()
    assert admin.describe_log_dirs()
