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
    DeliveryFailed,
    IllegalState,
    Producer,
    RecordMetadata,
    UnsupportedVersion,
    async_producer,
    blocking_producer,
    from_json,
)
from leaselog.client import producer as producer_module
from leaselog.client.errors import Unwritable
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

    def send(self, *record: Any, to: Any = "t", **more: Any) -> Callable[[], RecordMetadata]:
        receipt = self.producer.send(to, *record, **more)
        return lambda: receipt.result(WAIT_S)

    def flush(self) -> None:
        assert self.producer.flush(WAIT_S)

    def leave(self, error: Exception | None = None) -> None:
        """The end of a `with` block, which this error ended."""
        with self.producer:
            if error is not None:
                raise error

    def later(self) -> None:
        """Half an hour passes for whoever waits in the loop."""

        async def all_timers() -> None:
            _run_timers(asyncio.get_running_loop())

        self.producer._thread.run(all_timers())

    def close(self, timeout: float = WAIT_S) -> None:
        self.producer.close(timeout)

    end = close


class AsyncSide:
    name = "asyncio"

    def __init__(self, **config: Any) -> None:
        self.runner = asyncio.Runner()
        self.producer: Any = AsyncProducer(bootstrap_servers="host:9092", **config)

    def send(self, *record: Any, to: Any = "t", **more: Any) -> Callable[[], RecordMetadata]:
        try:
            receipt = self.runner.run(self.producer.send(to, *record, **more))
        except (BrokerError, RuntimeError) as refused:
            if str(refused).endswith("closed."):
                raise
            return lambda error=refused: _raise(error)  # type: ignore[misc]

        async def wait() -> RecordMetadata:
            async with asyncio.timeout(WAIT_S):
                return await receipt  # type: ignore[no-any-return]

        return lambda: self.runner.run(wait())

    def flush(self) -> None:
        assert self.runner.run(self.producer.flush(WAIT_S))

    def leave(self, error: Exception | None = None) -> None:
        async def block() -> None:
            async with self.producer:
                if error is not None:
                    raise error

        self.runner.run(block())

    def later(self) -> None:
        _run_timers(self.runner.get_loop())

    def close(self, timeout: float = WAIT_S) -> None:
        self.runner.run(self.producer.close(timeout))

    def end(self) -> None:
        self.close()
        self.runner.close()


def _raise(error: Exception) -> Any:
    raise error


def _run_timers(loop: Any) -> None:
    for timer in sorted(loop._scheduled, key=lambda timer: timer.when()):
        if "_say" in repr(timer) and not timer.cancelled():
            timer._run()
            timer.cancel()


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
    with pytest.raises(DeliveryFailed, match=r"1 record was not delivered: ConnectionLost"):
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
        ({"partitioner.class": "x"}, r"partitioner\.class: not supported"),
        ({"transactional.id": "x", "acks": 1}, r"transactional\.id needs"),
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


# -- mistakes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "more", "kind", "words"),
    [
        (("text",), {}, TypeError, "value: expected bytes, not str 'text'; value_serializer=from_string"),
        ((1,), {}, TypeError, "value: expected bytes, not int 1"),
        ((b"v", "key"), {}, TypeError, "key: expected bytes, not str 'key'"),
        ((b"v",), {"headers": [("h", "text")]}, TypeError, "header 'h': expected bytes or None, not str"),
        ((b"v",), {"headers": [(b"h", b"v")]}, TypeError, "headers: expected a str for a name, not bytes"),
        ((b"v",), {"headers": "ab"}, TypeError, "headers: expected pairs"),
        ((b"v",), {"headers": [("\ud800", b"v")]}, ValueError, "surrogates not allowed"),
        ((b"v",), {"partition": "0"}, TypeError, "partition: expected a whole number, not str '0'"),
        ((b"v",), {"partition": -1}, ValueError, "partition=-1: expected 0 to"),
        ((b"v",), {"partition": True}, TypeError, "partition: expected a whole number"),
        ((b"v",), {"timestamp_ms": 1.5}, TypeError, "timestamp_ms: expected a whole number, not float 1.5"),
        ((b"v",), {"timestamp_ms": 2**63}, ValueError, "timestamp_ms="),
        ((b"v",), {"to": b"t"}, TypeError, "topic: expected the name of one, a str, not bytes"),
        ((b"v",), {"to": ""}, ValueError, "the empty string is not allowed"),
        ((b"v",), {"to": "a topic!"}, ValueError, "characters other than ASCII alphanumerics"),
    ],
)
def test_what_cannot_be_sent_is_refused_in_the_call_and_costs_no_other_record(
    make: Make, record: tuple[Any, ...], more: dict[str, Any], kind: type[Exception], words: str
) -> None:
    cluster = Scripted()
    producer = make(cluster, linger_ms=60_000)
    before = producer.send(b"before")
    with pytest.raises(kind, match=words):
        producer.send(*record, **more)
    after = producer.send(b"after")
    producer.flush()
    assert [before().offset, after().offset] == [0, 1]
    assert cluster.arrived == [(0, 0, [b"before", b"after"])]


def test_bytes_of_any_kind_are_sent_as_they_were_in_the_call(make: Make) -> None:
    cluster = Scripted()
    producer = make(cluster, linger_ms=60_000)
    changing = bytearray(b"one")
    producer.send(changing)
    changing[:] = b"two"
    producer.send(memoryview(b"three"))
    producer.flush()
    assert cluster.arrived == [(0, 0, [b"one", b"three"])]


def test_headers_may_be_a_mapping(make: Make) -> None:
    producer = make(Scripted())
    assert producer.send(b"a", headers={"h": b"1", "none": None})().offset == 0


def test_a_serialiser_that_makes_no_bytes_is_named(make: Make) -> None:
    def careless(value: str) -> Any:
        return value.upper()

    producer = make(Scripted(), value_serializer=careless)
    with pytest.raises(TypeError, match=r"value: .*careless made str 'A' of str 'a', expected bytes"):
        producer.send("a")
    with pytest.raises(TypeError, match="from_string: expected a str, not bytes"):
        make(Scripted(), value_serializer="string").send(b"a")


def test_a_record_that_cannot_be_encoded_after_all_fails_alone(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the checks of the call have not thought of."""
    monkeypatch.setattr(async_producer, "serialized", lambda serializer, given, part: given)
    monkeypatch.setattr(blocking_producer, "serialized", lambda serializer, given, part: given)
    cluster = Scripted()
    producer = make(cluster, linger_ms=60_000)
    first = [producer.send(value) for value in (b"a", "b", b"c")]
    with pytest.raises(DeliveryFailed, match="1 record was not delivered: Unwritable: t-0: TypeError"):
        producer.flush()
    assert [first[0]().offset, first[2]().offset] == [0, 1]
    with pytest.raises(Unwritable, match="TypeError"):
        first[1]()
    assert producer.send(b"d")
    producer.flush()
    assert [values for _, _, values in cluster.arrived] == [[b"a", b"c"], [b"d"]]


def test_a_flush_raises_what_was_given_up_and_nobody_asked_for(make: Make) -> None:
    producer = make(Scripted(ErrorCode.MESSAGE_TOO_LARGE))
    producer.send(b"a")
    with pytest.raises(DeliveryFailed, match="1 record was not delivered: RecordTooLarge") as failed:
        producer.flush()
    assert failed.value.count == 1
    assert isinstance(failed.value.__cause__, BrokerError)
    producer.flush()  # told once


def test_what_a_receipt_has_told_a_flush_does_not_raise(make: Make) -> None:
    producer = make(Scripted(ErrorCode.MESSAGE_TOO_LARGE))
    with pytest.raises(BrokerError):
        producer.send(b"a")()
    producer.flush()


def test_the_end_of_the_block_raises_what_was_not_delivered(make: Make) -> None:
    producer = make(Scripted(ErrorCode.MESSAGE_TOO_LARGE))
    producer.send(b"a")
    with pytest.raises(DeliveryFailed):
        producer.leave()


def test_an_exception_in_the_block_goes_on_and_the_log_has_what_was_not_delivered(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    producer = make(Scripted(), linger_ms=60_000)
    producer.send(b"a")
    with pytest.raises(ZeroDivisionError):
        producer.leave(ZeroDivisionError())
    assert [(r.levelname, r.getMessage()) for r in caplog.records if r.name == "leaselog.client"] == [
        ("ERROR", "1 record was not delivered: ConnectionLost: the producer was closed")
    ]


def test_who_never_flushes_reads_in_the_log_what_was_not_delivered(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    producer = make(Scripted(*[ErrorCode.MESSAGE_TOO_LARGE] * 2), linger_ms=0)
    producer.send(b"a")
    with pytest.raises(BrokerError):
        producer.send(b"b")()  # asked, so that it is none of those
    producer.later()
    producer.later()
    said = [r.getMessage() for r in caplog.records if r.levelname == "ERROR"]
    assert len(said) == 1
    assert said[0].startswith("1 record was not delivered: RecordTooLarge")
    with pytest.raises(DeliveryFailed):
        producer.close()


class WithoutTopic(Scripted):
    """The cluster has no topic of this name, and it takes a while to be sure."""

    def __init__(self, missing: str) -> None:
        super().__init__()
        self.missing = missing
        self.sure = threading.Event()
        self.asked = 0

    async def topology(self, topics: list[str], *, auto_create: bool = False) -> Any:
        if self.missing in topics:
            self.asked += 1
            await asyncio.to_thread(self.sure.wait, WAIT_S)
            raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{self.missing}'")
        return await super().topology(topics)


def test_a_missing_topic_keeps_no_record_of_another_topic_waiting() -> None:
    cluster = WithoutTopic("mistyped")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocking_producer, "Cluster", lambda *_, **__: cluster)
        producer: Any = Producer("host:9092", linger_ms=0)
        lost = [producer.send("mistyped", b"a") for _ in range(3)]
        assert producer.send("t", b"b").result(WAIT_S).offset == 0
        cluster.sure.set()
        with pytest.raises(DeliveryFailed, match="3 records were not delivered: UnknownTopicOrPartition"):
            producer.close()
        assert cluster.asked == 1
        with pytest.raises(BrokerError, match="mistyped"):
            lost[2].result(WAIT_S)


def test_a_second_event_loop_is_refused_and_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(async_producer, "Cluster", lambda *_, **__: Scripted())
    producer: Any = AsyncProducer("host:9092", linger_ms=60_000)

    async def send() -> None:
        await producer.send("t", b"a")

    asyncio.run(send())
    assert [r.getMessage() for r in caplog.records if r.levelname == "ERROR"] == [
        "1 record was not delivered: ConnectionLost: the event loop ended before the producer was closed"
    ]
    for call in (send, producer.flush):
        with pytest.raises(IllegalState, match="began in another event loop"):
            asyncio.run(call())


@pytest.mark.parametrize("kind", [Producer, AsyncProducer])
def test_the_address_alone_is_a_configuration(kind: Any) -> None:
    assert kind("host:9092").config.bootstrap_servers == "host:9092"
    assert kind("host:9092", linger_ms=7).config.settings.limits.linger_ms == 7
    with pytest.raises(ConfigError, match="nonsense"):
        kind("nonsense")


@pytest.mark.parametrize("kind", [Producer, AsyncProducer])
def test_librdkafkas_names_of_a_configuration_are_understood(kind: Any) -> None:
    config = kind(
        {
            "metadata.broker.list": "host:9092",
            "queue.buffering.max.ms": "7",
            "message.timeout.ms": 8_000,
            "compression.codec": "lz4",
            "request.required.acks": -1,
        }
    ).config
    assert config.settings.limits.linger_ms == 7
    assert config.settings.limits.delivery_timeout_ms == 8_000
    assert config.settings.compression.name == "LZ4"
