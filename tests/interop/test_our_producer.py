"""leaselog's own producers against a real broker, read back with librdkafka."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from interop.broker_process import BrokerProcess
from interop.confluent_io import consumer_of, create_topic, read
from leaselog.client import AsyncProducer, Producer, RecordMetadata

pytestmark = pytest.mark.all_on_kafka

WAIT_S = 60.0


def send_blocking(address: str, topic: str, values: list[bytes], **config: Any) -> list[RecordMetadata]:
    with Producer(bootstrap_servers=address, **config) as producer:
        receipts = [producer.send(topic, value, b"k", headers=[("h", None)], partition=0) for value in values]
        return [receipt.result(WAIT_S) for receipt in receipts]


def send_async(address: str, topic: str, values: list[bytes], **config: Any) -> list[RecordMetadata]:
    async def main() -> list[RecordMetadata]:
        async with AsyncProducer(bootstrap_servers=address, **config) as producer:
            receipts = [
                await producer.send(topic, value, b"k", headers=[("h", None)], partition=0)
                for value in values
            ]
            return [await receipt for receipt in receipts]

    return asyncio.run(main())


@pytest.mark.parametrize("send", [send_blocking, send_async], ids=["blocking", "asyncio"])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_is_sent_is_what_is_read(broker, fresh, send: Callable[..., Any], codec: str) -> None:
    topic = create_topic(broker, fresh("t"))
    values = [b"%d-" % n + b"x" * 100 for n in range(1_000)]
    places = send(broker.address, topic, values, compression_type=codec, linger_ms=20)
    assert [place.offset for place in places] == list(range(1_000))
    messages = read(broker, topic, len(values))
    assert [message.value() for message in messages] == values
    assert messages[0].headers() == [("h", None)]


def test_nothing_is_lost_or_doubled_when_the_broker_restarts(broker_factory, fresh) -> None:
    broker: BrokerProcess = broker_factory()
    topic = create_topic(broker, fresh("t"))
    with Producer(bootstrap_servers=broker.address, linger_ms=0) as producer:
        receipts = [producer.send(topic, b"%d" % n) for n in range(200)]
        assert receipts[50].result(WAIT_S).topic == topic
        stopping = threading.Thread(target=lambda: (broker.stop(), broker.start()))
        stopping.start()
        receipts += [producer.send(topic, b"%d" % n) for n in range(200, 2_000)]
        stopping.join()
        for receipt in receipts:
            receipt.result(WAIT_S)
    assert [message.value() for message in read(broker, topic, 2_000)] == [b"%d" % n for n in range(2_000)]
    with closing(consumer_of(broker, "looks-at-the-end")) as consumer:
        assert consumer.get_watermark_offsets(TopicPartition(topic, 0), WAIT_S) == (0, 2_000)
