"""librdkafka's producer: what it sends is what is stored, and what may not be stored is refused by name."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, KafkaError

from interop.confluent_io import Sent, as_sent, create_topic, numbered, produce, read

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_comes_back_as_sent(broker, fresh, codec) -> None:
    topic = create_topic(broker, fresh("topic"))
    sent = numbered(500, size=200)
    reports = produce(broker, topic, sent, compression_type=codec)
    assert reports.errors == []
    assert reports.offsets == {0: list(range(500))}
    assert [as_sent(message) for message in read(broker, topic, 500)] == sent


@pytest.mark.parametrize("codec", CODECS)
def test_a_topic_that_names_a_codec_stores_the_records_of_a_producer_that_uses_another(
    broker, fresh, codec
) -> None:
    topic = create_topic(broker, fresh("topic"), config={"compression.type": "lz4"})
    sent = numbered(100)
    assert produce(broker, topic, sent, compression_type=codec).offsets == {0: list(range(100))}
    assert [as_sent(message) for message in read(broker, topic, 100)] == sent


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_level_of_acknowledgement_stores_the_records(broker, fresh, acks) -> None:
    topic = create_topic(broker, fresh("topic"))
    sent = numbered(50)
    reports = produce(broker, topic, sent, acks=acks)
    assert reports.errors == []
    if acks != "0":  # without an answer the producer cannot know its offsets
        assert reports.offsets == {0: list(range(50))}
    assert [as_sent(message) for message in read(broker, topic, 50)] == sent


def test_an_idempotent_producer_writes_every_partition_densely(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"), partitions=3)
    sent = [record for partition in range(3) for record in numbered(400, partition)]
    reports = produce(broker, topic, sent, enable_idempotence=True, batch_num_messages=20)
    assert reports.errors == []
    assert reports.offsets == {partition: list(range(400)) for partition in range(3)}


def test_idempotent_producers_share_a_partition(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    for _ in range(3):
        assert produce(broker, topic, numbered(20), enable_idempotence=True).errors == []
    assert [message.offset() for message in read(broker, topic, 60)] == list(range(60))


def test_null_and_empty_keys_and_values_stay_apart(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    sent = [Sent(None, None), Sent(b"", b""), Sent(None, b""), Sent(b"", None), Sent(b"k", None)]
    assert produce(broker, topic, sent).errors == []
    assert [as_sent(message) for message in read(broker, topic, 5)] == sent


def test_headers_keep_their_order_their_repeats_and_their_nulls(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    headers = (("b", b"1"), ("a", None), ("b", b""), ("größe", b"\x00\xff"), ("b", b"1"))
    assert produce(broker, topic, [Sent(b"k", b"v", headers)]).errors == []
    assert as_sent(read(broker, topic, 1)[0]).headers == headers


def test_the_producers_timestamps_are_kept(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    now_ms = int(time.time() * 1000)
    times = [now_ms - 5_000, now_ms - 9_000, now_ms - 1, 1]  # not in order: the producer's affair
    assert produce(broker, topic, [Sent(value=b"v", timestamp_ms=at) for at in times]).errors == []
    assert [message.timestamp() for message in read(broker, topic, 4)] == [
        (TIMESTAMP_CREATE_TIME, at) for at in times
    ]


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_log_append_time_overrides_the_producers_timestamps(broker, fresh, codec) -> None:
    topic = create_topic(broker, fresh("topic"), config={"message.timestamp.type": "LogAppendTime"})
    before_ms = int(time.time() * 1000)
    assert produce(broker, topic, [Sent(value=b"v", timestamp_ms=5)] * 3, compression_type=codec).errors == []
    after_ms = int(time.time() * 1000)
    for kind, at_ms in (message.timestamp() for message in read(broker, topic, 3)):
        assert kind == TIMESTAMP_LOG_APPEND_TIME
        assert before_ms <= at_ms <= after_ms


def test_a_timestamp_too_far_in_the_future_is_refused(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    in_two_hours_ms = int(time.time() * 1000) + 2 * 3_600_000
    reports = produce(broker, topic, [Sent(value=b"v", timestamp_ms=in_two_hours_ms)])
    assert reports.error_codes == [KafkaError.INVALID_TIMESTAMP]


def test_a_record_of_nearly_the_largest_size_is_stored(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    # max.message.bytes is 1048588 for the batch; its header, the record's and the key take the rest
    sent = [Sent(b"k", bytes(n % 251 for n in range(1_048_400)))]
    reports = produce(broker, topic, sent, message_max_bytes=2_000_000)
    assert reports.errors == []
    assert [as_sent(message) for message in read(broker, topic, 1)] == sent


def test_a_record_larger_than_the_topic_allows_is_refused(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"), config={"max.message.bytes": "2000"})
    reports = produce(broker, topic, [Sent(value=b"x" * 3_000)])
    assert reports.error_codes == [KafkaError.MSG_SIZE_TOO_LARGE]
    assert produce(broker, topic, [Sent(value=b"x" * 1_000)]).offsets == {0: [0]}


def test_a_topic_may_allow_more_than_the_default_size(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"), config={"max.message.bytes": "5000000"})
    sent = [Sent(value=bytes(4_000_000)), Sent(value=b"small")]
    assert produce(broker, topic, sent, message_max_bytes=5_000_000).errors == []
    assert [as_sent(message) for message in read(broker, topic, 2)] == sent


def test_a_compacted_topic_refuses_records_without_a_key(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"), config={"cleanup.policy": "compact"})
    assert produce(broker, topic, [Sent(None, b"v")]).error_codes == [KafkaError.INVALID_RECORD]
    assert produce(broker, topic, [Sent(b"k", b"v")]).errors == []


def test_an_unknown_topic_is_reported_where_topics_may_not_be_made(broker, fresh) -> None:
    reports = produce(
        broker,
        fresh("topic"),
        [Sent(value=b"v")],
        allow_auto_create_topics=False,
        topic_metadata_propagation_max_ms=200,
        message_timeout_ms=3_000,
    )
    assert reports.error_codes == [KafkaError.UNKNOWN_TOPIC_OR_PART]


def test_an_unknown_partition_is_reported(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    reports = produce(broker, topic, [Sent(value=b"v", partition=7)], message_timeout_ms=3_000)
    assert reports.error_codes == [KafkaError._UNKNOWN_PARTITION]


def test_a_topic_is_made_when_a_producer_first_asks_for_it(broker, fresh) -> None:
    topic = fresh("topic")
    assert produce(broker, topic, [Sent(value=b"v")]).offsets == {0: [0]}
    assert read(broker, topic, 1)[0].value() == b"v"


def test_ten_thousand_records_in_four_partitions_come_back_equal(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"), partitions=4)
    sent = [record for partition in range(4) for record in numbered(2_500, partition, size=120)]
    assert produce(broker, topic, sent, compression_type="zstd", batch_num_messages=97).errors == []
    back = read(broker, topic, 10_000, partitions=range(4))
    by_partition = {p: [as_sent(m) for m in back if m.partition() == p] for p in range(4)}
    assert by_partition == {p: numbered(2_500, p, size=120) for p in range(4)}
