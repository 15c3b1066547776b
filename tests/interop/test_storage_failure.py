"""A disk that refuses, for real: the kernel is told to let no file of the broker grow any further."""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from interop.broker_process import BrokerProcess
from interop.conftest import BrokerFactory

pytestmark = pytest.mark.only_leaselog("Apache Kafka stops the whole broker here")

LIMIT_BYTES = 3 << 20


def deliver(
    broker: BrokerProcess, topic: str, values: list[bytes], producer: Producer | None = None
) -> tuple[list[bytes], list[KafkaError]]:
    """By a producer that is connected already, or by one of its own."""
    producer = producer or Producer(
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
    tries = (deliver(broker, full, [b"again"]) for _ in range(20))  # the pauses have grown while it failed
    assert ([b"again"], []) in tries, "nobody has to restart it"
    broker.stop()
    broker.start()
    found = read_all(broker, full, len(delivered))
    assert found[: len(delivered)] == delivered
    assert set(found) <= {*values, b"again"}, "nothing is invented"


def test_a_crowd_of_connections_takes_no_descriptors_from_the_log(
    broker_factory: BrokerFactory, fresh: Callable[[str], str]
) -> None:
    broker = broker_factory({"log.segment.ms": "1000"})
    topics = [fresh("begun"), fresh("new")]
    admin = AdminClient({"bootstrap.servers": broker.address})
    for made in admin.create_topics([NewTopic(topic, 1) for topic in topics]).values():
        made.result(20)
    producer = Producer({"bootstrap.servers": broker.address, "message.timeout.ms": 10_000})
    producer.produce(topics[0], b"1")
    assert producer.flush(20) == 0
    limit = len(os.listdir(f"/proc/{broker.pid}/fd")) + 20
    resource.prlimit(broker.pid, resource.RLIMIT_NOFILE, (limit, limit))
    host, port = broker.address.rsplit(":", 1)
    crowd = [socket.create_connection((host, int(port))) for _ in range(3 * limit)]
    for topic in topics:  # one begins its next segment, the other its directory
        assert deliver(broker, topic, [b"2"], producer) == ([b"2"], [])
    for one in crowd:
        one.close()
    assert "few descriptors are left" in broker.log_tail()
    assert "takes no more writes" not in broker.log_tail()
