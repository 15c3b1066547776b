"""What a type checker sees of the client; `make types` reads it, nothing runs it."""

from __future__ import annotations

from typing import assert_type

from leaselog.client import (
    AcknowledgeType,
    AsyncShareConsumer,
    Producer,
    Receipt,
    Reject,
    ShareConsumer,
    ShareRecord,
    as_string,
)


class Order:
    @classmethod
    def parse(cls, data: bytes) -> Order:
        return cls()

    def to_bytes(self) -> bytes:
        return b""


def keys_and_values_are_bytes_without_more(consumer: ShareConsumer[bytes, bytes]) -> None:
    assert_type(ShareConsumer({"group.id": "g"}, bootstrap_servers="host:1"), ShareConsumer[bytes, bytes])
    for record in consumer.poll():
        assert_type(record.key, bytes | None)
        assert_type(record.value, bytes)


def the_type_follows_the_deserialisers() -> None:
    assert_type(ShareConsumer(value_deserializer=Order.parse), ShareConsumer[bytes, Order])
    assert_type(ShareConsumer(key_deserializer=as_string), ShareConsumer[str, bytes])
    assert_type(AsyncShareConsumer(value_deserializer=Order.parse), AsyncShareConsumer[bytes, Order])
    with ShareConsumer(key_deserializer=as_string, value_deserializer=Order.parse) as consumer:
        for record in consumer.poll(timeout=1.0):
            assert_type(record, ShareRecord[str, Order])
            consumer.acknowledge(record)
            consumer.acknowledge(record, AcknowledgeType.RELEASE)
            consumer.acknowledge("topic", 0, record.offset, type=AcknowledgeType.REJECT)
            with consumer.processing(record) as same:
                assert_type(same, ShareRecord[str, Order])
        consumer.run(lambda record: print(record.value.to_bytes()), concurrency=4)
        consumer.run(judge, reject=[ValueError], transient=(TimeoutError,), retry_delays=[1, 10], begins=None)


def judge(record: ShareRecord[str, Order]) -> None:
    assert_type(record.is_last_attempt, bool)
    assert_type(record.deliveries_left, int | None)
    if record.is_last_attempt:
        raise Reject("no such item") from ValueError("of the order")


async def a_worker_of_asyncio_takes_both_kinds_of_functions(consumer: AsyncShareConsumer[str, Order]) -> None:
    async def ship(record: ShareRecord[str, Order]) -> None: ...

    await consumer.run(ship, concurrency=100, drain_timeout=5, handle_signals=False)
    await consumer.run(judge)
    await consumer.run(lambda record: ship(record))


def a_producer_takes_what_its_serialiser_takes() -> None:
    producer = Producer(value_serializer=Order.to_bytes)
    assert_type(producer, Producer[bytes, Order])
    assert_type(producer.send("topic", Order(), key=b"k"), Receipt)
