"""What the tasks of kafka-topic do, without Spark, against a real broker: rows in, the same rows out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from interop.broker_process import BrokerProcess
from leaselog.admin import Admin, NewTopic
from leaselog.model import TopicPartition
from leaselog.spark.range_reader import read_ranges
from leaselog.spark.topic_lookup import look_up_tasks, reader_of
from leaselog.spark.topic_options import TopicReadOptions, TopicWriteOptions
from leaselog.spark.topic_writer import NotWritten, write_rows

pytestmark = pytest.mark.all_on_kafka


def make_topic(broker: BrokerProcess, topic: str, **configs: str) -> None:
    with Admin(broker.address) as admin:
        admin.create_topics([NewTopic(topic, partitions=2, configs=configs)])


def write(broker: BrokerProcess, topic: str | None, *batches: dict[str, Any], **more: str) -> int:
    given = {"kafka.bootstrap.servers": broker.address, **({"topic": topic} if topic else {}), **more}
    return write_rows(TopicWriteOptions.of(given), [pa.RecordBatch.from_pydict(batch) for batch in batches])


def read(broker: BrokerProcess, topic: str, **more: str) -> list[dict[str, Any]]:
    given = {"kafka.bootstrap.servers": broker.address, "subscribe": topic, "includeHeaders": "true", **more}
    options = TopicReadOptions.of(given)
    tasks = look_up_tasks(options)
    return [
        row for task in tasks for batch in read_ranges(reader_of(options), task) for row in batch.to_pylist()
    ]


def test_rows_that_were_written_are_read_in_the_same_order_from_any_number_of_tasks(
    broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    topic = fresh("topic")
    make_topic(broker, topic)
    first = {"key": ["a", None], "value": [b"1", None], "partition": pa.array([0, 0], pa.int32())}
    second = {
        "value": [b"%d" % n for n in range(2, 500)],
        "topic": [topic] * 498,
        "headers": [[{"key": "h", "value": b"x"}, {"key": "", "value": None}]] * 498,
    }
    assert write(broker, topic, first) == 2
    assert write(broker, None, second) == 498
    rows = read(broker, topic, parallelism="7")
    begun = [row for row in rows if row["partition"] == 0][:2]
    assert [(row["key"], row["value"], row["headers"]) for row in begun] == [
        (b"a", b"1", None),
        (None, None, None),
    ]
    rest = [row for row in rows if row["headers"]]
    assert sorted(int(row["value"]) for row in rest) == list(range(2, 500))
    assert all(row["headers"] == second["headers"][0] for row in rest)
    for partition in (0, 1):
        offsets = [row["offset"] for row in rows if row["partition"] == partition]
        assert offsets == list(range(len(offsets)))
        values = [int(row["value"]) for row in rest if row["partition"] == partition]
        assert values == sorted(values)


def test_what_the_broker_refuses_fails_the_task(broker: BrokerProcess, fresh: Callable[[str], str]) -> None:
    topic = fresh("topic")
    make_topic(broker, topic, **{"max.message.bytes": "1000"})
    with pytest.raises(NotWritten, match=f"1 records for {topic}-.*MESSAGE_TOO_LARGE"):
        write(broker, topic, {"value": [b"x" * 2_000]})
    with pytest.raises(ValueError, match="a row without a topic"):
        write(broker, None, {"value": [b"x"], "topic": pa.array([None], pa.string())})
    assert read(broker, topic) == []


def test_records_that_were_deleted_are_a_loss_that_may_be_accepted(
    broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    topic = fresh("topic")
    make_topic(broker, topic)
    write(
        broker, topic, {"value": [b"%d" % n for n in range(20)], "partition": pa.array([0] * 20, pa.int32())}
    )
    options = TopicReadOptions.of({"kafka.bootstrap.servers": broker.address, "subscribe": topic})
    planned = look_up_tasks(options)
    with Admin(broker.address) as admin:
        admin.delete_records({TopicPartition(topic, 0): 15})
    named = {"startingOffsets": f'{{"{topic}": {{"0": 5, "1": -2}}}}'}
    with pytest.raises(Exception, match=f"{topic}-0 begins at 15, asked for from 5"):
        read(broker, topic, **named)
    assert [int(row["value"]) for row in read(broker, topic, **named, failOnDataLoss="false")] == [
        15,
        16,
        17,
        18,
        19,
    ]
    with pytest.raises(Exception, match="should be read and are gone: the log begins at 15"):
        [list(read_ranges(reader_of(options), task)) for task in planned]
