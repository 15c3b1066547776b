"""A Worker against a real broker: several topics, results that are there before their record is accepted, traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from interop.broker_process import BrokerProcess
from interop.confluent_io import create_topic
from leaselog.client import Producer, ShareConsumer, ShareRecord, Transient, Worker, trace_headers

pytestmark = pytest.mark.all_on_kafka

PARENT = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@dataclass
class Order:
    item: str
    count: int = 1


def take(broker: BrokerProcess, group: str, topic: str, count: int) -> list[ShareRecord[bytes, bytes]]:
    """As another worker does, which begins with the first record."""
    found = list[ShareRecord[bytes, bytes]]()
    with ShareConsumer(broker.address, group_id=group) as consumer:
        consumer.subscribe([topic])

        def work(record: ShareRecord[bytes, bytes]) -> None:
            found.append(record)
            if len(found) == count:
                consumer.wakeup()

        consumer.run(work, handle_signals=False)
    return found


@pytest.mark.on_kafka
def test_each_topic_has_its_handler_and_a_result_carries_key_correlation_and_trace(
    broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    orders, clicks, packed = (create_topic(broker, fresh("t")) for _ in range(3))
    done = list[Any]()
    worker = Worker(broker.address, group=fresh("g"), concurrency=2, retry_delays=(0.1,))

    def finished(what: object) -> None:
        done.append(what)
        if len(done) == 4:
            worker.stop()

    @worker.middleware
    async def shout(record: Any, call_next: Any) -> Any:
        result = await call_next(record)
        return result if result is None else {**result, "by": "the worker"}

    @worker.handler(orders, result_topic=packed)
    def pack(order: Order, record: ShareRecord[bytes, bytes]) -> dict[str, object] | None:
        if record.delivery_count == 1:
            raise Transient("not yet")
        finished((order, trace_headers()))
        return {"packed": order.item} if order.item == "lamp" else None

    @worker.handler(clicks, batch=2)
    async def count(numbers: list[int]) -> None:
        for number in numbers:
            finished(number)

    with Producer(broker.address) as producer:
        producer.send(
            orders,
            b'{"item": "lamp"}',
            b"k",
            headers={"traceparent": PARENT, "tracestate": b"shop=1", "correlation-id": b"c"},
        )
        producer.send(orders, b'{"item": "chair"}')
        for number in (b"1", b"2"):
            producer.send(clicks, number)
    worker.run()
    assert sorted(one for one in done if isinstance(one, int)) == [1, 2]
    traces = {order.item: headers for order, headers in (one for one in done if not isinstance(one, int))}
    assert dict(traces["lamp"])["traceparent"].split(b"-")[1] == PARENT.split(b"-")[1]
    (result,) = take(broker, fresh("g"), packed, 1)
    assert (result.value, result.key) == (b'{"packed":"lamp","by":"the worker"}', b"k")
    headers = dict(result.headers)
    assert (headers["correlation-id"], headers["result-of"]) == (b"c", f"{orders}/0/0".encode())
    parent = headers["traceparent"]
    assert parent is not None
    assert parent.split(b"-")[1] == PARENT.split(b"-")[1]
    assert headers["tracestate"] == b"shop=1"


@pytest.mark.on_kafka
def test_a_record_whose_result_was_not_taken_is_not_accepted(
    broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    orders, packed = create_topic(broker, fresh("t")), create_topic(broker, fresh("t"))
    tried = list[int]()

    def told(record: ShareRecord[Any, Any], error: Exception, kind: object) -> None:
        worker.stop()

    group = fresh("g")
    worker = Worker(broker.address, group=group, retry_delays=(0,), on_error=told)

    @worker.handler(orders, result_topic=packed)
    def pack(record: ShareRecord[Any, Any]) -> bytes:
        tried.append(record.offset)
        return bytes(2_000_000)  # more than a producer takes

    with Producer(broker.address) as producer:
        producer.send(orders, b"1")
    worker.run()
    assert tried
    (again,) = take(broker, group, orders, 1)
    assert again.delivery_count > 1
