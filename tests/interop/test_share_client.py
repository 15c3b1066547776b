"""leaselog's own share consumers against a real broker: leaselog's, or Apache Kafka's with the same scenarios.

Both flavours where the flavour could matter. What is accepted stays accepted, whatever breaks; what is not comes
again; and what is worked on is nobody else's meanwhile.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka.admin import NewPartitions

from interop.broker_process import BrokerProcess, is_kafka
from interop.confluent_io import Sent, admin_of, create_topic, numbered, produce
from interop.test_share_librdkafka import SHORT_LOCKS, set_group
from leaselog.client import (
    AcknowledgeType,
    AsyncShareConsumer,
    BrokerError,
    RecordDeserializationError,
    ShareConsumer,
    Transient,
    UnsupportedVersion,
    as_json,
)
from leaselog.client.share.processing import Acknowledgement
from leaselog.model import ErrorCode

pytestmark = pytest.mark.all_on_kafka

ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
WAIT_S = 60.0
#: Locks that have to be renewed in time, on a machine that may be busy with other things.
LOCK_S = 3.0
#: of a release; longer than anything takes that does not wait
DELAY_S = 4.0


class InLoop:
    """The asyncio consumer called from a test's thread; its loop runs all the time, as in a service."""

    def __init__(self, *args: Any, **more: Any) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self.consumer = AsyncShareConsumer[Any, Any](*args, **more)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.consumer, name)
        return self._crossing(found) if callable(found) and name not in ("wakeup", "processing") else found

    def _crossing(self, found: Callable[..., Any]) -> Callable[..., Any]:
        async def within(args: Any, more: Any) -> Any:
            made = found(*args, **more)
            return await made if inspect.isawaitable(made) else made

        return lambda *args, **more: asyncio.run_coroutine_threadsafe(within(args, more), self.loop).result()

    def end(self) -> None:
        self.close(WAIT_S)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class Blocking(ShareConsumer[Any, Any]):
    def end(self) -> None:
        self.close(WAIT_S)


Make = Callable[..., Any]


@pytest.fixture(params=[Blocking, InLoop], ids=["blocking", "asyncio"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """A subscribed consumer, explicit unless said otherwise; underscores stand for dots."""
    yield from _making(request.param)


@pytest.fixture
def blocking() -> Iterator[Make]:
    """For scenarios in which the flavour cannot matter."""
    yield from _making(Blocking)


def _making(kind: type[Any]) -> Iterator[Make]:
    made: list[Any] = []

    def maker(broker: BrokerProcess, group: str, topic: str, **config: Any) -> Any:
        named = {"share_acknowledgement_mode": "explicit", "client_id": "ours", **config}
        consumer = kind({"bootstrap.servers": broker.address, "group.id": group}, **named)
        made.append(consumer)
        consumer.subscribe([topic])
        return consumer

    yield maker
    for consumer in made:
        consumer.end()


def steady_group(broker: BrokerProcess, fresh: Callable[[str], str]) -> str:
    return set_group(broker, fresh("g"), share_record_lock_duration_ms=str(int(1000 * LOCK_S)))


def take(consumer: Any, count: int, kind: AcknowledgeType | None = ACCEPT) -> list[Any]:
    """At least so many records, and all that came with them, acknowledged unless ``kind`` is None."""
    records: list[Any] = []
    deadline = time.monotonic() + WAIT_S
    while len(records) < count:
        assert time.monotonic() < deadline, f"{len(records)} of {count} records"
        for record in consumer.poll(0.5):
            records.append(record)
            if kind is not None:
                consumer.acknowledge(record, kind)
    return records


def values(records: list[Any]) -> list[bytes]:
    return [record.value for record in records]


def nothing_comes(consumer: Any, for_s: float = 1.5) -> bool:
    deadline = time.monotonic() + for_s
    while time.monotonic() < deadline:
        if consumer.poll(0.2):
            return False
    return True


@pytest.mark.on_kafka
def test_everything_is_delivered_once_and_in_order(broker, fresh, make) -> None:
    topic, group = create_topic(broker, fresh("t"), 2), set_group(broker, fresh("g"))
    sent = [Sent(b"k", b"%d" % i, (("h", b"x"),), i % 2, 1_700_000_000_000 + i) for i in range(2_000)]
    produce(broker, topic, sent, compression_type="lz4")
    with_headers = take(make(broker, group, topic, share_acknowledgement_mode="implicit"), 2_000, None)
    for partition in (0, 1):
        mine = [record for record in with_headers if record.partition == partition]
        assert [int(record.value) for record in mine] == list(range(partition, 2_000, 2))
        assert [record.offset for record in mine] == list(range(1_000))
    first = with_headers[0]
    assert (first.key, list(first.headers), first.delivery_count) == (b"k", [("h", b"x")], 1)
    assert first.timestamp_ms == 1_700_000_000_000 + int(first.value)


@pytest.mark.on_kafka
def test_each_type_does_what_it_says(broker, fresh, make) -> None:
    topic, group = create_topic(broker, fresh("t")), set_group(broker, fresh("g"))
    produce(broker, topic, numbered(3))
    consumer = make(broker, group, topic)
    accepted, released, rejected = take(consumer, 3, None)
    consumer.acknowledge(accepted)
    consumer.acknowledge(topic, 0, released.offset, RELEASE)
    consumer.acknowledge(rejected, REJECT)
    ((where, error),) = consumer.commit_sync(WAIT_S).items()
    assert (where.topic, where.partition, error) == (topic, 0, None)
    (again,) = take(consumer, 1)
    assert (again.offset, again.delivery_count) == (released.offset, 2)
    assert list(consumer.commit_sync(WAIT_S).values()) == [None]
    assert nothing_comes(consumer)


def test_an_acknowledgement_after_the_lock_ran_out_is_refused(share_broker, fresh, make) -> None:
    topic, group = create_topic(share_broker, fresh("t")), steady_group(share_broker, fresh)
    produce(share_broker, topic, numbered(1))
    consumer = make(share_broker, group, topic)
    (record,) = take(consumer, 1, None)
    other = make(share_broker, group, topic)
    (again,) = take(other, 1)  # as soon as the lock is over
    assert again.delivery_count == 2
    assert list(other.commit_sync(WAIT_S).values()) == [None]
    produce(share_broker, topic, numbered(1))
    consumer.acknowledge(record)
    (error,) = consumer.commit_sync(WAIT_S).values()
    # what lies before the group's start is said to be fine; in between it is not
    assert error is None or (isinstance(error, BrokerError) and error.code is ErrorCode.INVALID_RECORD_STATE)


@pytest.mark.on_kafka
def test_a_renewed_record_is_presented_again_and_stays_ours(share_broker, fresh, make) -> None:
    topic, group = create_topic(share_broker, fresh("t")), steady_group(share_broker, fresh)
    produce(share_broker, topic, numbered(1))
    consumer = make(share_broker, group, topic)
    (record,) = take(consumer, 1, None)
    assert consumer.acquisition_lock_timeout == LOCK_S
    end = time.monotonic() + 1.5 * LOCK_S
    while time.monotonic() < end:
        time.sleep(LOCK_S / 6)
        consumer.acknowledge(record, RENEW)
        assert consumer.poll(WAIT_S) == [record]
        assert record.delivery_count == 1
    consumer.acknowledge(record)
    assert list(consumer.commit_sync(WAIT_S).values()) == [None]


def test_what_is_being_processed_is_renewed_by_itself(share_broker, fresh, make) -> None:
    topic, group = create_topic(share_broker, fresh("t")), steady_group(share_broker, fresh)
    produce(share_broker, topic, numbered(2))
    consumer, other = make(share_broker, group, topic), make(share_broker, group, topic)
    first, second = take(consumer, 2, None)
    for record in (first, second):
        if isinstance(consumer, InLoop):
            consumer._crossing(lambda r=record: consumer.processing(r).__enter__())()
        else:
            consumer.processing(record).__enter__()
        assert nothing_comes(other, 1.5 * LOCK_S)
        consumer.end_work_on(record, Acknowledgement(ACCEPT), insist=True)
    assert list(consumer.commit_sync(WAIT_S).values()) == [None]
    assert nothing_comes(other, LOCK_S)


@pytest.mark.on_kafka
def test_closing_gives_back_at_once(broker, fresh, make) -> None:
    topic, group = create_topic(broker, fresh("t")), set_group(broker, fresh("g"))
    produce(broker, topic, numbered(10))
    consumer = make(broker, group, topic)
    first, *_ = take(consumer, 10, None)
    consumer.acknowledge(first)
    consumer.close(WAIT_S)
    again = take(make(broker, group, topic), 9)
    assert [record.offset for record in again] == list(range(1, 10))
    assert {record.delivery_count for record in again} == {2}


@pytest.mark.on_kafka
def test_a_release_with_a_delay_waits_where_the_broker_knows_how(broker, fresh, make, caplog) -> None:
    topic, group = create_topic(broker, fresh("t")), set_group(broker, fresh("g"))
    produce(broker, topic, numbered(2))
    consumer = make(broker, group, topic)
    first, second = take(consumer, 2, None)
    consumer.release(first, delay=DELAY_S)
    consumer.accept(second)
    released_s = time.monotonic()
    assert list(consumer.commit_sync(WAIT_S).values()) == [None]
    (again,) = take(consumer, 1)
    has_waited = time.monotonic() - released_s >= DELAY_S
    assert (again.offset, again.delivery_count) == (first.offset, 2)
    assert has_waited != is_kafka()
    assert caplog.text.count("is no leaselog broker") == int(is_kafka())


@pytest.mark.on_kafka
def test_what_nobody_began_costs_no_delivery_where_the_broker_knows_how(broker, fresh, make) -> None:
    topic, group = create_topic(broker, fresh("t")), set_group(broker, fresh("g"))
    produce(broker, topic, numbered(3))
    consumer = make(broker, group, topic)
    first, second, third = take(consumer, 3, None)
    consumer.give_back(first)
    consumer.release(second)
    consumer.accept(third)
    assert list(consumer.commit_sync(WAIT_S).values()) == [None]
    again = take(consumer, 2, None)
    assert [(r.offset, r.delivery_count) for r in again] == [(0, 2 if is_kafka() else 1), (1, 2)]
    if isinstance(consumer, InLoop):
        consumer._crossing(lambda: consumer.processing(again[1]).__enter__())()
    else:
        consumer.processing(again[1]).__enter__()
    consumer.close(WAIT_S)  # which has seen the second one begin, and not the first
    counts = {r.offset: r.delivery_count for r in take(make(broker, group, topic), 2)}
    assert counts == {0: 3 if is_kafka() else 1, 1: 3}


@pytest.mark.on_kafka
def test_record_limit_is_a_limit(broker, fresh, make) -> None:
    topic, group = create_topic(broker, fresh("t")), set_group(broker, fresh("g"))
    produce(broker, topic, numbered(100))
    consumer = make(broker, group, topic, share_acquire_mode="record_limit", max_poll_records=7)
    seen: list[int] = []
    while len(seen) < 100:
        records = consumer.poll(WAIT_S)
        assert 0 < len(records) <= 7
        for record in records:
            seen.append(record.offset)
            consumer.acknowledge(record)
    assert seen == list(range(100))


@pytest.mark.on_kafka
def test_a_record_that_cannot_be_deserialised_is_released_until_it_is_rejected(broker, fresh, make) -> None:
    topic, group = create_topic(broker, fresh("t")), set_group(broker, fresh("g"))
    produce(broker, topic, [Sent(value=b'{"a": 1}'), Sent(value=b"oh no"), Sent(value=b"null")])
    consumer = make(broker, group, topic, value_deserializer=as_json)
    good, bad, null = take(consumer, 3, None)
    assert (good.value, null.value) == ({"a": 1}, None)
    with pytest.raises(RecordDeserializationError):
        _ = bad.value
    consumer.acknowledge(good)
    consumer.acknowledge(null)
    (again,) = take(consumer, 1, None)
    assert (again.raw_value, again.delivery_count) == (b"oh no", 2)
    consumer.acknowledge(again, REJECT)
    assert list(consumer.commit_sync(WAIT_S).values()) == [None]
    assert nothing_comes(consumer)


@pytest.mark.on_kafka
def test_members_share_a_partition_and_no_record_twice(broker, fresh, blocking) -> None:
    topic, group = create_topic(broker, fresh("t")), set_group(broker, fresh("g"))
    settings = {"share_acquire_mode": "record_limit", "max_poll_records": 10}
    consumers = [blocking(broker, group, topic, **settings) for _ in range(3)]
    for consumer in consumers:
        consumer.poll(0)
    produce(broker, topic, numbered(600))
    seen = list[list[int]]([[], [], []])
    deadline = time.monotonic() + WAIT_S
    while sum(map(len, seen)) < 600:
        assert time.monotonic() < deadline, [len(some) for some in seen]
        for consumer, mine in zip(consumers, seen, strict=True):
            for record in consumer.poll(0.2):
                mine.append(record.offset)
                consumer.acknowledge(record)
    assert sorted(offset for mine in seen for offset in mine) == list(range(600))
    assert all(seen)


def test_a_topic_that_grows_and_one_that_is_made_later_are_noticed(broker, fresh, blocking) -> None:
    topic, later = create_topic(broker, fresh("t")), fresh("later")
    group = set_group(broker, fresh("g"))
    consumer = blocking(broker, group, topic, metadata_max_age_ms=500, allow_auto_create_topics=False)
    consumer.subscribe([topic, later])
    produce(broker, topic, numbered(1))
    take(consumer, 1)
    admin_of(broker).create_partitions([NewPartitions(topic, 3)])[topic].result(WAIT_S)
    produce(broker, topic, [Sent(value=b"grown", partition=2)])
    assert values(take(consumer, 1)) == [b"grown"]
    create_topic(broker, later)
    produce(broker, later, [Sent(value=b"made later")])
    assert values(take(consumer, 1)) == [b"made later"]


def test_nothing_is_lost_when_the_broker_restarts(broker_factory, fresh, make) -> None:
    broker = broker_factory(SHORT_LOCKS)
    topic, group = create_topic(broker, fresh("t")), set_group(broker, fresh("g"))
    produce(broker, topic, numbered(300))
    consumer = make(broker, group, topic, share_acquire_mode="record_limit", max_poll_records=20)
    accepted = Counter[int]()

    def work_until(count: int) -> None:
        deadline = time.monotonic() + WAIT_S
        while len(accepted) < count:
            assert time.monotonic() < deadline, f"{len(accepted)} of {count}"
            records = consumer.poll(0.5)
            for record in records:
                consumer.acknowledge(record)
            if records and list(consumer.commit_sync(5).values()) == [None]:
                accepted.update(record.offset for record in records)

    work_until(60)
    consumer.poll(WAIT_S)  # held while the broker is away
    broker.stop()
    broker.start()
    for offset in range(300):
        if consumer_holds(consumer, topic, offset):
            consumer.acknowledge(topic, 0, offset)
    work_until(300)
    assert set(accepted) == set(range(300))
    assert max(accepted.values()) == 1, "what was accepted came again"


def consumer_holds(consumer: Any, topic: str, offset: int) -> bool:
    inner = consumer.consumer if isinstance(consumer, InLoop) else consumer._consumer
    return any(
        record.offset == offset and record.topic == topic for record in inner.core.holdings.unacknowledged()
    )


@pytest.mark.on_kafka
def test_run_finishes_everything_with_several_handlers(broker, fresh, blocking) -> None:
    topic, group = create_topic(broker, fresh("t"), 3), set_group(broker, fresh("g"))
    produce(broker, topic, [Sent(value=b"%d" % n, partition=n % 3) for n in range(500)])
    consumer = blocking(broker, group, topic)
    seen = Counter[tuple[int, int]]()
    together: list[int] = [0, 0]
    guard = threading.Lock()

    def handler(record: Any) -> None:
        with guard:
            together[0] += 1
            together[1] = max(together)
            seen[record.partition, record.offset] += 1
            total = len(seen)
        if (record.partition, record.offset) == (0, 3) and record.delivery_count == 1:
            with guard:
                together[0] -= 1
            raise Transient("try again")
        with guard:
            together[0] -= 1
        if total == 500 and seen[0, 3] == 2:
            consumer.wakeup()

    consumer.run(handler, concurrency=8)
    assert len(seen) == 500
    assert seen.pop((0, 3)) == 2
    assert set(seen.values()) == {1}
    assert nothing_comes(blocking(broker, group, topic))


def test_run_renews_for_slow_handlers_and_gives_back_the_rest(share_broker, fresh) -> None:
    topic, group = create_topic(share_broker, fresh("t")), steady_group(share_broker, fresh)
    produce(share_broker, topic, numbered(20))
    seen = Counter[int]()

    async def main() -> None:
        config = {"bootstrap.servers": share_broker.address, "group.id": group}
        async with AsyncShareConsumer(config) as consumer:
            consumer.subscribe([topic])

            async def slow(record: Any) -> None:
                seen[record.offset] += 1
                await asyncio.sleep(1.5 * LOCK_S)
                consumer.wakeup()

            await consumer.run(slow, concurrency=4)
        async with AsyncShareConsumer(config, share_acknowledgement_mode="explicit") as other:
            other.subscribe([topic])
            rest: list[Any] = []
            deadline = time.monotonic() + WAIT_S
            while len(rest) < 20 - len(seen) and time.monotonic() < deadline:
                for record in await other.poll(0.5):
                    rest.append(record)
                    other.acknowledge(record)
            assert sorted([*seen, *(record.offset for record in rest)]) == list(range(20))
            assert max(record.delivery_count for record in rest) <= 2

    asyncio.run(main())
    assert set(seen.values()) == {1}
    assert len(seen) >= 4


def test_a_cancelled_worker_accepts_nothing_it_has_not_finished(share_broker, fresh) -> None:
    topic, group = create_topic(share_broker, fresh("t")), steady_group(share_broker, fresh)
    produce(share_broker, topic, numbered(12))
    begun: set[int] = set()
    finished: set[int] = set()

    async def main() -> set[int]:
        config = {"bootstrap.servers": share_broker.address, "group.id": group}
        async with AsyncShareConsumer(config) as consumer:
            consumer.subscribe([topic])
            enough = asyncio.Event()

            async def handler(record: Any) -> None:
                begun.add(record.offset)
                if len(begun) >= 8:
                    enough.set()
                if record.offset % 3:
                    await asyncio.sleep(WAIT_S)
                finished.add(record.offset)

            worker = asyncio.create_task(consumer.run(handler, concurrency=6))
            async with asyncio.timeout(WAIT_S):
                await enough.wait()
            worker.cancel()
            with pytest.raises(asyncio.CancelledError):
                await worker
        came: set[int] = set()
        async with AsyncShareConsumer(config) as other:
            other.subscribe([topic])
            deadline = time.monotonic() + WAIT_S
            while len(came) < 12 - len(finished) and time.monotonic() < deadline:
                came |= {record.offset for record in await other.poll(0.5)}
        return came

    assert asyncio.run(main()) == set(range(12)) - finished


@pytest.mark.on_kafka
def test_the_instance_id_is_the_brokers_to_give(broker, fresh, make) -> None:
    consumer = make(broker, fresh("g"), create_topic(broker, fresh("t")))
    try:
        first = consumer.client_instance_id(WAIT_S)
    except UnsupportedVersion:
        return  # a broker that collects no telemetry
    assert consumer.client_instance_id(WAIT_S) == first


def test_closing_does_not_hang_when_the_broker_is_gone(broker_factory, fresh, make) -> None:
    broker = broker_factory(SHORT_LOCKS)
    topic, group = create_topic(broker, fresh("t")), set_group(broker, fresh("g"))
    produce(broker, topic, numbered(1))
    consumer = make(broker, group, topic)
    (record,) = take(consumer, 1, None)
    consumer.acknowledge(record)
    broker.kill()
    begun = time.monotonic()
    consumer.close(30)
    assert time.monotonic() - begun < 10
