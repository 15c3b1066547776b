"""What both producers do, the blocking one and asyncio's: one contract over a cluster that answers as scripted."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from test_client_producer import ScriptedCluster, Step

from leaselog.client import (
    AsyncProducer,
    BrokerError,
    ConfigError,
    ConnectionLost,
    Producer,
    RecordMetadata,
    UnsupportedVersion,
    async_producer,
    blocking_producer,
    from_json,
)
from leaselog.client import producer as producer_module
from leaselog.model import ErrorCode

WAIT_S = 30.0


class Scripted(ScriptedCluster):
    def __init__(self, *steps: Step) -> None:
        super().__init__(*steps)
        self.is_closed = False

    async def close(self) -> None:
        self.is_closed = True


class BlockingSide:
    name = "blocking"

    def __init__(self, **config: Any) -> None:
        self.producer: Any = Producer(bootstrap_servers="host:9092", **config)

    def send(self, *record: Any, **more: Any) -> Callable[[], RecordMetadata]:
        receipt = self.producer.send("t", *record, **more)
        return lambda: receipt.result(WAIT_S)

    def flush(self) -> None:
        assert self.producer.flush(WAIT_S)

    def close(self, timeout: float = WAIT_S) -> None:
        self.producer.close(timeout)

    end = close


class AsyncSide:
    name = "asyncio"

    def __init__(self, **config: Any) -> None:
        self.runner = asyncio.Runner()
        self.producer: Any = AsyncProducer(bootstrap_servers="host:9092", **config)

    def send(self, *record: Any, **more: Any) -> Callable[[], RecordMetadata]:
        try:
            receipt = self.runner.run(self.producer.send("t", *record, **more))
        except (BrokerError, RuntimeError) as refused:
            if str(refused).endswith("closed."):
                raise
            return lambda error=refused: _raise(error)  # type: ignore[misc]

        async def wait() -> RecordMetadata:
            async with asyncio.timeout(WAIT_S):
                return await receipt  # type: ignore[no-any-return]

        return lambda: self.runner.run(wait())

    def flush(self) -> None:
        self.runner.run(self.producer.flush())

    def close(self, timeout: float = WAIT_S) -> None:
        self.runner.run(self.producer.close(timeout))

    def end(self) -> None:
        self.close()
        self.runner.close()


def _raise(error: Exception) -> Any:
    raise error


Make = Callable[..., Any]


@pytest.fixture(params=[BlockingSide, AsyncSide], ids=lambda side: side.name)
def make(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.setattr(producer_module, "RETRY_BACKOFF_MS", 0)
    made: list[Any] = []

    def maker(cluster: Scripted, **config: Any) -> Any:
        for module in (async_producer, blocking_producer):
            monkeypatch.setattr(module, "Cluster", lambda *_, **__: cluster)
        made.append(request.param(**config))
        return made[-1]

    yield maker
    for side in made:
        side.end()


def test_a_receipt_tells_where_the_record_went(make: Make) -> None:
    producer = make(Scripted())
    receipts = [producer.send(b"a"), producer.send(b"b", b"key"), producer.send(None, b"key")]
    assert [receipt() for receipt in receipts] == [RecordMetadata("t", 0, offset) for offset in range(3)]
    assert receipts[0]().offset == 0  # as often as one likes


def test_records_travel_in_batches_and_numbered(make: Make) -> None:
    cluster = Scripted()
    producer = make(cluster, linger_ms=60_000)
    receipts = [producer.send(b"%d" % i) for i in range(5)]
    producer.flush()
    assert cluster.arrived == [(0, 0, [b"0", b"1", b"2", b"3", b"4"])]
    assert [receipt().offset for receipt in receipts] == [0, 1, 2, 3, 4]


def test_closing_delivers_what_was_handed_over(make: Make) -> None:
    cluster = Scripted()
    producer = make(cluster, linger_ms=60_000)
    receipt = producer.send(b"a")
    producer.close()
    assert receipt().offset == 0
    assert cluster.is_closed
    with pytest.raises(RuntimeError, match="already been closed"):
        producer.send(b"b")


def test_closing_without_time_tells_each_receipt(make: Make) -> None:
    producer = make(Scripted(*[ErrorCode.NOT_LEADER_OR_FOLLOWER] * 1_000), linger_ms=60_000)
    receipt = producer.send(b"a")
    producer.close(0)
    with pytest.raises(ConnectionLost, match="closed"):
        receipt()


def test_a_refused_record_raises_from_its_receipt(make: Make) -> None:
    producer = make(Scripted(ErrorCode.MESSAGE_TOO_LARGE))
    with pytest.raises(BrokerError, match="MESSAGE_TOO_LARGE"):
        producer.send(b"a")()
    assert producer.send(b"b")().offset == 0


def test_a_record_too_large_for_a_request_is_refused_by_itself(make: Make) -> None:
    producer = make(Scripted(), max_request_size=100)
    with pytest.raises(BrokerError, match=r"max\.request\.size is 100"):
        producer.send(b"x" * 200)()
    assert producer.send(b"b")().offset == 0


def test_a_partition_that_is_not_there_is_refused(make: Make) -> None:
    with pytest.raises(BrokerError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        make(Scripted()).send(b"a", partition=7)()


def test_what_may_pass_is_sent_again(make: Make) -> None:
    cluster = Scripted(ConnectionLost("gone"), ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert make(cluster).send(b"a")().offset == 0
    assert len(cluster.arrived) == 3


def test_when_nothing_can_be_sent_any_more_no_receipt_waits(make: Make) -> None:
    producer = make(Scripted(UnsupportedVersion("too old")))
    with pytest.raises(UnsupportedVersion):
        producer.send(b"a")()


def test_serialisers_make_the_bytes(make: Make) -> None:
    cluster = Scripted()
    producer = make(cluster, key_serializer="string", value_serializer=from_json)
    producer.send({"ä": [1, None]}, "key")()
    assert cluster.arrived[0][2] == ['{"ä":[1,null]}'.encode()]


@pytest.mark.parametrize("kind", [Producer, AsyncProducer])
@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"transactional.id": "x"}, r"transactional\.id: not supported"),
        ({"liner.ms": 1}, r"liner\.ms is not a producer configuration; linger\.ms\?"),
        ({"acks": "some"}, "acks=some: expected one of all"),
        ({"acks": 1, "enable.idempotence": True}, "needs acks=all"),
        ({"max.in.flight.requests.per.connection": 6}, "of 5 at most"),
        ({"compression.type": "rar"}, "compression.type=rar"),
        ({"value.serializer": "avro"}, "value.serializer"),
    ],
)
def test_a_wrong_configuration_is_refused_by_name(kind: Any, config: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        kind(config, bootstrap_servers="host:9092")


def test_any_number_of_threads_may_send(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Scripted()
    producer = make(cluster)
    if isinstance(producer, AsyncSide):
        return  # it belongs to its loop
    monkeypatch.setattr(blocking_producer, "QUEUE_RECORDS", 10)  # so that they have to wait for each other
    receipts: list[Callable[[], RecordMetadata]] = []

    def send() -> None:
        for _ in range(100):
            receipts.append(producer.send(b"x"))  # noqa: PERF401 - one after the other is the point

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(receipt().offset for receipt in receipts) == list(range(400))
