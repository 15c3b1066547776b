"""What somebody runs into in the first hour: a broker that is not there, a port of somebody else, a mistyped name.

Nothing waits in silence: the log says what is the matter, once and then seldom, and `wait_until_ready` raises it.
"""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from interop.broker_process import BrokerProcess, free_port
from interop.confluent_io import create_topic, read
from leaselog.admin import Admin, AsyncAdmin
from leaselog.client import (
    AsyncProducer,
    AsyncShareConsumer,
    AuthenticationFailed,
    ClientError,
    Producer,
    ShareConsumer,
    Unreachable,
    kafka_errors,
)

WAIT_S = 60.0


@contextmanager
def listening(answer: bytes | None) -> Iterator[int]:
    """The port of somebody who is no broker, and answers so, or not at all."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                held.append(connection)
                connection.recv(1024)
                if answer is not None:
                    connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in held:
                connection.close()


def run_async(make: Callable[[], Any], use: Callable[[Any], Awaitable[None]]) -> None:
    async def main() -> None:
        async with make() as client:
            await use(client)

    asyncio.run(main())


def blocking_ready(make: Callable[[str], Any]) -> Callable[..., None]:
    def ready(address: str, timeout: float, *topics: Any) -> None:
        with make(address) as client:
            client.wait_until_ready(timeout, *topics)

    return ready


def async_ready(make: Callable[[str], Any]) -> Callable[..., None]:
    def ready(address: str, timeout: float, *topics: Any) -> None:
        run_async(lambda: make(address), lambda client: client.wait_until_ready(timeout, *topics))

    return ready


EVERY_CLIENT = [
    pytest.param(blocking_ready(Producer), id="Producer"),
    pytest.param(async_ready(AsyncProducer), id="AsyncProducer"),
    pytest.param(blocking_ready(lambda address: ShareConsumer(address, group_id="g")), id="ShareConsumer"),
    pytest.param(
        async_ready(lambda address: AsyncShareConsumer(address, group_id="g")), id="AsyncShareConsumer"
    ),
    pytest.param(blocking_ready(Admin), id="Admin"),
    pytest.param(async_ready(AsyncAdmin), id="AsyncAdmin"),
]


@pytest.mark.parametrize("ready", EVERY_CLIENT)
def test_who_waits_until_ready_is_told_why_it_is_not(ready: Callable[..., None]) -> None:
    with pytest.raises(Unreachable, match="Connection refused"):
        ready(f"127.0.0.1:{free_port()}", 0.3)
    with (
        listening(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port,
        pytest.raises(Unreachable, match=r"what answers does not speak Kafka, it said b'HTTP/1\.1 400"),
    ):
        ready(f"127.0.0.1:{port}", 0.3)


@pytest.mark.parametrize("ready", EVERY_CLIENT)
def test_a_cluster_that_answers_is_ready(broker: BrokerProcess, ready: Callable[..., None]) -> None:
    ready(broker.address, WAIT_S)


def test_being_ready_takes_the_topics_as_well(dead_broker: BrokerProcess, fresh) -> None:
    there, missing = create_topic(dead_broker, fresh("there")), fresh("missing")
    for ready in (blocking_ready(Producer), async_ready(AsyncProducer), blocking_ready(Admin)):
        ready(dead_broker.address, WAIT_S, [there])
        with pytest.raises(kafka_errors.UnknownTopicOrPartitionException, match=missing):
            ready(dead_broker.address, 0.3, [there, missing])
    with ShareConsumer(dead_broker.address, group_id="g") as consumer:
        consumer.subscribe([there])
        consumer.wait_until_ready(WAIT_S)
        consumer.subscribe([missing])
        with pytest.raises(kafka_errors.UnknownTopicOrPartitionException, match=missing):
            consumer.wait_until_ready(0.3)


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (
            b"\x15\x03\x03\x00\x02\x02\x0a",
            AuthenticationFailed,
            "it expects TLS: security.protocol is SSL or",
        ),
        (b"SSH-2.0-OpenSSH_9.6\r\n", Unreachable, "what answers does not speak Kafka, it said b'SSH-2"),
    ],
)
def test_who_answers_in_another_language_is_named_in_the_log(
    caplog: pytest.LogCaptureFixture, answer: bytes, kind: type[ClientError], words: str
) -> None:
    with (
        listening(answer) as port,
        Producer(f"127.0.0.1:{port}", max_block_ms=300) as producer,
        pytest.raises(kind, match=re.escape(words)),
    ):
        producer.send("t", b"a").result(WAIT_S)
    assert any(f"127.0.0.1:{port}" in line and words in line for line in warnings_of(caplog))


def test_who_takes_connections_and_says_nothing_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with (
        listening(None) as port,
        Producer(f"127.0.0.1:{port}", max_block_ms=300) as producer,
        pytest.raises(Unreachable, match="connected, but no answer in 300 ms"),
    ):
        producer.send("t", b"a").result(WAIT_S)
    assert any("Is this a broker's port" in line for line in warnings_of(caplog))


def test_a_host_that_does_not_exist_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with (
        Producer("no-such-host.invalid:9092", max_block_ms=300) as producer,
        pytest.raises(Unreachable, match=r"no-such-host\.invalid:9092"),
    ):
        producer.send("t", b"a").result(WAIT_S)
    assert any("no-such-host.invalid:9092" in line for line in warnings_of(caplog))


def test_a_broker_that_is_away_is_told_of_seldom_and_once_when_it_is_back(
    broker_factory: Callable[[], BrokerProcess], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "leaselog.client")
    broker = broker_factory()
    create_topic(broker, "t")
    address = broker.address
    broker.stop()
    with ShareConsumer(address, group_id="g") as consumer, Producer(address) as producer:
        consumer.subscribe(["t"])
        receipt = producer.send("t", b"a")
        for _ in range(4):
            assert consumer.poll(0.5) == []
        away = warnings_of(caplog)
        broker.start()
        assert receipt.result(WAIT_S).offset == 0
        consumer.wait_until_ready(WAIT_S)
    # two clients, each at once and after a second
    assert 2 <= len(away) <= 6
    assert all(f"{address}: Connection refused. Is the broker running" in line for line in away)
    back = [
        r.getMessage() for r in caplog.records if r.levelname == "INFO" and "answers again" in r.getMessage()
    ]
    assert len(back) == 2
    assert all(f"{address} answers again, after" in line for line in back)


def test_a_topic_that_is_not_there_is_told_of_by_who_polls_and_who_sends(
    dead_broker: BrokerProcess, fresh, caplog: pytest.LogCaptureFixture
) -> None:
    missing = fresh("mistyped")
    with ShareConsumer(dead_broker.address, group_id="g", client_id="polls") as consumer:
        consumer.subscribe([missing])
        assert consumer.poll(2.5) == []
    with Producer(dead_broker.address, max_block_ms=2_500, client_id="sends") as producer:
        receipt = producer.send(missing, b"a")
        with pytest.raises(kafka_errors.UnknownTopicOrPartitionException, match=missing):
            receipt.result(WAIT_S)
    for who in ("polls", "sends"):
        assert any(
            who in line and f"topic '{missing}' does not exist" in line for line in warnings_of(caplog)
        )


@pytest.mark.parametrize("where", ["the process", "a child of multiprocessing"])
def test_a_producer_that_nobody_closed_delivers_when_the_process_ends(
    broker: BrokerProcess, fresh, where: str
) -> None:
    topic = create_topic(broker, fresh("t"))
    in_a_child = where != "the process"
    script = (
        "import multiprocessing\n"
        "from leaselog.client import Producer\n"
        f"producer = Producer({broker.address!r}, linger_ms=60_000)\n"
        "def work():\n"
        f"    for n in range(100): producer.send({topic!r}, b'%d' % n)\n"
        f"if {in_a_child}:\n"
        f"    producer.wait_until_ready()\n"
        "    child = multiprocessing.get_context('fork').Process(target=work)\n"
        "    child.start()\n"
        "    child.join()\n"
        "else:\n"
        "    work()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=WAIT_S, check=True
    )
    assert done.stderr.count("a producer was not closed: 100 records are delivered now") == 1
    assert [message.value() for message in read(broker, topic, 100)] == [b"%d" % n for n in range(100)]


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if record.levelname == "WARNING" and record.name == "leaselog.client"
    ]
