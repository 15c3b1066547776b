"""A producer and a consumer over their quotas take the time they should, and nobody else does."""

from __future__ import annotations

import socket
import time

import pytest
from confluent_kafka import Consumer, Producer

from interop.confluent_io import create_topic
from leaselog.wire.codec import decode, encode
from leaselog.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    OpData,
)

#: two samples of a second: one second's worth may go at once
WINDOW = {"quota.window.num": "2", "quota.window.size.seconds": "1"}
LIMIT_BYTES = 100_000
BATCH_BYTES = 20_000
BATCHES = 15


def limit(broker, client_id: str, key: str) -> None:
    """As no client library for Python can ask for it."""
    entry = EntryData(
        entity=[EntityData(entity_type="client-id", entity_name=client_id)],
        ops=[OpData(key=key, value=float(LIMIT_BYTES))],
    )
    head = AlterClientQuotasRequest.API_KEY.to_bytes(2, "big") + (0).to_bytes(2, "big")
    frame = head + (7).to_bytes(4, "big") + b"\xff\xff" + encode(AlterClientQuotasRequest(entries=[entry]), 0)
    with socket.create_connection(("127.0.0.1", broker.port), timeout=10) as connection:
        connection.sendall(len(frame).to_bytes(4, "big") + frame)
        size = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")
        answer = connection.recv(size, socket.MSG_WAITALL)
    (outcome,) = decode(AlterClientQuotasResponse, 0, answer, 4).entries
    assert outcome.error_code == 0, outcome.error_message


def seconds_to_produce(broker, topic: str, client_id: str, pauses: list[float] | None = None) -> float:
    """Until every record is acknowledged, one to a batch."""
    failed: list[object] = []
    producer = Producer(
        {
            "bootstrap.servers": broker.address,
            "client.id": client_id,
            "linger.ms": 0,
            "batch.num.messages": 1,
            "throttle_cb": lambda event: None if pauses is None else pauses.append(event.throttle_time),
        }
    )
    started = time.monotonic()
    for _ in range(BATCHES):
        producer.produce(
            topic, b"x" * BATCH_BYTES, on_delivery=lambda error, _: failed.append(error) if error else None
        )
    assert producer.flush(20) == 0
    took_s = time.monotonic() - started
    producer.poll(0.1)
    assert failed == []
    return took_s


def seconds_to_consume(broker, topic: str, client_id: str) -> float:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.address,
            "client.id": client_id,
            "group.id": f"{topic}.{client_id}",
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 100,
        }
    )
    consumer.subscribe([topic])
    try:
        first_s, seen = 0.0, 0
        deadline = time.monotonic() + 30
        while seen < BATCHES and time.monotonic() < deadline:
            message = consumer.poll(1)
            if message is not None:
                assert message.error() is None
                first_s, seen = first_s or time.monotonic(), seen + 1
        assert seen == BATCHES
        return time.monotonic() - first_s
    finally:
        consumer.close()


#: what goes over the limit, past the first second's worth and but for the last answer
AT_LEAST_S = (BATCH_BYTES * (BATCHES - 1) - LIMIT_BYTES) / LIMIT_BYTES


@pytest.fixture
def limited(broker_factory):
    return broker_factory(WINDOW)


def test_a_limited_producer_takes_its_time_and_another_does_not(limited, fresh) -> None:
    topic = create_topic(limited, fresh("topic"))
    limit(limited, "slow", "producer_byte_rate")
    pauses: list[float] = []
    assert AT_LEAST_S * 0.8 < seconds_to_produce(limited, topic, "slow", pauses) < AT_LEAST_S + 4
    assert max(pauses) > 0
    assert seconds_to_produce(limited, topic, "fast") < 1


def test_a_limited_consumer_gets_every_record_in_the_time_it_should(limited, fresh) -> None:
    topic = create_topic(limited, fresh("topic"))
    seconds_to_produce(limited, topic, "loader")
    limit(limited, "slow", "consumer_byte_rate")
    assert AT_LEAST_S * 0.6 < seconds_to_consume(limited, topic, "slow") < AT_LEAST_S + 5
    assert seconds_to_consume(limited, topic, "fast") < 1
