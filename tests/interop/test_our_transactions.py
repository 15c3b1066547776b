"""Our own producers with a transactional id: what counts, what does not, and what they raise."""

from __future__ import annotations

import asyncio

import pytest

from interop.confluent_io import create_topic
from interop.test_confluent_transactions import values
from leaselog.admin import Admin, FeatureUpdateType
from leaselog.client import (
    AsyncProducer,
    CommittedOffset,
    IllegalState,
    Producer,
    TopicPartition,
    kafka_errors,
)
from leaselog.client.transactions import GroupMetadata, TransactionAborted

pytestmark = pytest.mark.all_on_kafka


def a_producer(broker, name: str, **config) -> Producer:
    producer = Producer(broker.address, transactional_id=name, **config)
    producer.init_transactions()
    return producer


def test_what_is_sent_in_a_transaction_counts_when_it_ends_well_and_only_then(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"), partitions=2)
    with a_producer(broker, fresh("id")) as producer:
        for name in (b"a", b"b"):
            with producer.transaction():
                for partition in (0, 1):
                    producer.send(topic, name, partition=partition)

        def fails() -> None:
            with producer.transaction():
                producer.send(topic, b"never", partition=0).result(10)
                producer.send(topic, b"nor this", partition=1)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fails()
        with producer.transaction():
            producer.send(topic, b"c", partition=1)
    assert values(broker, topic, 2) == [b"a", b"a", b"b", b"b", b"c"]


def test_asyncio_has_the_same(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"), partitions=2)

    async def story() -> None:
        async with AsyncProducer(broker.address, transactional_id=fresh("id")) as producer:
            await producer.init_transactions()
            async with producer.transaction():
                await producer.send(topic, b"a", partition=0)
                await producer.send(topic, b"b", partition=1)
            with pytest.raises(ZeroDivisionError):
                await fails(producer)

    async def fails(producer: AsyncProducer) -> None:
        async with producer.transaction():
            await (await producer.send(topic, b"never", partition=0))
            raise ZeroDivisionError

    asyncio.run(story())
    assert values(broker, topic, 2) == [b"a", b"b"]


def test_many_records_in_flight_end_in_their_order(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"), partitions=3)
    with a_producer(broker, fresh("id"), batch_size=200, linger_ms=0) as producer:
        for number in range(20):
            with producer.transaction():
                for record in range(60):
                    producer.send(topic, b"%02d-%02d" % (number, record), partition=record % 3)
    assert values(broker, topic, 3) == [b"%02d-%02d" % (n, r) for n in range(20) for r in range(60)]


def test_offsets_go_with_the_transaction(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), fresh("group")
    where = TopicPartition(topic, 0)
    with a_producer(broker, fresh("id")) as producer:
        with producer.transaction():
            producer.send(topic, b"out")
            producer.send_offsets_to_transaction({where: 5}, group)

        def fails() -> None:
            with producer.transaction():
                producer.send_offsets_to_transaction({where: CommittedOffset(9, "x")}, GroupMetadata(group))
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fails()
    with Admin(broker.address) as admin:
        committed = admin.list_consumer_group_offsets({group: None})[group][where]
        assert committed.offset == 5


def test_a_producer_that_was_fenced_says_so_and_ends(broker, fresh) -> None:
    topic, name = create_topic(broker, fresh("topic")), fresh("id")
    zombie = a_producer(broker, name)
    zombie.begin_transaction()
    zombie.send(topic, b"zombie").result(10)
    with a_producer(broker, name) as heir, heir.transaction():
        heir.send(topic, b"heir")
    with pytest.raises(kafka_errors.ProducerFencedException):
        zombie.commit_transaction()
    with pytest.raises(kafka_errors.ProducerFencedException):
        zombie.begin_transaction()
    zombie.close()
    assert values(broker, topic, 1) == [b"heir"]


def test_a_transaction_with_a_record_that_cannot_be_delivered_is_aborted(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"), config={"max.message.bytes": "500"})
    with a_producer(broker, fresh("id")) as producer:

        def fails() -> None:
            with producer.transaction():
                producer.send(topic, b"small").result(10)
                producer.send(topic, b"x" * 1_000)

        with pytest.raises(kafka_errors.RecordTooLargeException):
            fails()
        with producer.transaction():
            producer.send(topic, b"after")
    assert values(broker, topic, 1) == [b"after"]


def test_records_that_have_not_left_are_given_up_with_their_transaction(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    with a_producer(broker, fresh("id"), linger_ms=60_000) as producer:
        producer.begin_transaction()
        receipt = producer.send(topic, b"waits")
        producer.abort_transaction()
        with pytest.raises(TransactionAborted):
            receipt.result(10)
        with producer.transaction():
            producer.send(topic, b"after")
    assert values(broker, topic, 1) == [b"after"]


def test_calls_in_the_wrong_order_are_refused(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    with Producer(broker.address, transactional_id=fresh("id")) as producer:
        with pytest.raises(IllegalState, match="init_transactions"):
            producer.begin_transaction()
        producer.init_transactions()
        with pytest.raises(IllegalState, match="No transaction"):
            producer.commit_transaction()
        with pytest.raises(IllegalState, match="begin_transaction"):
            producer.send(topic, b"outside").result(10)
        producer.begin_transaction()
        with pytest.raises(IllegalState, match="open already"):
            producer.begin_transaction()
        producer.abort_transaction()
    with Producer(broker.address) as producer, pytest.raises(IllegalState, match=r"transactional\.id"):
        producer.init_transactions()


@pytest.mark.only_leaselog("it takes the feature away from a broker of its own")
def test_before_kip_890_partitions_are_added_first_and_an_error_is_followed_by_a_new_epoch(
    broker_factory, fresh
) -> None:
    broker = broker_factory()
    with Admin(broker.address) as admin:
        admin.update_features({"transaction.version": 0}, type=FeatureUpdateType.SAFE_DOWNGRADE)
    topic = create_topic(broker, fresh("topic"), partitions=2, config={"max.message.bytes": "500"})
    with a_producer(broker, fresh("id")) as producer:
        for number in range(3):
            with producer.transaction():
                for partition in (0, 1):
                    producer.send(topic, b"%d-%d" % (number, partition), partition=partition)
                producer.send_offsets_to_transaction({TopicPartition(topic, 0): number}, "g")

        def fails() -> None:
            with producer.transaction():
                producer.send(topic, b"small").result(10)
                producer.send(topic, b"x" * 1_000)

        with pytest.raises(kafka_errors.RecordTooLargeException):
            fails()
        with producer.transaction():
            producer.send(topic, b"after", partition=0)
    assert values(broker, topic, 2) == [b"0-0", b"0-1", b"1-0", b"1-1", b"2-0", b"2-1", b"after"]
