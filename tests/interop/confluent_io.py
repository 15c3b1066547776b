"""Producing and reading back with librdkafka, as plain values the tests compare."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from interop.broker_process import BrokerProcess

WAIT_S = 20.0

Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class Sent:
    """What a test hands to a producer, and what it expects back unchanged."""

    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = ()
    partition: int = 0
    timestamp_ms: int = 0  # zero: now


@dataclass(slots=True)
class Deliveries:
    """The delivery reports of one producer, in the order they came."""

    offsets: dict[int, list[int]] = field(default_factory=dict)
    errors: list[KafkaError] = field(default_factory=list)

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(error)
        else:
            self.offsets.setdefault(message.partition(), []).append(message.offset())

    @property
    def error_codes(self) -> list[int]:
        return [error.code() for error in self.errors]


def admin_of(broker: BrokerProcess) -> AdminClient:
    return _admin_at(broker.address)


@functools.lru_cache(maxsize=4)  # kept: an answer that is still awaited dies with its AdminClient
def _admin_at(address: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": address, "log_level": 2})  # quiet when its broker has ended


def create_topic(
    broker: BrokerProcess, name: str, partitions: int = 1, config: dict[str, str] | None = None
) -> str:
    """Created, and known to the broker, when this returns."""
    admin = admin_of(broker)
    admin.create_topics([NewTopic(name, partitions, 1, config=config or {})])[name].result(WAIT_S)
    wait_until(lambda: leaders_of(admin, name) == partitions, f"leaders of {name}")
    return name


def leaders_of(admin: AdminClient, name: str) -> int:
    topic = admin.list_topics(name, timeout=WAIT_S).topics[name]
    return sum(1 for partition in topic.partitions.values() if partition.leader >= 0)


def wait_until(condition: Any, what: str, wait_s: float = WAIT_S) -> None:
    """For effects another process brings about in its own time."""
    deadline = time.monotonic() + wait_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {wait_s} s for {what}"
        time.sleep(0.05)


def producer_of(broker: BrokerProcess, **config: Any) -> Producer:
    named = {key.replace("_", "."): value for key, value in config.items()}
    return Producer({"bootstrap.servers": broker.address, "linger.ms": 5, **named})


def produce(broker: BrokerProcess, topic: str, records: Iterable[Sent], **config: Any) -> Deliveries:
    """Produce and wait for every delivery report; options are librdkafka's with `_` for `.`."""
    producer = producer_of(broker, **config)
    reports = Deliveries()
    for record in records:
        producer.produce(
            topic,
            key=record.key,
            value=record.value,
            headers=list(record.headers),
            partition=record.partition,
            timestamp=record.timestamp_ms,
            on_delivery=reports,
        )
        producer.poll(0)
    assert producer.flush(WAIT_S) == 0, "delivery reports are missing"
    return reports


def consumer_of(broker: BrokerProcess, group: str, **config: Any) -> Consumer:
    named = {key if callable(value) else key.replace("_", "."): value for key, value in config.items()}
    defaults = {
        "bootstrap.servers": broker.address,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "session.timeout.ms": 10_000,
        "heartbeat.interval.ms": 300,  # members hear of a rebalance with their next heartbeat
        "check.crcs": True,
    }
    return Consumer({**defaults, **named})


def take(consumer: Consumer, count: int, wait_s: float = WAIT_S) -> list[Message]:
    """Exactly `count` messages; an error message, or fewer in time, fails the test."""
    messages: list[Message] = []
    deadline = time.monotonic() + wait_s
    while len(messages) < count:
        left = deadline - time.monotonic()
        assert left > 0, f"{len(messages)} of {count} messages in {wait_s} s"
        for message in consumer.consume(count - len(messages), min(left, 0.5)):
            assert message.error() is None, message.error()
            messages.append(message)
    return messages


def read(broker: BrokerProcess, topic: str, count: int, partitions: Sequence[int] = (0,)) -> list[Message]:
    """The first `count` messages of these partitions, without a group."""
    consumer = consumer_of(broker, "reads-without-a-group")
    try:
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
        return take(consumer, count)
    finally:
        consumer.close()


def as_sent(message: Message) -> Sent:
    """A message as the value it was made from, without the time."""
    headers = tuple(message.headers() or ())
    return Sent(message.key(), message.value(), headers, message.partition())


def numbered(count: int, partition: int = 0, size: int = 20) -> list[Sent]:
    """Records that are all different and compress well."""
    return [
        Sent(b"key-%d" % n, (b"value-%d-" % n).ljust(size, b"."), partition=partition) for n in range(count)
    ]
