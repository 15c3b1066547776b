"""aiokafka: another protocol implementation, with other request versions, over the same records."""

from __future__ import annotations

import asyncio
import time

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import (
    InvalidTopicError,
    MessageSizeTooLargeError,
    OffsetOutOfRangeError,
    TopicAlreadyExistsError,
)

from interop.confluent_io import as_sent, create_topic, numbered, produce, read

WAIT_S = 20
#: aiokafka closes its transports a turn of the loop after it says so
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


async def send(broker, topic: str, records, **config) -> list[int]:
    """Send in order; the offsets given."""
    async with AIOKafkaProducer(bootstrap_servers=broker.address, linger_ms=5, **config) as producer:
        futures = [
            await producer.send(topic, r.value, r.key, partition=r.partition, headers=list(r.headers))
            for r in records
        ]
        return [(await asyncio.wait_for(future, WAIT_S)).offset for future in futures]


def consumer_of(broker, *topics: str, **config) -> AIOKafkaConsumer:
    defaults = {
        "bootstrap_servers": broker.address,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "heartbeat_interval_ms": 300,
    }
    return AIOKafkaConsumer(*topics, **{**defaults, **config})


async def take(consumer: AIOKafkaConsumer, count: int) -> list:
    return [await asyncio.wait_for(consumer.getone(), WAIT_S) for _ in range(count)]


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_read_by_both_clients(broker, fresh, codec) -> None:
    topic = create_topic(broker, fresh("topic"))
    sent = numbered(300, size=100)

    async def scenario() -> list[tuple[bytes, bytes]]:
        assert await send(broker, topic, sent, compression_type=codec) == list(range(300))
        async with consumer_of(broker, topic) as consumer:
            return [(record.key, record.value) for record in await take(consumer, 300)]

    assert asyncio.run(scenario()) == [(record.key, record.value) for record in sent]
    assert [as_sent(message) for message in read(broker, topic, 300)] == sent


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_librdkafka_wrote_is_read(broker, fresh, codec) -> None:
    topic = create_topic(broker, fresh("topic"))
    sent = numbered(300, size=100)
    produce(broker, topic, sent, compression_type=codec)

    async def scenario() -> list[bytes]:
        async with consumer_of(broker, topic) as consumer:
            return [record.value for record in await take(consumer, 300)]

    assert asyncio.run(scenario()) == [record.value for record in sent]


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_every_level_of_acknowledgement_stores_the_records(broker, fresh, acks) -> None:
    topic = create_topic(broker, fresh("topic"))

    async def scenario() -> None:
        async with AIOKafkaProducer(bootstrap_servers=broker.address, acks=acks) as producer:
            for n in range(20):
                await producer.send(topic, b"%d" % n, partition=0)

    asyncio.run(scenario())
    assert [message.value() for message in read(broker, topic, 20)] == [b"%d" % n for n in range(20)]


def test_an_idempotent_producer_writes_densely(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    offsets = asyncio.run(send(broker, topic, numbered(200), enable_idempotence=True, max_batch_size=500))
    assert offsets == list(range(200))


def test_a_record_too_large_is_refused(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"), config={"max.message.bytes": "1000"})

    async def scenario() -> None:
        async with AIOKafkaProducer(bootstrap_servers=broker.address) as producer:
            with pytest.raises(MessageSizeTooLargeError):
                await producer.send_and_wait(topic, bytes(2_000), partition=0)

    asyncio.run(scenario())


def test_a_group_goes_on_where_it_committed(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), fresh("group")
    here = TopicPartition(topic, 0)
    produce(broker, topic, numbered(10))

    async def scenario() -> None:
        async with consumer_of(broker, topic, group_id=group) as consumer:
            await take(consumer, 4)
            await consumer.commit()
            assert await consumer.committed(here) == 4
        async with consumer_of(broker, topic, group_id=group) as consumer:
            assert (await take(consumer, 1))[0].offset == 4

    asyncio.run(scenario())


def test_members_share_partitions_and_take_over(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic"), partitions=4), fresh("group")

    async def until(condition) -> None:
        async with asyncio.timeout(WAIT_S):
            while not condition():  # noqa: ASYNC110 - aiokafka offers nothing to wait for
                await asyncio.sleep(0.05)

    async def scenario() -> None:
        config = {"group_id": group, "metadata_max_age_ms": 1_000}
        async with consumer_of(broker, topic, **config) as one:
            await until(lambda: len(one.assignment()) == 4)
            async with consumer_of(broker, topic, **config) as two:
                await until(lambda: len(one.assignment()) == len(two.assignment()) == 2)
                assert not one.assignment() & two.assignment()
            await until(lambda: len(one.assignment()) == 4)

    asyncio.run(scenario())


def test_positions_ends_and_times_are_looked_up(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    here = TopicPartition(topic, 0)

    async def scenario() -> None:
        async with AIOKafkaProducer(bootstrap_servers=broker.address) as producer:
            for n in range(10):
                await producer.send_and_wait(topic, b"v", partition=0, timestamp_ms=1_000_000 + 1_000 * n)
        async with consumer_of(broker) as consumer:
            consumer.assign([here])
            assert await consumer.beginning_offsets([here]) == {here: 0}
            assert await consumer.end_offsets([here]) == {here: 10}
            found = (await consumer.offsets_for_times({here: 1_004_500}))[here]
            assert (found.offset, found.timestamp) == (5, 1_005_000)
            assert (await consumer.offsets_for_times({here: 2_000_000}))[here] is None
            await consumer.seek_to_end(here)
            assert await consumer.position(here) == 10
            consumer.seek(here, 8)
            assert [record.offset for record in await take(consumer, 2)] == [8, 9]

    asyncio.run(scenario())


def test_an_offset_out_of_range_is_reported(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    here = TopicPartition(topic, 0)
    produce(broker, topic, numbered(3))

    async def scenario() -> None:
        async with consumer_of(broker, auto_offset_reset="none") as consumer:
            consumer.assign([here])
            consumer.seek(here, 50)
            with pytest.raises(OffsetOutOfRangeError):
                await take(consumer, 1)

    asyncio.run(scenario())


@pytest.mark.alone
def test_a_waiting_fetch_is_woken(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))

    async def scenario() -> float:
        async with consumer_of(broker, topic, fetch_max_wait_ms=4_000) as consumer:
            waiting = asyncio.create_task(consumer.getone())
            await asyncio.sleep(0.5)  # long enough for a fetch to wait at the broker
            started = time.monotonic()
            await send(broker, topic, numbered(1))
            await asyncio.wait_for(waiting, WAIT_S)
            return time.monotonic() - started

    assert asyncio.run(scenario()) < 2


def test_topics_partitions_configs_and_groups_are_administered(broker, fresh) -> None:
    topic, group = fresh("topic"), fresh("group")

    async def scenario() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=broker.address)
        await admin.start()
        try:
            made = NewTopic(topic, 2, 1, topic_configs={"retention.ms": "12345"})
            assert codes(await admin.create_topics([made])) == {0}
            assert codes(await admin.create_topics([made])) == {TopicAlreadyExistsError.errno}
            bad = await admin.create_topics([NewTopic("a b", 1, 1)])
            assert codes(bad) == {InvalidTopicError.errno}
            assert topic in await admin.list_topics()
            await admin.create_partitions({topic: NewPartitions(3)})
            async with asyncio.timeout(WAIT_S):
                while len((await admin.describe_topics([topic]))[0]["partitions"]) < 3:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            (answer,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
            (resource,) = answer.resources
            values = {entry[0]: entry[1] for entry in resource[4]}
            assert values["retention.ms"] == "12345"
            async with consumer_of(broker, topic, group_id=group) as consumer:
                await consumer.commit({TopicPartition(topic, 0): 0})
                assert (group, "consumer") in await admin.list_consumer_groups()
            offsets = await admin.list_consumer_group_offsets(group)
            assert offsets[TopicPartition(topic, 0)].offset == 0
            await admin.delete_topics([topic])
            assert topic not in await admin.list_topics()
        finally:
            await admin.close()

    asyncio.run(scenario())


def codes(answer) -> set[int]:
    """The error codes in an answer about topics, which aiokafka leaves to its caller."""
    return {each[1] for each in answer.topic_errors}
