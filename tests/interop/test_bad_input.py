"""Clients that misbehave on real sockets: each is refused or held back, and everybody else goes on undisturbed."""

from __future__ import annotations

import os
import random
import resource
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from interop.broker_process import BrokerProcess
from leaselog.wire import codec
from leaselog.wire.messages.api_versions import ApiVersionsRequest
from leaselog.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from leaselog.wire.messages.metadata import MetadataRequest
from leaselog.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from leaselog.wire.records import Record, build_batch
from leaselog.wire.schema import Message

pytestmark = pytest.mark.only_leaselog("how leaselog bounds what strangers cost it")

SEED = 20261121


@contextmanager
def connected(broker: BrokerProcess) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", broker.port), timeout=20) as sock:
        yield sock


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def request(message: Message, version: int, correlation_id: int = 7) -> bytes:
    head = message.API_KEY.to_bytes(2, "big") + version.to_bytes(2, "big") + correlation_id.to_bytes(4, "big")
    head += b"\xff\xff" + (b"\x00" if codec.is_flexible(type(message), version) else b"")
    return framed(head + codec.encode(message, version))


def answer(sock: socket.socket) -> bytes:
    size = int.from_bytes(exactly(sock, 4), "big")
    return exactly(sock, size)


def exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = sock.recv(size - len(data))
        assert piece, f"closed after {len(data)} of {size} bytes"
        data += piece
    return data


def is_closed(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True


def resident_mb(broker: BrokerProcess) -> float:
    for line in Path(f"/proc/{broker.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


def assert_serves(broker: BrokerProcess) -> None:
    with connected(broker) as sock:
        sock.sendall(request(ApiVersionsRequest(), 0))
        assert answer(sock)[:4] == (7).to_bytes(4, "big")


def produce(topic: str, records: bytes, acks: int = -1) -> bytes:
    data = [PartitionProduceData(index=0, records=records)]
    topics = [TopicProduceData(name=topic, partition_data=data)]
    return request(ProduceRequest(acks=acks, timeout_ms=5000, topic_data=topics), 9)


def produced(sock: socket.socket) -> ProduceResponse:
    return codec.decode(ProduceResponse, 9, answer(sock), 5)


def one_batch(value: bytes) -> bytearray:
    return build_batch([Record(key=None, value=value, timestamp_ms=1)])


@pytest.fixture
def topic(broker: BrokerProcess, fresh: Callable[[str], str]) -> str:
    name = fresh("topic")
    admin = AdminClient({"bootstrap.servers": broker.address})
    admin.create_topics([NewTopic(name, 1)])[name].result(20)
    return name


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40),
        b"\xff\xff\xff\xff",
        b"\x7f\xff\xff\xff",
        (200 << 20).to_bytes(4, "big"),
        framed(b""),
        framed(b"\x00"),
        framed(b"\x00\x12\x00\x00\x00\x00\x00\x01\x7f\xff"),
        framed((999).to_bytes(2, "big") + bytes(20)),
        framed(b"\x00\x03\x03\xe7\x00\x00\x00\x01\xff\xff"),
        framed(b"\x00\x00\x00\x01\x00\x00\x00\x01\xff\xff" + bytes(8)),
        framed(b"\x00\x01\x00\x0c\x00\x00\x00\x01\xff\xff\x00" + b"\xff" * 60),
    ],
    ids=["http", "tls", "length -1", "2 GB", "200 MB", "nothing", "one byte", "client id too long", "unknown API",
         "unknown version", "retired version", "fetch of ones"],
)  # fmt: skip
def test_garbage_closes_its_own_connection_only(broker: BrokerProcess, data: bytes) -> None:
    with connected(broker) as good, connected(broker) as bad:
        bad.sendall(data)
        assert is_closed(bad)
        good.sendall(request(MetadataRequest(topics=[]), 1))
        assert answer(good)[:4] == (7).to_bytes(4, "big")


def test_an_api_versions_from_the_future_is_answered_in_version_0(broker: BrokerProcess) -> None:
    with connected(broker) as sock:
        sock.sendall(framed(b"\x00\x12\x00\x63\x00\x00\x00\x2a\xff\xff\x00" + b"whatever comes then"))
        data = answer(sock)
        assert data[:6] == (42).to_bytes(4, "big") + (35).to_bytes(2, "big")
        sock.sendall(request(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3))
        assert answer(sock)[4:6] == b"\x00\x00", "the same connection goes on"


def test_a_thousand_random_frames_harm_nobody(broker: BrokerProcess) -> None:
    chance = random.Random(SEED)
    for _ in range(1000):
        with connected(broker) as sock:
            key, version = chance.randrange(0, 95), chance.randrange(0, 19)
            head = key.to_bytes(2, "big") + version.to_bytes(2, "big") + bytes(4) + b"\xff\xff"
            sock.sendall(framed(head + chance.randbytes(chance.randrange(0, 200))))
    assert_serves(broker)


def test_a_batch_with_a_wrong_checksum_is_refused_alone(broker: BrokerProcess, topic: str) -> None:
    damaged = one_batch(b"hello")
    damaged[-1] ^= 1
    with connected(broker) as sock:
        sock.sendall(produce(topic, bytes(damaged)) + produce(topic, bytes(one_batch(b"good"))))
        assert produced(sock).responses[0].partition_responses[0].error_code == 2
        assert produced(sock).responses[0].partition_responses[0].error_code == 0


@pytest.mark.parametrize("cut", [1, 12, 30, 61, 65])
def test_a_truncated_batch_is_refused(broker: BrokerProcess, topic: str, cut: int) -> None:
    with connected(broker) as sock:
        sock.sendall(produce(topic, bytes(one_batch(b"hello"))[:cut]))
        assert produced(sock).responses[0].partition_responses[0].error_code in (2, 87)


def test_a_failed_produce_without_acks_closes_the_connection(broker: BrokerProcess) -> None:
    with connected(broker) as sock:
        sock.sendall(produce("no-such-topic", bytes(one_batch(b"x")), acks=0))
        assert is_closed(sock)


def test_a_client_that_never_reads_is_held_back_and_costs_bounded_memory(
    broker: BrokerProcess, topic: str
) -> None:
    producer = Producer({"bootstrap.servers": broker.address, "batch.size": 900_000, "linger.ms": 20})
    for _ in range(64):
        producer.produce(topic, os.urandom(256 * 1024))
    assert producer.flush(60) == 0
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=16 << 20)
    fetch = FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=50 << 20,
        topics=[FetchTopic(topic=topic, partitions=[partition])],
    )
    before = resident_mb(broker)
    with ExitStack() as stack:
        silent = [stack.enter_context(connected(broker)) for _ in range(4)]
        for sock in silent:
            sock.setblocking(False)
            for _ in range(300):
                try:
                    sock.send(request(fetch, 11))
                except BlockingIOError:
                    break
        started = time.monotonic()
        assert_serves(broker)
        assert time.monotonic() - started < 5
        # one answer of 16 MB each may wait for its reader, and not the hundreds that were asked for
        assert resident_mb(broker) - before < 4 * 16 * 2 + 60


def test_ten_thousand_idle_connections_cost_little_and_disturb_nobody(
    broker: BrokerProcess, topic: str
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = min(10_000, hard - 1000)
    assert count >= 3000, f"the machine allows {hard} open files"
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    before = resident_mb(broker)
    try:
        with ExitStack() as stack:
            for _ in range(count):
                stack.enter_context(connected(broker))
            producer = Producer({"bootstrap.servers": broker.address})
            producer.produce(topic, b"through the crowd")
            assert producer.flush(20) == 0
            consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "crowd"})
            consumer.assign([TopicPartition(topic, 0, 0)])
            message = consumer.poll(20)
            consumer.close()
            assert message is not None
            assert message.value() == b"through the crowd"
            grown = resident_mb(broker) - before
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert grown < count * 0.02, f"{grown:.0f} MB for {count} idle connections"
