"""What a type checker sees of the ordinary consumer; `make types` reads it, nothing runs it."""

from __future__ import annotations

import re
from typing import assert_type

from leaselog.client import (
    AsyncConsumer,
    CommittedOffset,
    Consumer,
    ConsumerRecord,
    TopicPartition,
    as_string,
)


def length(data: bytes) -> int:
    return len(data)


def the_type_follows_the_deserialisers() -> None:
    assert_type(Consumer("host:1"), Consumer[bytes, bytes])
    assert_type(Consumer(value_deserializer=length), Consumer[bytes, int])
    assert_type(AsyncConsumer(key_deserializer=as_string), AsyncConsumer[str, bytes])
    with Consumer(key_deserializer=as_string, value_deserializer=length) as consumer:
        consumer.subscribe(re.compile("orders-.*"), on_revoked=lambda partitions: consumer.commit())
        for record in consumer:
            assert_type(record, ConsumerRecord[str, int])
            assert_type(record.value, int)
            consumer.commit(record)
            consumer.commit([record])
            consumer.commit({record.topic_partition: 3})
            consumer.commit({TopicPartition("orders", 0): (4, "why")})
        assert_type(consumer.committed(), dict[TopicPartition, CommittedOffset | None])


async def asyncio_awaits_what_waits(consumer: AsyncConsumer[str, int]) -> None:
    async for record in consumer:
        assert_type(record, ConsumerRecord[str, int])
    assert_type(await consumer.position(TopicPartition("orders", 0)), int)
