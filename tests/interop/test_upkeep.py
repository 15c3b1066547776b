"""What the broker does by itself: compaction, retention by time and size, over restarts too."""

from __future__ import annotations

import time
from collections.abc import Callable

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from interop.broker_process import BrokerProcess
from interop.conftest import BrokerFactory

QUICK = {
    "log.cleaner.backoff.ms": "100",
    "log.retention.check.interval.ms": "200",
    "log.initial.task.delay.ms": "100",
    "log.segment.delete.delay.ms": "100",
}
PATIENCE_S = 40


def make_topic(broker: BrokerProcess, name: str, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.address})
    settings = {key.replace("_", "."): value for key, value in config.items()}
    admin.create_topics([NewTopic(name, 1, config=settings)])[name].result(20)


def produce(broker: BrokerProcess, topic: str, pairs: list[tuple[str, str | None]]) -> None:
    producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 1, "batch.num.messages": 50})
    for key, value in pairs:
        producer.produce(topic, value, key)
    assert producer.flush(30) == 0


def read(broker: BrokerProcess, topic: str) -> list[tuple[int, str, str | None]]:
    """Everything there is: offset, key, value."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": "r",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = []
    while (message := consumer.poll(20)) is not None and message.error() is None:
        value = message.value()
        found.append((message.offset(), message.key().decode(), None if value is None else value.decode()))
    consumer.close()
    return found


def eventually(what: Callable[[], bool], why: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < deadline, why
        time.sleep(0.1)


def test_a_compacted_topic_keeps_the_last_value_of_each_key(
    broker_factory: BrokerFactory, fresh: Callable[[str], str]
) -> None:
    broker, topic = broker_factory(QUICK), fresh("compacted")
    make_topic(
        broker,
        topic,
        cleanup_policy="compact",
        segment_ms="200",
        min_cleanable_dirty_ratio="0.01",
        delete_retention_ms="100",
    )
    for turn in range(20):
        produce(broker, topic, [(f"k{n}", f"{turn}-{n}") for n in range(50)])
    produce(broker, topic, [("k0", None), ("k1", None)])
    time.sleep(0.3)  # the segment grows old enough to be closed by the next record
    produce(broker, topic, [("end", "end")])
    eventually(lambda: len(read(broker, topic)) <= 60, "nothing was cleaned")

    latest = {key: value for _, key, value in read(broker, topic)}
    assert {k: v for k, v in latest.items() if v is not None} == {
        "end": "end", **{f"k{n}": f"19-{n}" for n in range(2, 50)}
    }  # fmt: skip
    offsets = [offset for offset, _, _ in read(broker, topic)]
    assert offsets == sorted(offsets), "offsets keep their order"
    assert offsets[-1] == 20 * 50 + 2, "and their values"

    before = read(broker, topic)
    broker.kill()
    broker.start()
    assert {(k, v) for _, k, v in read(broker, topic)} <= {(k, v) for _, k, v in before}
    produce(broker, topic, [("more", "1")])
    assert read(broker, topic)[-1] == (20 * 50 + 3, "more", "1")


def test_old_segments_go_by_size_and_the_log_starts_later(
    broker_factory: BrokerFactory, fresh: Callable[[str], str]
) -> None:
    broker, topic = broker_factory(QUICK), fresh("by-size")
    make_topic(broker, topic, retention_bytes="200000", segment_bytes="1048576", segment_ms="100")
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "w"})
    for turn in range(10):
        produce(broker, topic, [(str(n), f"{turn}" * 1000) for n in range(100)])
        time.sleep(0.15)
    produce(broker, topic, [("end", "end")])

    def start() -> int:
        consumer.list_topics(topic, timeout=10)  # librdkafka asks nobody about a topic it has not heard of
        return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)[0])

    eventually(lambda: start() >= 700, "the oldest segments stay")
    assert read(broker, topic)[0][0] == start()
    files = list((broker.log_dir / f"{topic}-0").glob("*"))
    eventually(lambda: not list((broker.log_dir / f"{topic}-0").glob("*.deleted")), f"files stay: {files}")
    kept = start()
    broker.stop()
    broker.start()
    assert start() >= kept, "the start survives a restart"
    consumer.close()


def test_records_go_by_age(broker_factory: BrokerFactory, fresh: Callable[[str], str]) -> None:
    broker, topic = broker_factory(QUICK), fresh("by-age")
    make_topic(broker, topic, retention_ms="500", segment_ms="100")
    produce(broker, topic, [("old", "old")] * 100)
    eventually(lambda: read(broker, topic) == [], "old records stay")
    produce(broker, topic, [("new", "new")])
    assert [offset for offset, _, _ in read(broker, topic)] in ([100], []), "offsets go on where they were"
