"""librdkafka's transactional producer: all or nothing across partitions and offsets, also when the broker is killed."""

from __future__ import annotations

import threading
import time

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from interop.confluent_io import create_topic

PATIENCE_S = 30.0


def a_producer(broker, name: str, **config) -> Producer:
    settings = {
        "bootstrap.servers": broker.address,
        "transactional.id": name,
        "transaction.timeout.ms": 20_000,
        "log_level": 0,
    }
    producer = Producer(settings | {key.replace("_", "."): value for key, value in config.items()})
    producer.init_transactions(PATIENCE_S)
    return producer


def values(broker, topic: str, partitions: int, isolation: str = "read_committed") -> list[bytes]:
    """All there is up to the end that the reader is told of."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": f"reader of {topic}",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
    found, ends, deadline = [], 0, time.monotonic() + PATIENCE_S
    while ends < partitions and time.monotonic() < deadline:
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error() is None:
            found.append(message.value())
        else:
            ends += 1
    consumer.close()
    assert ends == partitions
    return sorted(found)


def write(producer: Producer, topic: str, name: str, partitions: int = 2) -> None:
    for partition in range(partitions):
        producer.produce(topic, f"{name}-{partition}", partition=partition)


@pytest.mark.on_kafka
def test_a_reader_of_committed_records_sees_what_was_committed_in_all_partitions(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"), partitions=2)
    producer = a_producer(broker, fresh("id"))
    for name, commits in (("a", True), ("b", False), ("c", True)):
        producer.begin_transaction()
        write(producer, topic, name)
        if commits:
            producer.commit_transaction(PATIENCE_S)
        else:
            producer.flush(PATIENCE_S)
            producer.abort_transaction(PATIENCE_S)
    assert values(broker, topic, 2) == [b"a-0", b"a-1", b"c-0", b"c-1"]
    assert len(values(broker, topic, 2, "read_uncommitted")) == 6


@pytest.mark.on_kafka
def test_offsets_go_with_the_records_that_were_made_of_them(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic"), partitions=1), fresh("group")
    producer = a_producer(broker, fresh("id"))
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": group, "enable.auto.commit": False})
    consumer.subscribe([topic])
    deadline = time.monotonic() + PATIENCE_S
    while not consumer.assignment() and time.monotonic() < deadline:
        consumer.poll(0.2)
    for offset, commits in ((5, True), (9, False)):
        producer.begin_transaction()
        producer.produce(topic, b"out")
        producer.send_offsets_to_transaction(
            [TopicPartition(topic, 0, offset)], consumer.consumer_group_metadata(), PATIENCE_S
        )
        (producer.commit_transaction if commits else producer.abort_transaction)(PATIENCE_S)
    (committed,) = consumer.committed([TopicPartition(topic, 0)], timeout=PATIENCE_S)
    assert committed.offset == 5
    consumer.close()


@pytest.mark.on_kafka
def test_a_zombie_is_fenced_by_who_comes_after_it(broker, fresh) -> None:
    topic, name = create_topic(broker, fresh("topic"), partitions=2), fresh("id")
    zombie = a_producer(broker, name)
    zombie.begin_transaction()
    write(zombie, topic, "zombie")
    zombie.flush(PATIENCE_S)
    heir = a_producer(broker, name)
    heir.begin_transaction()
    write(heir, topic, "heir")
    heir.commit_transaction(PATIENCE_S)
    with pytest.raises(KafkaException) as told:
        zombie.commit_transaction(PATIENCE_S)
    assert told.value.args[0].fatal()
    assert values(broker, topic, 2) == [b"heir-0", b"heir-1"]


def test_transactions_are_whole_when_the_broker_is_killed_between_their_records(
    broker_factory, fresh
) -> None:
    broker = broker_factory()
    topic = create_topic(broker, fresh("topic"), partitions=3)
    producer = a_producer(broker, fresh("id"), retry_backoff_ms=50, reconnect_backoff_max_ms=200)
    committed, doubtful, done = [], [], threading.Event()

    def work() -> None:
        for number in range(10_000):
            if done.is_set():
                return
            producer.begin_transaction()
            write(producer, topic, f"{number:04}", 3)
            doubtful.append(number)
            producer.commit_transaction(60.0)
            committed.append(doubtful.pop())

    worker = threading.Thread(target=work)
    worker.start()
    for _ in range(4):
        before, deadline = len(committed), time.monotonic() + PATIENCE_S
        while len(committed) < before + 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        broker.kill()
        broker.start()
    done.set()
    worker.join(90.0)
    assert not worker.is_alive()
    assert len(committed) >= 20
    assert doubtful == []
    expected = sorted(f"{number:04}-{index}".encode() for number in committed for index in range(3))
    assert values(broker, topic, 3) == expected
