"""A disk that refuses, for real: the kernel is told to let no file of the broker grow any further."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from interop.broker_process import BrokerProcess
from interop.conftest import BrokerFactory

pytestmark = pytest.mark.only_leaselog("Apache Kafka stops the whole broker here")

LIMIT_BYTES = 3 << 20


def deliver(broker: BrokerProcess, topic: str, values: list[bytes]) -> tuple[list[bytes], list[KafkaError]]:
    producer = Producer(
        {
            "bootstrap.servers": broker.address,
            "acks": "all",
            "message.timeout.ms": 3000,
            "batch.num.messages": 1,
        }
    )
    delivered, failed = [], []

    def report(error: KafkaError | None, message: object) -> None:
        if error is None:
            delivered.append(message.value())  # type: ignore[attr-defined]
        else:
            failed.append(error)

    for value in values:
        producer.produce(topic, value, on_delivery=report)
    producer.flush(30)
    return delivered, failed


def read_all(broker: BrokerProcess, topic: str, count: int) -> list[bytes]:
    consumer = Consumer(
        {"bootstrap.servers": broker.address, "group.id": "reader", "enable.partition.eof": True}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: list[bytes] = []
    while (message := consumer.poll(20)) is not None and message.error() is None:
        values.append(message.value())
    consumer.close()
    assert len(values) >= count
    return values


@pytest.mark.parametrize("durability", ["fsync", "os"])
def test_a_full_disk_fails_the_writes_and_keeps_what_was_there(
    broker_factory: BrokerFactory, fresh: Callable[[str], str], durability: str
) -> None:
    broker = broker_factory({"durability": durability})
    full, other = fresh("full"), fresh("other")
    admin = AdminClient({"bootstrap.servers": broker.address})
    for made in admin.create_topics([NewTopic(full, 1), NewTopic(other, 1)]).values():
        made.result(20)
    values = [i.to_bytes(4, "big") + os.urandom(100_000) for i in range(40)]

    resource.prlimit(broker.pid, resource.RLIMIT_FSIZE, (LIMIT_BYTES, resource.RLIM_INFINITY))
    delivered, failed = deliver(broker, full, values)
    assert delivered
    assert failed
    assert len(delivered) + len(failed) == len(values)
    assert read_all(broker, full, len(delivered))[: len(delivered)] == delivered, (
        "what was there can still be read"
    )
    assert "KAFKA_STORAGE_ERROR" in broker.log_tail() or "takes no more writes" in broker.log_tail(), "loudly"

    assert deliver(broker, other, [b"next door"]) == ([b"next door"], []), "another partition is not affected"

    resource.prlimit(broker.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    broker.stop()
    broker.start()
    found = read_all(broker, full, len(delivered))
    assert found[: len(delivered)] == delivered
    assert set(found) <= set(values), "nothing is invented"
    assert deliver(broker, full, [b"again"]) == ([b"again"], []), "after a restart there is room again"
