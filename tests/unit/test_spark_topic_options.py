"""Options of kafka-topic: what is taken as Spark's own Kafka source takes it, and what is refused by name."""

from __future__ import annotations

import pytest

from leaselog.client import ConfigError
from leaselog.model import TopicPartition
from leaselog.spark.topic_options import TopicReadOptions, TopicWriteOptions
from leaselog.spark.topic_range import EARLIEST_EDGE, LATEST_EDGE, AtTime, Offsets
from leaselog.spark.topic_writer import check_columns

SERVERS = {"kafka.bootstrap.servers": "host:9092"}
READ = {**SERVERS, "subscribe": "t"}


def test_a_topic_is_read_from_its_beginning_to_its_end_unless_told_otherwise() -> None:
    options = TopicReadOptions.of({**SERVERS, "subscribe": "b, a,a"})
    assert options.topics == {"a": None, "b": None}
    assert (options.start, options.end) == (EARLIEST_EDGE, LATEST_EDGE)
    assert options.fail_on_data_loss
    assert not options.include_headers
    assert options.parallelism >= 1


def test_offsets_are_spelled_as_in_sparks_own_source() -> None:
    options = TopicReadOptions.of({
        **READ,
        "STARTINGOFFSETS": '{"t": {"0": 23, "1": -2}}',
        "endingOffsets": '{"t": {"0": -1, "1": 50}}',
    })  # fmt: skip
    one, other = TopicPartition("t", 0), TopicPartition("t", 1)
    assert options.start == Offsets({one: 23, other: EARLIEST_EDGE})
    assert options.end == Offsets({one: LATEST_EDGE, other: 50})
    assert TopicReadOptions.of({**READ, "startingOffsets": "Earliest", "endingOffsets": "latest"}).end is (
        LATEST_EDGE
    )


def test_partitions_and_times_can_be_named() -> None:
    options = TopicReadOptions.of({
        **SERVERS,
        "assign": '{"b": [2, 0, 2], "a": [1]}',
        "startingTimestamp": "1700000000000",
    })  # fmt: skip
    assert options.topics == {"a": (1,), "b": (0, 2)}
    assert options.start == AtTime(1_700_000_000_000)


def test_sparks_name_for_the_number_of_tasks_is_taken() -> None:
    assert TopicReadOptions.of({**READ, "minPartitions": "7"}).parallelism == 7
    assert TopicReadOptions.of({**READ, "parallelism": "7"}).parallelism == 7


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "subscribe is missing"),
        ({"subscribe": "t", "assign": '{"t": [0]}'}, "exclude each other"),
        ({"subscribe": "t", "startingOffsets": "1", "startingTimestamp": "1"}, "exclude each other"),
        ({"subscribe": "t", "parallelism": "2", "minPartitions": "2"}, "give one of them"),
        ({"subscribe": "t", "startingOffsets": "latest"}, "cannot begin with latest"),
        ({"subscribe": "t", "endingOffsets": "earliest"}, "end with earliest"),
        ({"subscribe": "t", "startingOffsets": '{"t": {"0": -1}}'}, "cannot begin with latest"),
        ({"subscribe": "t", "endingOffsets": '{"t": {"0": -2}}'}, "end with earliest"),
        ({"subscribe": "t", "startingOffsets": '{"t": {"0": -3}}'}, "partition 0 of t"),
        ({"subscribe": "t", "startingOffsets": '{"t": {"0": true}}'}, "partition 0 of t"),
        ({"subscribe": "t", "startingOffsets": '{"t": {"x": 1}}'}, "partition x of t"),
        ({"subscribe": "t", "startingOffsets": '{"t": [1]}'}, "for topic t"),
        ({"subscribe": "t", "startingOffsets": "begin"}, "expected JSON"),
        ({"subscribe": "t", "startingOffsets": "[1]"}, "expected a JSON object"),
        ({"subscribe": "t", "startingTimestamp": "yesterday"}, "milliseconds since 1970"),
        ({"assign": '{"t": []}'}, "expected partitions"),
        ({"assign": '{"t": [-1]}'}, "expected partitions"),
        ({"subscribe": "t", "subscribePattern": "a.*"}, "use|name the topics"),
        ({"subscribe": "t", "startingOffsetsByTimestamp": "{}"}, "startingTimestamp"),
        ({"subscribe": "t", "maxOffsetsPerTrigger": "5"}, "whole range"),
        ({"subscribe": "t", "kafka.group.id": "g"}, "without a group"),
        ({"subscribe": "t", "kafka.isolation.level": "read_committed"}, "every record is read"),
        ({"subscribe": "t", "kafka.security.protocol": "TLS"}, "expected one of plaintext, ssl"),
        ({"subscribe": "t", "kafka.ssl.key.pasword": "x"}, "not an option of kafka-topic"),
        ({"subscribe": "t", "minPartition": "x"}, "minPartitions?"),
    ],
)
def test_options_of_reading_that_would_lie_are_refused_by_name(given: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        TopicReadOptions.of({**SERVERS, **given})


def test_options_of_the_producer_are_passed_on() -> None:
    options = TopicWriteOptions.of({
        **SERVERS,
        "topic": "t",
        "kafka.linger.ms": "50",
        "checkpointLocation": "/x",
    })  # fmt: skip
    assert options.topic == "t"
    assert options.producer_config().settings.limits.linger_ms == 50
    assert options.producer_config().settings.is_idempotent


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("kafka.acks", "0", "every in-sync replica"),
        ("kafka.enable.idempotence", "false", "always on"),
        ("kafka.transactional.id", "x", "no transactions"),
        ("kafka.linger.mss", "5", "linger.ms"),
        ("includeHeaders", "true", "the column headers"),
        ("topics", "t", "topic?"),
    ],
)
def test_options_of_writing_that_would_lie_are_refused_by_name(name: str, value: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        TopicWriteOptions.of({**SERVERS, name: value})


def test_what_says_no_more_than_the_truth_may_be_said() -> None:
    plain = {"kafka.security.protocol": "PLAINTEXT"}
    TopicReadOptions.of({**READ, **plain, "kafka.isolation.level": "read_uncommitted"})
    options = TopicWriteOptions.of({
        **SERVERS,
        **plain,
        "kafka.acks": "all",
        "kafka.enable.idempotence": "true",
    })  # fmt: skip
    assert options.producer_config().settings.is_idempotent


def test_columns_are_those_of_sparks_own_sink() -> None:
    headers = "array<struct<key:string,value:binary>>"
    check_columns({"value": "binary", "topic": "string"}, None)
    check_columns({"key": "string", "value": "string", "partition": "int", "headers": headers}, "t")
    for columns, topic, says in [
        ({"key": "binary"}, "t", "column value"),
        ({"value": "binary"}, None, "option topic"),
        ({"value": "int"}, "t", "binary or string"),
        ({"value": "binary", "partition": "bigint"}, "t", "partition is bigint"),
        ({"value": "binary", "headers": "map<string,binary>"}, "t", "headers"),
    ]:
        with pytest.raises(ConfigError, match=says):
            check_columns(columns, topic)
