"""kill -9 in the middle of a storm, again and again: what was acknowledged is there, and nothing else is."""

from __future__ import annotations

import os
import random
import time

import pytest
from confluent_kafka import OFFSET_BEGINNING, TopicPartition

from crash.conftest import TOLD
from crash.storm import Storm, judge
from interop.broker_process import BrokerProcess
from interop.confluent_io import WAIT_S, consumer_of, create_topic, take

DEATHS = int(os.environ.get("LEASELOG_CRASH_DEATHS", "20"))
PARTITIONS = 4


def everything(broker: BrokerProcess, topic: str) -> dict[int, list[tuple[int, bytes]]]:
    """Every record of the topic, by partition, from the start to the end the broker tells."""
    here = [TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(PARTITIONS)]
    consumer = consumer_of(broker, "judge")
    try:
        total = 0
        for each in here:
            low, high = consumer.get_watermark_offsets(each, timeout=WAIT_S)
            assert low == 0
            total += high
        consumer.assign(here)
        stored: dict[int, list[tuple[int, bytes]]] = {partition: [] for partition in range(PARTITIONS)}
        for message in take(consumer, total, wait_s=60):
            stored[message.partition()].append((message.offset(), message.value()))
        return stored
    finally:
        consumer.close()


@pytest.mark.timeout(400)  # side by side with Spark it takes twice as long
def test_no_acknowledged_record_is_lost_and_none_is_invented(
    broker_factory, fresh, seed, record_property
) -> None:
    chance = random.Random(seed)
    # small segments, so that deaths also meet a roll and recovery meets more than one file
    broker: BrokerProcess = broker_factory({"group.initial.rebalance.delay.ms": "0"})
    topic = create_topic(broker, fresh("topic"), PARTITIONS, {"segment.bytes": str(1 << 20)})
    # two storms live through every death; one more begins in each life and ends in the next
    storms = [Storm(n, broker.address, topic, PARTITIONS, idempotent=n % 2 == 0) for n in range(2)]
    for storm in storms:
        storm.start()
    for _ in range(DEATHS):
        number = len(storms)
        lives = Storm(number, broker.address, topic, PARTITIONS, idempotent=number % 2 == 0)
        lives.start()
        time.sleep(chance.uniform(0.2, 1.2))  # the moment of death is the point of the test
        broker.kill()
        broker.start()
        lives.stop()
        storms.append(lives)
    for storm in storms[:2]:
        storm.stop()
    counts = judge(storms, everything(broker, topic))
    record_property(TOLD, f"{DEATHS} deaths, {dict(counts)}")
    assert counts["acknowledged"] > 1_000
