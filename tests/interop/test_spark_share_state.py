"""What the tasks of kafka-share-state read, without Spark, of a state topic that a real broker has written."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from interop.broker_process import BrokerProcess
from interop.confluent_io import WAIT_S, create_topic, producer_of
from interop.test_share_librdkafka import set_group
from leaselog.admin import Admin, topic_id_text
from leaselog.client import AcknowledgeType, ShareConsumer
from leaselog.spark.state_options import StateOptions
from leaselog.spark.state_reader import StateReader, look_up_state_tasks

pytestmark = pytest.mark.all_on_kafka

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT


def rows(broker: BrokerProcess, group: str, **more: str) -> list[dict[str, Any]]:
    given = {"kafka.bootstrap.servers": broker.address, "kafka.share.group.id": group, "parallelism": "3"}
    options = StateOptions.of({**given, **more})
    reader = StateReader(options)
    tasks = look_up_state_tasks(options)
    assert 1 <= len(tasks) <= 3
    return [row for task in tasks for batch in reader.batches(task) for row in batch.to_pylist()]


def consume(
    broker: BrokerProcess, topic: str, group: str, outcomes: dict[int, list[AcknowledgeType]]
) -> None:
    """Says of each record, at each of its deliveries, what is to become of it."""
    with ShareConsumer(
        bootstrap_servers=broker.address, group_id=group, share_acknowledgement_mode="explicit"
    ) as consumer:
        consumer.subscribe([topic])
        left, deadline = sum(map(len, outcomes.values())), time.monotonic() + WAIT_S
        while left:
            assert time.monotonic() < deadline, f"{left} deliveries to come"
            for record in consumer.poll(0.5):
                consumer.acknowledge(record, outcomes[record.offset][(record.delivery_count or 1) - 1])
                left -= 1
            assert not any(consumer.commit_sync().values())


@pytest.mark.on_kafka
def test_the_topic_tells_what_became_of_each_record_and_how_often_it_was_tried(
    broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    topic, group = create_topic(broker, fresh("topic")), set_group(broker, fresh("group"))
    with Admin(broker.address) as admin:
        topic_id = admin.describe_topics([topic])[topic].topic_id
    producer = producer_of(broker)
    for number in range(10):
        producer.produce(topic, b"%d" % number)
    assert producer.flush(WAIT_S) == 0
    outcomes = {number: [ACCEPT] for number in range(10)}
    outcomes |= {4: [REJECT], 6: [RELEASE, RELEASE, ACCEPT], 7: [RELEASE, REJECT]}
    consume(broker, topic, group, outcomes)

    now = rows(broker, group, view="records")
    assert {(row["group_id"], row["topic"], row["partition"]) for row in now} == {(group, topic, 0)}
    told = sorted(
        (row["first_offset"], row["last_offset"], row["state"], row["delivery_count"]) for row in now
    )
    assert told == [
        (0, 3, "acknowledged", 1),
        (4, 4, "archived", 1),
        (5, 5, "acknowledged", 1),
        (6, 6, "acknowledged", 3),
        (7, 7, "archived", 2),
        (8, 9, "acknowledged", 1),
    ]
    log = sorted(rows(broker, group), key=lambda row: row["state_offset"])
    assert log[0]["kind"] == "snapshot"
    assert {row["kind"] for row in log} <= {"snapshot", "update"}
    assert all(abs(row["time"].timestamp() - time.time()) < 3_600 for row in log)
    retries = [row for row in log if row["state"] == "available"]
    assert {row["delivery_count"] for row in retries if row["first_offset"] <= 6 <= row["last_offset"]} == {
        1,
        2,
    }
    assert {row["topic_id"] for row in log} == {topic_id_text(topic_id)}

    with Admin(broker.address) as admin:
        admin.delete_topics([topic])
    gone = rows(broker, group)
    assert {row["topic"] for row in gone} == {None}
