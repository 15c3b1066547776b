"""Handlers by decorator, over a model cluster: who gets what, what is around it, and what becomes of a record."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import pytest
from share_cluster_model import TOPIC, ModelCluster
from share_flavours import BASE, ModelDoor

from leaselog.client import (
    AcknowledgeType,
    AsyncShareConsumer,
    ConfigError,
    IllegalState,
    RecordDeserializationError,
    Reject,
    ShareRecord,
    Transient,
    Worker,
)
from leaselog.client.share import retrying

ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
LETTERS = "errors.deadletterqueue.topic.name"


@dataclass
class Order:
    item: str
    count: int = 1


def cluster(*values: bytes | None) -> ModelCluster:
    model = ModelCluster()
    model.produce(list(values))
    return model


def run(worker: Worker, model: ModelCluster, **options: Any) -> None:
    """Until somebody stops it."""

    async def main() -> None:
        consumer: Any = AsyncShareConsumer(worker.config())
        consumer._carrier.cluster = ModelDoor(model)
        async with asyncio.timeout(10), consumer:
            await worker.work(consumer, handle_signals=False, **options)

    asyncio.run(main())


def make(**options: Any) -> Worker:
    return Worker(BASE, retry_delays=(0,), **options)


def kinds(model: ModelCluster, offset: int) -> list[int]:
    return [said.kind for said in model.logs[0][offset].acknowledged]


# -- what a handler gets -----------------------------------------------------------------------------------


@pytest.mark.parametrize("flavour", ["plain", "async"])
def test_a_handler_gets_what_its_annotation_says(flavour: str) -> None:
    worker, seen = make(), list[Any]()

    if flavour == "plain":

        @worker.handler(TOPIC)
        def pack(order: Order) -> None:
            seen.append(order)
            worker.stop()

    else:

        @worker.handler(TOPIC)
        async def pack_async(order: Order) -> None:
            await asyncio.sleep(0)
            seen.append(order)
            worker.stop()

    model = cluster(b'{"item": "lamp", "count": 2}')
    run(worker, model)
    assert seen == [Order("lamp", 2)]
    assert model.ended() == {0: ACCEPT}


def test_a_second_parameter_is_the_record() -> None:
    worker, seen = make(), list[Any]()

    @worker.handler(TOPIC)
    def pack(order: dict[str, Any], record: ShareRecord[bytes, bytes]) -> None:
        seen.append((order, record.offset, record.raw_key))
        worker.stop()

    run(worker, cluster(b'{"a": 1}'))
    assert seen == [({"a": 1}, 0, b"k0")]


@pytest.mark.parametrize("annotated", [False, True])
def test_without_another_annotation_it_is_the_record(annotated: bool) -> None:
    worker, seen = make(), list[Any]()

    def pack(record: Any) -> None:
        seen.append(record)
        worker.stop()

    pack.__annotations__ = {"record": ShareRecord} if annotated else {}
    worker.handler(TOPIC)(pack)
    run(worker, cluster(b"x"))
    assert isinstance(seen[0], ShareRecord)


def test_a_function_of_bytes_may_decode() -> None:
    worker, seen = make(), list[Any]()

    @worker.handler(TOPIC, decode=lambda value: value.hex())
    def pack(order: str) -> None:
        seen.append(order)
        worker.stop()

    run(worker, cluster(b"\x01"))
    assert seen == ["01"]


def test_a_partial_and_a_bound_method_are_handlers() -> None:
    worker, seen = make(), list[Any]()

    class Shop:
        def pack(self, mark: str, order: str) -> None:
            seen.append((mark, order))
            worker.stop()

    worker.handler(TOPIC)(functools.partial(Shop().pack, "m"))
    run(worker, cluster(b"x"))
    assert len(seen) == 1


def nothing() -> None: ...


def three(a: int, b: ShareRecord[Any, Any], c: int) -> None: ...


def unknown(a: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def impossible(a: complex) -> None: ...


def second(a: int, b: int) -> None: ...


def yields(a: int) -> Any:
    yield a


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (nothing, "is no handler: expected a payload and, if it likes, the record"),
        (three, "is no handler"),
        (unknown, "'Nowhere' is not defined"),
        (impossible, "a payload cannot become complex"),
        (second, "its second parameter is the ShareRecord"),
        (yields, "yields: expected a function that is done"),
        (7, "is no handler"),
    ],
)
def test_what_could_not_be_called_is_refused_when_it_is_declared(function: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        make().handler(TOPIC)(function)


def test_a_topic_has_one_handler_and_a_handler_has_topics() -> None:
    worker = make()
    worker.handler("a", "b")(lambda record: None)
    with pytest.raises(ValueError, match="b has a handler already"):
        worker.handler("b")(lambda record: None)
    with pytest.raises(TypeError, match="a handler is of topics"):
        worker.handler()
    with pytest.raises(TypeError, match="topic"):
        worker.handler(lambda record: None)  # type: ignore[arg-type]
    assert worker.topics == {"a", "b"}


def test_a_worker_without_handlers_does_not_begin() -> None:
    with pytest.raises(ConfigError, match="the worker has no handler"):
        run(make(), cluster())


def test_a_worker_that_runs_cannot_be_run_again_and_one_that_does_not_cannot_renew() -> None:
    worker, seen = make(), list[Any]()

    @worker.handler(TOPIC)
    async def pack(record: Any) -> None:
        try:
            await worker.work(AsyncShareConsumer(worker.config()))
        except IllegalState as refused:
            seen.append(str(refused))
        worker.stop()

    run(worker, cluster(b"x"))
    assert seen == ["the worker is running already"]
    with pytest.raises(IllegalState, match="not running"):
        worker.renew(seen)  # type: ignore[arg-type]
    assert worker.metrics() == {}


@pytest.mark.parametrize("flavour", ["plain", "async"])
def test_a_handler_can_renew_and_ask_for_numbers(flavour: str) -> None:
    worker, seen = make(), list[Any]()

    def work(record: Any) -> None:
        worker.renew(record)
        seen.append(len(worker.metrics()))
        worker.stop()

    async def work_async(record: Any) -> None:
        work(record)

    worker.handler(TOPIC)(work if flavour == "plain" else work_async)
    run(worker, cluster(b"x"))
    assert seen[0] > 10


# -- what fails --------------------------------------------------------------------------------------------


def stopping(worker: Worker, good: set[str]) -> Callable[[Order], None]:
    def pack(order: Order) -> None:
        good.add(order.item)
        worker.stop()

    return pack


def test_a_payload_that_cannot_be_decoded_is_a_dead_letter_where_there_are_some() -> None:
    worker, good = make(), set[str]()
    worker.handler(TOPIC)(stopping(worker, good))
    model = cluster(b'{"count": 1}', b'{"item": "lamp"}')
    model.group_configs[LETTERS] = "dlq"
    run(worker, model)
    assert model.ended() == {0: REJECT, 1: ACCEPT}
    assert model.logs[0][0].acknowledged[0].reason == (
        "RecordDeserializationError: value of t-0 at offset 0: Misfit: payload: item missing (Order)"
    )


def test_without_dead_letters_it_comes_again_and_one_is_warned(caplog: pytest.LogCaptureFixture) -> None:
    worker, good = make(), set[str]()
    worker.handler(TOPIC)(stopping(worker, good))
    model = cluster(b'{"count": 1}', b'{"item": "lamp"}')
    model.logs[0][0].delivery_count = 4
    run(worker, model)
    assert set(kinds(model, 0)) == {RELEASE}
    assert "failed at delivery 5 of 5" in caplog.text
    assert "payload: item missing (Order)" in caplog.text


def test_a_model_that_is_wrong_does_not_make_dead_letters_of_the_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As after five failures of any other kind, one at a time is tried, within its delivery."""
    monkeypatch.setattr(retrying, "FIRST_PAUSE_MS", 1)
    monkeypatch.setattr(retrying, "LONGEST_PAUSE_MS", 1)
    worker, tries = make(), list[AcknowledgeType]()
    worker.handler(TOPIC)(stopping(worker, set()))

    def told(record: Any, error: Exception, kind: AcknowledgeType) -> None:
        tries.append(kind)
        if len(tries) == 12:
            worker.stop()

    model = cluster(*[b"{}"] * 30)
    model.group_configs[LETTERS] = "dlq"
    run(worker, model, on_error=told)
    assert tries[:5] == [REJECT] * 5
    assert set(tries[5:]) == {RENEW}
    assert len(model.ended()) == 5


def test_whoever_names_it_transient_keeps_what_cannot_be_decoded() -> None:
    worker, good = make(transient=[RecordDeserializationError]), set[str]()
    worker.handler(TOPIC)(stopping(worker, good))
    model = cluster(b"{}", b'{"item": "lamp"}')
    model.group_configs[LETTERS] = "dlq"
    run(worker, model)
    assert kinds(model, 0)[:1] == [RELEASE]


@pytest.mark.parametrize("error", [StopIteration, KeyError, asyncio.CancelledError, GeneratorExit])
@pytest.mark.parametrize("around", ["nothing", "plain", "async"])
@pytest.mark.parametrize("flavour", ["plain", "async"])
def test_whatever_a_handler_raises_releases_its_record(flavour: str, around: str, error: Any) -> None:
    worker, seen = make(), list[int]()

    def work(record: ShareRecord[Any, Any]) -> None:
        seen.append(record.delivery_count)
        if len(seen) == 1:
            raise error
        worker.stop()

    async def work_async(record: ShareRecord[Any, Any]) -> None:
        work(record)

    if around == "plain":

        @worker.middleware
        def same(record: Any, call_next: Any) -> Any:
            return call_next(record)

    elif around == "async":

        @worker.middleware
        async def same_async(record: Any, call_next: Any) -> Any:
            return await call_next(record)

    worker.handler(TOPIC)(work if flavour == "plain" else work_async)
    model = cluster(b"x")
    run(worker, model)
    assert kinds(model, 0) == [RELEASE, ACCEPT]


@pytest.mark.parametrize("around", ["nothing", "plain", "async"])
@pytest.mark.parametrize("flavour", ["plain", "async"])
def test_sys_exit_ends_the_worker_and_its_record_comes_again(flavour: str, around: str) -> None:
    worker = make()

    def work(record: Any) -> None:
        raise SystemExit(3)

    async def work_async(record: Any) -> None:
        raise SystemExit(3)

    if around == "plain":
        worker.middleware(lambda record, call_next: call_next(record))
    elif around == "async":

        @worker.middleware
        async def same(record: Any, call_next: Any) -> Any:
            return await call_next(record)

    worker.handler(TOPIC)(work if flavour == "plain" else work_async)
    model = cluster(b"x")
    with pytest.raises(SystemExit):
        run(worker, model)
    assert model.ended() == {}
    assert model.held() == []


# -- middleware --------------------------------------------------------------------------------------------

#: what a middleware sets a handler sees, wherever both run
tenant = ContextVar("tenant", default="nobody")


@pytest.mark.parametrize("flavour", ["plain", "async"])
@pytest.mark.parametrize("order", ["pp", "aa", "pa", "ap", "pap", "apa"])
def test_middleware_is_around_the_handler_in_its_order_plain_and_async(order: str, flavour: str) -> None:
    worker, said = make(), list[str]()

    def plain(number: int) -> Any:
        def middleware(record: Any, call_next: Any) -> Any:
            tenant.set(f"{tenant.get()}{number}")
            said.append(f"in {number}")
            result = call_next(record)
            said.append(f"out {number} {result}")
            return result + 1

        return middleware

    def asynchronous(number: int) -> Any:
        async def middleware(record: Any, call_next: Any) -> Any:
            tenant.set(f"{tenant.get()}{number}")
            said.append(f"in {number}")
            result = await call_next(record)
            said.append(f"out {number} {result}")
            return result + 1

        return middleware

    for number, kind in enumerate(order):
        worker.middleware(plain(number) if kind == "p" else asynchronous(number))

    def work(record: Any) -> int:
        said.append(f"work of {tenant.get()}")
        worker.stop()
        return 0

    async def work_async(record: Any) -> int:
        return work(record)

    worker.handler(TOPIC)(work if flavour == "plain" else work_async)
    run(worker, cluster(b"x"))
    numbers = range(len(order))
    assert said == [
        *[f"in {number}" for number in numbers],
        f"work of nobody{''.join(map(str, numbers))}",
        *[f"out {number} {len(order) - 1 - number}" for number in reversed(numbers)],
    ]


def test_a_middleware_sees_what_could_not_be_decoded_and_may_do_without_the_handler() -> None:
    seen = list[str]()

    def forgive(record: ShareRecord[Any, Any], call_next: Any) -> Any:
        try:
            return call_next(record)
        except RecordDeserializationError as wrong:
            seen.append(type(wrong).__name__)
            worker.stop()
            return None

    worker = make(middleware=[forgive])
    worker.handler(TOPIC)(stopping(worker, set()))
    model = cluster(b"{}")
    run(worker, model)
    assert seen == ["RecordDeserializationError"]
    assert model.ended() == {0: ACCEPT}


@pytest.mark.parametrize("wrong", [7, lambda record: None, yields])
def test_what_is_no_middleware_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError):
        make().middleware(wrong)


def test_plain_middleware_around_many_async_handlers_leaves_the_loop_alone() -> None:
    """Each waits in a thread of its own for a handler that is not done before all have begun."""
    worker = make(concurrency=8)
    all_begun, begun = threading.Barrier(8), list[int]()
    worker.middleware(lambda record, call_next: call_next(record))

    @worker.middleware
    async def between(record: Any, call_next: Any) -> Any:
        return await call_next(record)

    @worker.handler(TOPIC)
    def work(record: Any) -> None:
        all_begun.wait(20)
        begun.append(record.offset)
        if len(begun) == 8:
            worker.stop()

    model = cluster(*[b"x"] * 8)
    run(worker, model)
    assert model.ended() == dict.fromkeys(range(8), ACCEPT)


# -- batches -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flavour", ["plain", "async"])
def test_a_batch_handler_gets_lists(flavour: str) -> None:
    worker, seen = make(), list[Any]()

    def work(orders: list[int], records: list[ShareRecord[Any, Any]]) -> None:
        assert [record.raw_value for record in records] == [b"%d" % order for order in orders]
        seen.append(orders)
        if sum(map(len, seen)) == 10:
            worker.stop()

    async def work_async(orders: list[int], records: list[ShareRecord[Any, Any]]) -> None:
        work(orders, records)

    worker.handler(TOPIC, batch=4, batch_wait=0.05)(work if flavour == "plain" else work_async)
    model = cluster(*[b"%d" % i for i in range(10)])
    run(worker, model)
    assert sorted(order for orders in seen for order in orders) == list(range(10))
    assert max(map(len, seen)) == 4
    assert model.ended() == dict.fromkeys(range(10), ACCEPT)


def test_one_bad_record_does_not_take_its_batch_with_it() -> None:
    worker, calls = make(), list[list[int]]()

    @worker.handler(TOPIC, batch=4, batch_wait=0.05)
    def work(orders: list[int]) -> None:
        calls.append(orders)
        if 2 in orders:
            raise Reject("not this one")

    def told(record: Any, error: Exception, kind: AcknowledgeType) -> None:
        worker.stop()

    model = cluster(b"0", b"1", b"2", b"3")
    run(worker, model, on_error=told)
    assert model.ended() == {0: ACCEPT, 1: ACCEPT, 2: REJECT, 3: ACCEPT}
    assert [2] in calls


def test_a_record_of_a_batch_that_cannot_be_decoded_fails_alone() -> None:
    worker, good = make(), list[int]()

    @worker.handler(TOPIC, batch=4, batch_wait=0.05)
    def work(orders: list[int]) -> None:
        good.extend(orders)

    model = cluster(b"0", b"1", b"x", b"3")
    model.group_configs[LETTERS] = "dlq"
    run(worker, model, on_error=lambda record, error, kind: worker.stop())
    assert sorted(good) == [0, 1, 3]
    assert model.ended() == {0: ACCEPT, 1: ACCEPT, 2: REJECT, 3: ACCEPT}


def test_a_batch_that_asks_for_another_time_means_all_of_it() -> None:
    worker, calls = make(), list[int]()

    @worker.handler(TOPIC, batch=4, batch_wait=0.05)
    def work(orders: list[int]) -> None:
        calls.append(len(orders))
        worker.stop()
        raise Transient("busy", delay=60)

    model = cluster(b"0", b"1", b"2", b"3")
    run(worker, model)
    assert calls == [4]
    assert [said.delay_ms for record in model.logs[0] for said in record.acknowledged] == [60_000] * 4


def test_more_calls_than_asked_for_never_run_at_once_however_small_the_batches() -> None:
    worker = make(concurrency=2)
    running, most, done = 0, 0, 0

    @worker.handler(TOPIC, batch=3, batch_wait=0)
    async def work(orders: list[int]) -> None:
        nonlocal running, most, done
        running += 1
        most = max(most, running)
        for _ in range(20):
            await asyncio.sleep(0)
        running -= 1
        done += len(orders)
        if done == 30:
            worker.stop()

    model = cluster(*[b"1"] * 30)
    run(worker, model)
    assert most == 2
    assert model.ended() == dict.fromkeys(range(30), ACCEPT)


def test_a_batch_handler_that_does_not_take_a_list_is_refused() -> None:
    def work(order: int) -> None: ...

    with pytest.raises(TypeError, match="a batch handler takes a list"):
        make().handler(TOPIC, batch=4)(work)
    with pytest.raises(ValueError, match="batch=0"):
        make().handler(TOPIC, batch=0)(lambda records: None)


# -- options -----------------------------------------------------------------------------------------------


def test_options_are_checked_when_the_worker_is_made() -> None:
    with pytest.raises(ValueError, match="concurrency=0"):
        make(concurrency=0)
    with pytest.raises(ValueError, match="begins='soon'"):
        make(begins="soon")
    with pytest.raises(TypeError, match="reject"):
        make(reject=ValueError)


def test_the_group_and_the_address_are_configuration_by_other_names() -> None:
    worker = Worker("host:1", group="packing", max_poll_records=7)
    assert worker.config() == {"bootstrap.servers": "host:1", "group.id": "packing", "max.poll.records": 7}
    assert worker.config(bootstrap_servers="other:1")["bootstrap.servers"] == "other:1"


@pytest.mark.parametrize("acks", [0, "0"])
def test_results_that_nobody_would_acknowledge_are_refused(acks: object) -> None:
    worker = make(producer={"acks": acks, "enable.idempotence": False})
    worker.handler(TOPIC, result_topic="done")(lambda record: b"x")
    with pytest.raises(ConfigError, match="acks=0"):
        run(worker, cluster(b"x"))
