"""The ordinary consumers of `leaselog.client` against a real broker, beside librdkafka's in one group."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import closing

import pytest
from confluent_kafka import TopicPartition as LibrdkafkaPartition

from interop.broker_process import BrokerProcess
from interop.confluent_io import WAIT_S, admin_of, consumer_of, create_topic
from leaselog.client import AsyncConsumer, Consumer, Producer, TopicPartition

pytestmark = pytest.mark.all_on_kafka

Fresh = Callable[[str], str]
Place = tuple[int, int]


def joined(broker: BrokerProcess, group: str, topic: str, **config: object) -> Consumer[bytes, bytes]:
    consumer = Consumer(
        broker.address, group_id=group, auto_offset_reset="earliest", heartbeat_interval_ms=200, **config
    )
    consumer.subscribe([topic])
    return consumer


def fill(broker: BrokerProcess, topic: str, count: int, partitions: int, start: int = 0) -> None:
    with Producer(broker.address) as producer:
        for number in range(start, start + count):
            producer.send(topic, b"%d" % number, partition=number % partitions)


def send(broker: BrokerProcess, topic: str, values: list[bytes]) -> None:
    with Producer(broker.address) as producer:
        for value in values:
            producer.send(topic, value)


@pytest.mark.on_kafka
def test_ours_and_librdkafkas_share_a_group_and_go_on_where_the_other_stopped(
    broker: BrokerProcess, fresh: Fresh
) -> None:
    topic, group = fresh("topic"), fresh("group")
    create_topic(broker, topic, partitions=4)
    fill(broker, topic, 400, 4)
    ours_read: list[Place] = []
    theirs_read: list[Place] = []
    config = {"heartbeat.interval.ms": 200, "auto.offset.reset": "earliest"}
    with closing(consumer_of(broker, group, **config)) as theirs:
        theirs.subscribe([topic])
        with joined(broker, group, topic) as ours:

            def turn() -> None:
                ours_read.extend((r.partition, r.offset) for r in ours.poll(0.1))
                theirs_read.extend(
                    (m.partition(), m.offset()) for m in theirs.consume(100, 0.1) if not m.error()
                )

            deadline = time.monotonic() + WAIT_S
            while len(ours.assignment()) != 2 or len(theirs.assignment()) != 2:
                assert time.monotonic() < deadline, (ours.assignment(), theirs.assignment())
                turn()
            mine = {where.partition for where in ours.assignment()}
            assert mine in ({0, 1}, {2, 3}), "divided by range"
            assert mine.isdisjoint(part.partition for part in theirs.assignment())
            fill(broker, topic, 400, 4, start=400)
            everything = {(partition, offset) for partition in range(4) for offset in range(200)}
            while set(ours_read) | set(theirs_read) != everything:
                assert time.monotonic() < deadline, len(ours_read) + len(theirs_read)
                turn()
            late = {place for place in ours_read if place[1] >= 100}
            assert {partition for partition, _ in late} == mine
        # It has left, and committed: librdkafka's is given its partitions, and nothing of them again.
        before = len(theirs_read)
        while len(theirs.assignment()) != 4:
            assert time.monotonic() < deadline
            turn_of_theirs = theirs.consume(100, 0.1)
            theirs_read.extend((m.partition(), m.offset()) for m in turn_of_theirs if not m.error())
        theirs_read.extend((m.partition(), m.offset()) for m in theirs.consume(100, 1.0))
        assert not {partition for partition, _ in theirs_read[before:]} & mine
        places = theirs.committed([LibrdkafkaPartition(topic, partition) for partition in mine], WAIT_S)
        assert [place.offset for place in places] == [200, 200]


def test_a_broker_that_restarts_costs_no_record(
    broker_factory: Callable[[], BrokerProcess], fresh: Fresh
) -> None:
    broker = broker_factory()
    topic = fresh("topic")
    create_topic(broker, topic, partitions=2)
    fill(broker, topic, 1_000, 2)
    seen: list[Place] = []
    with joined(broker, fresh("group"), topic, max_poll_records=50) as consumer:
        while len(seen) < 200:
            seen += [(r.partition, r.offset) for r in consumer.poll(WAIT_S)]
        stopping = threading.Thread(target=lambda: (broker.stop(), broker.start()))
        stopping.start()
        deadline = time.monotonic() + WAIT_S
        while len(set(seen)) < 1_000:
            assert time.monotonic() < deadline, len(set(seen))
            seen += [(r.partition, r.offset) for r in consumer.poll(0.5)]
        stopping.join()
        consumer.commit()
        assert {place.offset for place in consumer.committed().values() if place} == {500}
    for partition in (0, 1):
        offsets = [offset for number, offset in seen if number == partition]
        firsts = list(dict.fromkeys(offsets))
        assert firsts == list(range(500)), "in order, but for what came again"


def test_a_topic_that_is_made_again_is_read_from_its_beginning(broker: BrokerProcess, fresh: Fresh) -> None:
    topic = fresh("topic")
    create_topic(broker, topic)
    send(broker, topic, [b"old"] * 3)
    with Consumer(broker.address, auto_offset_reset="earliest") as consumer:
        consumer.assign(TopicPartition(topic, 0))
        seen: list[bytes] = []
        while len(seen) < 3:
            seen += [record.value for record in consumer.poll(WAIT_S)]
        admin_of(broker).delete_topics([topic])[topic].result(WAIT_S)
        deadline = time.monotonic() + WAIT_S
        while topic in admin_of(broker).list_topics(timeout=WAIT_S).topics:
            assert time.monotonic() < deadline
            consumer.poll(0.1)
        create_topic(broker, topic)
        send(broker, topic, [b"new"] * 5)
        while len(seen) < 8:
            assert time.monotonic() < deadline, seen
            seen += [record.value for record in consumer.poll(1)]
    assert seen == [b"old"] * 3 + [b"new"] * 5


@pytest.mark.on_kafka
def test_asyncio_members_divide_the_topic_and_lose_nothing_as_they_come_and_go(
    broker: BrokerProcess, fresh: Fresh
) -> None:
    topic, group = fresh("topic"), fresh("group")
    create_topic(broker, topic, partitions=3)
    fill(broker, topic, 300, 3)
    seen: dict[Place, int] = {}

    async def member(enough: Callable[[], bool]) -> None:
        async with AsyncConsumer(
            broker.address,
            group_id=group,
            auto_offset_reset="earliest",
            heartbeat_interval_ms=100,
            max_poll_records=10,
        ) as consumer:
            consumer.subscribe([topic])
            while not enough():
                for record in await consumer.poll(0.1):
                    place = (record.partition, record.offset)
                    seen[place] = seen.get(place, 0) + 1

    async def main() -> None:
        async with asyncio.timeout(WAIT_S):
            await asyncio.gather(
                member(lambda: len(seen) >= 60),
                member(lambda: len(seen) >= 150),
                member(lambda: len(seen) == 300),
            )

    asyncio.run(main())
    assert set(seen) == {(partition, offset) for partition in range(3) for offset in range(100)}
