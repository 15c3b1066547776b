"""librdkafka's consumer without a group's rebalancing: positions, look-ups, waiting, committed offsets."""

from __future__ import annotations

import time
from contextlib import closing

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    Consumer,
    KafkaError,
    KafkaException,
    TopicPartition,
)

from interop.confluent_io import (
    WAIT_S,
    Sent,
    admin_of,
    consumer_of,
    create_topic,
    numbered,
    produce,
    producer_of,
    take,
    wait_until,
)


@pytest.fixture
def topic(broker, fresh) -> str:
    """One partition of ten records, a second apart."""
    name = create_topic(broker, fresh("topic"))
    sent = [Sent(b"key-%d" % n, b"value-%d" % n, timestamp_ms=1_000_000 + 1_000 * n) for n in range(10)]
    assert produce(broker, name, sent).errors == []
    return name


def values(messages) -> list[bytes]:
    return [message.value() for message in messages]


def next_error(consumer: Consumer) -> KafkaError:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None:
            assert message.error() is not None, message.value()
            return message.error()
    raise AssertionError("no error came")


def test_assign_starts_where_it_says(broker, topic, fresh) -> None:
    with closing(consumer_of(broker, fresh("group"))) as consumer:
        consumer.assign([TopicPartition(topic, 0, 7)])
        assert values(take(consumer, 3)) == [b"value-7", b"value-8", b"value-9"]


def test_seek_goes_back_and_forth(broker, topic, fresh) -> None:
    with closing(consumer_of(broker, fresh("group"))) as consumer:
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        assert values(take(consumer, 10))[0] == b"value-0"
        consumer.seek(TopicPartition(topic, 0, 2))
        assert values(take(consumer, 1)) == [b"value-2"]
        consumer.seek(TopicPartition(topic, 0, 9))
        assert values(take(consumer, 1)) == [b"value-9"]


def test_the_end_is_where_new_records_appear(broker, topic, fresh) -> None:
    with closing(consumer_of(broker, fresh("group"), enable_partition_eof=True)) as consumer:
        consumer.assign([TopicPartition(topic, 0, OFFSET_END)])
        assert next_error(consumer).code() == KafkaError._PARTITION_EOF
        assert produce(broker, topic, [Sent(value=b"new")]).offsets == {0: [10]}
        assert values(take(consumer, 1)) == [b"new"]


def test_reset_to_earliest_reads_everything(broker, topic, fresh) -> None:
    with closing(consumer_of(broker, fresh("group"), auto_offset_reset="earliest")) as consumer:
        consumer.subscribe([topic])
        assert len(take(consumer, 10)) == 10


def test_reset_to_latest_reads_only_what_comes_after(broker, topic, fresh) -> None:
    config = {"auto_offset_reset": "latest", "enable_partition_eof": True}
    with closing(consumer_of(broker, fresh("group"), **config)) as consumer:
        consumer.subscribe([topic])
        assert next_error(consumer).code() == KafkaError._PARTITION_EOF
        produce(broker, topic, [Sent(value=b"new")])
        assert values(take(consumer, 1)) == [b"new"]


def test_without_a_reset_a_group_without_offsets_is_told_so(broker, topic, fresh) -> None:
    with closing(consumer_of(broker, fresh("group"), auto_offset_reset="error")) as consumer:
        consumer.subscribe([topic])
        assert next_error(consumer).code() == KafkaError._AUTO_OFFSET_RESET


@pytest.mark.parametrize("offset", [11, 5_000])
def test_an_offset_beyond_the_end_falls_back_to_the_reset(broker, topic, fresh, offset) -> None:
    with closing(consumer_of(broker, fresh("group"), auto_offset_reset="earliest")) as consumer:
        consumer.assign([TopicPartition(topic, 0, offset)])
        assert values(take(consumer, 1)) == [b"value-0"]


def test_watermarks_say_where_the_log_starts_and_ends(broker, topic, fresh) -> None:
    with closing(consumer_of(broker, fresh("group"))) as consumer:
        here = TopicPartition(topic, 0)
        assert consumer.get_watermark_offsets(here, timeout=WAIT_S) == (0, 10)
        admin_of(broker).delete_records([TopicPartition(topic, 0, 4)])[here].result(WAIT_S)
        assert consumer.get_watermark_offsets(here, timeout=WAIT_S) == (4, 10)


@pytest.mark.parametrize(
    ("at_ms", "offset"),
    [(0, 0), (1_000_000, 0), (1_000_001, 1), (1_004_500, 5), (1_009_000, 9), (1_009_001, OFFSET_END)],
)
def test_offsets_for_times_finds_the_first_record_not_before(broker, topic, fresh, at_ms, offset) -> None:
    with closing(consumer_of(broker, fresh("group"))) as consumer:
        found = consumer.offsets_for_times([TopicPartition(topic, 0, at_ms)], timeout=WAIT_S)
        assert [(each.offset, each.error) for each in found] == [(offset, None)]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_offsets_for_times_looks_inside_compressed_batches(broker, fresh, codec) -> None:
    topic = create_topic(broker, fresh("topic"))
    sent = [Sent(value=b"v%d" % n, timestamp_ms=1_000_000 + n) for n in range(100)]
    assert produce(broker, topic, sent, compression_type=codec, linger_ms=100).errors == []
    with closing(consumer_of(broker, fresh("group"))) as consumer:
        found = consumer.offsets_for_times([TopicPartition(topic, 0, 1_000_063)], timeout=WAIT_S)
        assert [each.offset for each in found] == [63]


def test_a_paused_partition_gives_nothing_while_its_neighbour_goes_on(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"), partitions=2)
    produce(broker, topic, numbered(10, 0) + numbered(10, 1))
    with closing(consumer_of(broker, fresh("group"))) as consumer:
        consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in (0, 1)])
        consumer.pause([TopicPartition(topic, 0)])
        assert {message.partition() for message in take(consumer, 10)} == {1}
        assert consumer.consume(1, 0.3) == []
        consumer.resume([TopicPartition(topic, 0)])
        assert [(m.partition(), m.offset()) for m in take(consumer, 10)] == [(0, n) for n in range(10)]


@pytest.mark.alone
def test_a_waiting_fetch_answers_as_soon_as_a_record_arrives(broker, topic, fresh) -> None:
    config = {"fetch_wait_max_ms": 4_000, "enable_partition_eof": True}
    with closing(consumer_of(broker, fresh("group"), **config)) as consumer:
        consumer.assign([TopicPartition(topic, 0, 10)])
        assert next_error(consumer).code() == KafkaError._PARTITION_EOF
        assert consumer.poll(0.3) is None  # by now a fetch waits at the broker
        started = time.monotonic()
        produce(broker, topic, [Sent(value=b"woken")])
        assert values(take(consumer, 1)) == [b"woken"]
        assert time.monotonic() - started < 2


def test_fetch_min_bytes_waits_for_enough_or_for_its_time(broker, topic, fresh) -> None:
    config = {"fetch_min_bytes": 50_000, "fetch_wait_max_ms": 1_000}
    with closing(consumer_of(broker, fresh("group"), **config)) as consumer:
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        assert len(take(consumer, 10)) == 10  # too few bytes: they come when the time is up


def test_a_batch_larger_than_the_fetch_limits_is_delivered_all_the_same(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    produce(broker, topic, [Sent(value=bytes(300_000)), Sent(value=b"after")])
    config = {"fetch_max_bytes": 1_000, "max_partition_fetch_bytes": 1_000, "message_max_bytes": 1_000}
    with closing(consumer_of(broker, fresh("group"), **config)) as consumer:
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        assert [len(message.value()) for message in take(consumer, 2)] == [300_000, 5]


def test_reading_committed_sees_the_records_of_producers_without_transactions(broker, topic, fresh) -> None:
    with closing(consumer_of(broker, fresh("group"), isolation_level="read_committed")) as consumer:
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        assert len(take(consumer, 10)) == 10


def test_a_synchronous_commit_is_where_the_next_member_starts(broker, topic, fresh) -> None:
    group = fresh("group")
    with closing(consumer_of(broker, group)) as consumer:
        consumer.subscribe([topic])
        fourth = take(consumer, 4)[-1]
        committed = consumer.commit(message=fourth, asynchronous=False)
        assert [(each.offset, each.error) for each in committed] == [(4, None)]
    with closing(consumer_of(broker, group)) as consumer:
        consumer.subscribe([topic])
        assert values(take(consumer, 6))[0] == b"value-4"


def test_an_asynchronous_commit_reports_to_its_callback(broker, topic, fresh) -> None:
    reports = []
    report = {"on_commit": lambda error, offsets: reports.append((error, offsets))}
    with closing(consumer_of(broker, fresh("group"), **report)) as consumer:
        consumer.subscribe([topic])
        consumer.commit(message=take(consumer, 4)[-1], asynchronous=True)
        wait_until(lambda: (consumer.poll(0.1), reports)[1], "the commit's report")
        error, offsets = reports[0]
        assert error is None
        assert [each.offset for each in offsets] == [4]


def test_automatic_commits_happen_on_close(broker, topic, fresh) -> None:
    group = fresh("group")
    config = {"enable_auto_commit": True, "auto_commit_interval_ms": 60_000}
    with closing(consumer_of(broker, group, **config)) as consumer:
        consumer.subscribe([topic])
        take(consumer, 10)
    with closing(consumer_of(broker, group)) as consumer:
        assert [each.offset for each in consumer.committed([TopicPartition(topic, 0)], WAIT_S)] == [10]


def test_a_commit_keeps_its_metadata_and_leader_epoch(broker, topic, fresh) -> None:
    group = fresh("group")
    with closing(consumer_of(broker, group)) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.commit(
            offsets=[TopicPartition(topic, 0, 3, metadata="why not", leader_epoch=0)], asynchronous=False
        )
    with closing(consumer_of(broker, group)) as consumer:
        (found,) = consumer.committed([TopicPartition(topic, 0)], timeout=WAIT_S)
        assert (found.offset, found.metadata, found.leader_epoch) == (3, "why not", 0)


def test_nothing_committed_is_no_offset(broker, topic, fresh) -> None:
    with closing(consumer_of(broker, fresh("group"))) as consumer:
        (found,) = consumer.committed([TopicPartition(topic, 0)], timeout=WAIT_S)
        assert (found.offset, found.error) == (OFFSET_INVALID, None)


def test_a_commit_with_too_much_metadata_is_refused(broker, topic, fresh) -> None:
    with closing(consumer_of(broker, fresh("group"))) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        with pytest.raises(KafkaException) as raised:
            consumer.commit(offsets=[TopicPartition(topic, 0, 3, metadata="x" * 5_000)], asynchronous=False)
        assert raised.value.args[0].code() == KafkaError.OFFSET_METADATA_TOO_LARGE


def test_a_subscription_to_a_topic_nobody_made_reports_it(broker, fresh) -> None:
    with closing(consumer_of(broker, fresh("group"))) as consumer:
        consumer.subscribe([fresh("nowhere")])
        assert next_error(consumer).code() == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_a_reader_follows_a_topic_through_its_deletion_and_return(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    produce(broker, topic, [Sent(value=b"first life")])
    admin_of(broker).delete_topics([topic])[topic].result(WAIT_S)
    wait_until(lambda: topic not in admin_of(broker).list_topics(timeout=WAIT_S).topics, "deletion")
    create_topic(broker, topic)
    produce(broker, topic, [Sent(value=b"second life")])
    with closing(consumer_of(broker, fresh("group"))) as consumer:
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        (message,) = take(consumer, 1)
        assert (message.offset(), message.value()) == (0, b"second life")


def test_a_producer_and_a_consumer_keep_going_for_many_small_requests(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    producer = producer_of(broker, linger_ms=0)
    with closing(consumer_of(broker, fresh("group"))) as consumer:
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        for n in range(200):
            producer.produce(topic, b"%d" % n, partition=0)
            assert producer.flush(WAIT_S) == 0
            assert values(take(consumer, 1)) == [b"%d" % n]
