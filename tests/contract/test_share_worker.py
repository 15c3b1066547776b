"""What a worker does with records whose handler fails, and with handlers that are none: both flavours, word for word.

No record is lost by an ordinary mistake: a bug, an outage, a forgotten `await`, `sys.exit` in a library.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from share_cluster_model import TOPIC, ModelCluster
from share_flavours import FLAVOURS, BlockingFlavour, Flavour, Make, now_ms

from leaselog.client import AcknowledgeType, IllegalState, Reject, ShareConsumer, Transient
from leaselog.client.share import retrying
from leaselog.client.share.metrics import MetricName
from leaselog.model import ErrorCode
from leaselog.wire.messages.describe_configs import DescribeConfigsRequest
from leaselog.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from leaselog.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
LOG = "leaselog.client.share"
RESET = "share.auto.offset.reset"
LETTERS = "errors.deadletterqueue.topic.name"

CONFIG: dict[str, str] = {}


def kafka() -> ModelCluster:
    model = ModelCluster()
    model.is_leaselogs = False
    return model


def kinds(consumer: Flavour, offset: int = 0) -> list[int]:
    return [said.kind for said in consumer.model.logs[0][offset].acknowledged]


# -- what fails --------------------------------------------------------------------------------------------


def test_a_bug_in_a_handler_rejects_nothing(make: Make) -> None:
    consumer = make(records=3)
    seen = Counter[int]()

    def work(record: Any) -> None:
        seen[record.offset] += 1
        if seen[record.offset] == 1:
            raise KeyError("a name that is not there yet")
        if sum(seen.values()) == 6:
            consumer.consumer.wakeup()

    consumer.run(consumer.handler(work), retry_delays=(0.01,))
    assert consumer.model.ended() == dict.fromkeys(range(3), ACCEPT)
    assert kinds(consumer) == [RELEASE, ACCEPT]


def test_the_delays_grow_with_every_delivery(make: Make) -> None:
    consumer = make(records=4)
    for record, deliveries in zip(consumer.model.logs[0], range(4), strict=True):
        record.delivery_count = deliveries
    seen: list[int] = []

    def work(record: Any) -> None:
        seen.append(record.offset)
        if len(seen) == 4:
            consumer.consumer.wakeup()
        raise OSError("the database is away")

    consumer.run(consumer.handler(work))
    waits = [record.acknowledged[0].delay_ms for record in consumer.model.logs[0]]
    for wait_ms, usual_s in zip(waits, (1, 10, 60, 600), strict=True):
        assert 0.8 * usual_s <= wait_ms / 1000 <= 1.2 * usual_s + 0.001


def test_a_group_with_a_backoff_of_its_own_says_when(make: Make) -> None:
    consumer = make(records=1)
    consumer.model.group_configs["share.retry.backoff.ms"] = "2000"

    def work(record: Any) -> None:
        consumer.consumer.wakeup()
        raise OSError

    consumer.run(consumer.handler(work))
    assert [said.delay_ms for said in consumer.model.logs[0][0].acknowledged] == [-1]


def test_an_outage_does_not_empty_the_queue(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything fails for as long as a record could be delivered five times, and longer: all of it is done after."""
    monkeypatch.setattr(retrying, "FIRST_PAUSE_MS", 1)
    monkeypatch.setattr(retrying, "LONGEST_PAUSE_MS", 2)
    monkeypatch.setattr(retrying, "TRIES_A_DELIVERY", 1_000)
    consumer = make(records=30)
    calls, done = itertools.count(), set[int]()

    def work(record: Any) -> None:
        if next(calls) < 200:
            raise Transient("the database is away")
        done.add(record.offset)
        if len(done) == 30:
            consumer.consumer.wakeup()

    consumer.run(consumer.handler(work), concurrency=4, retry_delays=(0.01,))
    assert consumer.model.ended() == dict.fromkeys(range(30), ACCEPT)
    counts = [record.delivery_count for record in consumer.model.logs[0]]
    assert max(counts) <= 4, "what failed while everything did cost no deliveries"


def test_an_outage_is_told_and_so_is_its_end(
    make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(retrying, "FIRST_PAUSE_MS", 1)
    caplog.set_level("WARNING", LOG)
    consumer = make(records=8)
    calls, told = itertools.count(), list[AcknowledgeType]()

    def work(record: Any) -> None:
        if next(calls) < 6:
            raise OSError("the database is away")
        consumer.consumer.wakeup()

    consumer.run(consumer.handler(work), on_error=lambda record, error, kind: told.append(kind))
    assert (
        caplog.text.count("one record after the other fails, the last with OSError: the database is away")
        == 1
    )
    assert caplog.text.count("records succeed again") == 1
    assert told == [RELEASE] * 5 + [RENEW]


def outage_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the first failure, and with pauses that nobody notices."""
    monkeypatch.setattr(retrying, "OPENS_AFTER", 1)
    monkeypatch.setattr(retrying, "FIRST_PAUSE_MS", 1)
    monkeypatch.setattr(retrying, "LONGEST_PAUSE_MS", 2)


def test_a_delay_that_a_handler_asked_for_holds_in_an_outage(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    outage_soon(monkeypatch)
    consumer = make(records=1)
    consumer.model.logs[0][0].delivery_count = 1
    called_s: list[float] = []

    def work(record: Any) -> None:
        called_s.append(time.monotonic())
        if len(called_s) == 1:
            raise OSError
        if len(called_s) == 2:
            raise Transient("busy", delay=0.4)
        consumer.consumer.wakeup()

    consumer.run(consumer.handler(work), retry_delays=(), on_error=lambda *_: None)
    assert called_s[2] - called_s[1] >= 0.39  # clocks of the model and of this test are rounded apart


def test_what_a_handler_sends_on_to_another_time_is_no_outage(
    make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    outage_soon(monkeypatch)
    consumer = make(records=9)
    seen: list[int] = []

    def work(record: Any) -> None:
        seen.append(record.offset)
        if len(seen) == 9:
            consumer.consumer.wakeup()
        raise Transient("not before noon", delay=3_600)

    consumer.run(consumer.handler(work), on_error=lambda *_: None)
    assert sorted(seen) == list(range(9))
    assert "fails" not in caplog.text


def test_what_is_tried_again_and_again_goes_back_when_the_worker_ends(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    outage_soon(monkeypatch)
    consumer = make(records=1)
    calls = itertools.count()

    def work(record: Any) -> None:
        if next(calls) == 5:
            consumer.consumer.wakeup()
        raise OSError

    consumer.run(consumer.handler(work), retry_delays=(), on_error=lambda *_: None)
    assert kinds(consumer)[-1] == RELEASE
    assert consumer.model.held() == []


def test_a_worker_whose_broker_restarts_has_room_again_at_once(make: Make) -> None:
    """What it kept for later is somebody else's by then."""
    consumer = make(records=2, model=kafka(), **{"max.poll.records": 1})
    seen: list[int] = []

    def work(record: Any) -> None:
        seen.append(record.offset)
        if len(seen) == 2:
            consumer.consumer.wakeup()
            return
        consumer.model.disconnect(1)
        raise OSError

    begun_s = time.monotonic()
    consumer.run(consumer.handler(work), retry_delays=(60,), on_error=lambda *_: None)
    assert time.monotonic() - begun_s < 30


def test_a_broker_without_delays_lends_the_record_for_as_long(make: Make, caplog: Any) -> None:
    caplog.set_level("WARNING", LOG)
    consumer = make(records=1, model=kafka())
    seen: list[tuple[int, float]] = []

    def work(record: Any) -> None:
        seen.append((record.delivery_count, time.monotonic()))
        if len(seen) == 2:
            consumer.consumer.wakeup()
        else:
            raise OSError

    consumer.run(consumer.handler(work), retry_delays=(0.5,), on_error=lambda *_: None)
    (first, then), (second, after) = seen
    assert (first, second) == (1, 2)
    assert after - then >= 0.4
    assert kinds(consumer) == [RELEASE, ACCEPT]
    assert "is no leaselog broker" not in caplog.text


def test_what_a_worker_keeps_for_later_stays_its_own(make: Make) -> None:
    consumer = make(records=1, model=ModelCluster(lock_ms=200), **{"fetch.max.wait.ms": 20})
    consumer.model.is_leaselogs = False
    seen: list[float] = []

    def work(record: Any) -> None:
        seen.append(time.monotonic())
        if len(seen) == 2:
            consumer.consumer.wakeup()
        else:
            raise OSError

    consumer.run(consumer.handler(work), retry_delays=(1,), on_error=lambda *_: None)
    assert seen[1] - seen[0] >= 0.7, "its lock did not run out meanwhile"
    assert kinds(consumer) == [RELEASE, ACCEPT]


def test_what_a_worker_keeps_for_later_goes_back_when_it_ends(make: Make) -> None:
    consumer = make(records=1, model=kafka())

    def work(record: Any) -> None:
        consumer.later(consumer.consumer.wakeup)
        raise OSError

    if isinstance(consumer, BlockingFlavour):
        consumer.run(work, retry_delays=(60,))
    else:
        consumer.run(consumer.handler(work), retry_delays=(60,))
    assert kinds(consumer) == [RELEASE]
    assert consumer.model.held() == []


def test_a_handler_knows_its_last_attempt(make: Make) -> None:
    consumer = make(records=5)
    for record, deliveries in zip(consumer.model.logs[0], range(5), strict=True):
        record.delivery_count = deliveries
    seen: dict[int, tuple[int | None, bool]] = {}

    def work(record: Any) -> None:
        seen[record.delivery_count] = record.deliveries_left, record.is_last_attempt
        if len(seen) == 5:
            consumer.consumer.wakeup()

    consumer.run(consumer.handler(work))
    assert seen == {1: (4, False), 2: (3, False), 3: (2, False), 4: (1, False), 5: (0, True)}


@pytest.mark.parametrize(
    ("of_group", "of_broker", "left"),
    [({}, {}, None), ({}, {"group.share.delivery.count.limit": "7"}, 6)],
    ids=["nobody says", "the broker says"],
)
def test_where_the_group_does_not_say_its_limit(
    make: Make, of_group: dict[str, str], of_broker: dict[str, str], left: int | None
) -> None:
    consumer = make(records=1)
    consumer.model.default_configs, consumer.model.broker_configs = of_group, of_broker
    seen: list[int | None] = []

    def work(record: Any) -> None:
        seen.append(record.deliveries_left)
        consumer.consumer.wakeup()

    consumer.run(consumer.handler(work))
    assert seen == [left]


def fail_at_last(consumer: Flavour, records: int = 1) -> None:
    for record in consumer.model.logs[0]:
        record.delivery_count = 4
    seen: list[int] = []

    def work(record: Any) -> None:
        seen.append(record.offset)
        if len(seen) == records:
            consumer.consumer.wakeup()
        raise ValueError("no such item")

    consumer.run(consumer.handler(work), on_error=lambda *_: None)


def test_what_runs_out_of_attempts_without_a_dead_letter_is_warned_of_once_a_minute(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING", LOG)
    consumer = make(records=3)
    consumer.model.default_configs[LETTERS] = ""
    fail_at_last(consumer, 3)
    (warning,) = [r.getMessage() for r in caplog.records if "is not delivered again" in r.getMessage()]
    assert "t-0 offset 0 failed at delivery 5 of 5" in warning
    assert "group g" in warning
    assert LETTERS in warning
    assert {kind for offset in range(3) for kind in kinds(consumer, offset)} == {RELEASE}


def test_a_dead_letter_of_what_ran_out_of_attempts_names_the_last_failure(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING", LOG)
    consumer = make(records=1)
    consumer.model.group_configs[LETTERS] = "letters"
    fail_at_last(consumer)
    assert [(said.kind, said.reason) for said in consumer.model.logs[0][0].acknowledged] == [
        (REJECT, "ValueError: no such item")
    ]
    assert "is not delivered again" not in caplog.text


# -- handlers that are none --------------------------------------------------------------------------------


class Calls:
    def __call__(self, record: Any) -> None:
        raise AssertionError("never called")


class AsyncCalls:
    async def __call__(self, record: Any) -> None:
        raise AssertionError("never awaited")

    async def method(self, record: Any) -> None:
        raise AssertionError("never awaited")


async def forgotten(record: Any, more: int = 0) -> None:
    raise AssertionError("never awaited")


def yields(record: Any) -> Iterator[int]:
    yield record.offset


async def yields_later(record: Any) -> Any:
    yield record.offset


def blocking_worker(model: ModelCluster) -> BlockingFlavour:
    flavour = BlockingFlavour(model)
    flavour.subscribe([TOPIC])
    return flavour


@pytest.mark.parametrize(
    "handler",
    [
        forgotten,
        functools.partial(forgotten, more=1),
        functools.partial(functools.partial(forgotten), more=1),
        AsyncCalls(),
        AsyncCalls().method,
        functools.partial(AsyncCalls(), more=1),
    ],
)
def test_a_coroutine_function_is_refused_by_the_blocking_worker(handler: Any) -> None:
    consumer = blocking_worker(ModelCluster())
    with pytest.raises(TypeError, match=r"is async: .* takes a plain function"):
        consumer.run(handler)
    consumer.end()


def test_a_coroutine_that_nobody_awaits_accepts_nothing() -> None:
    model = ModelCluster()
    model.produce([b"x"] * 3)
    consumer = blocking_worker(model)
    with pytest.raises(TypeError, match="returned coroutine, which nobody awaits here"):
        consumer.run(lambda record: forgotten(record))
    assert model.ended() == {}
    assert model.held() == []
    consumer.end()


@pytest.mark.parametrize("handler", [yields, yields_later, functools.partial(yields), None, "work"])
def test_what_is_no_handler_is_refused_at_once(make: Make, handler: Any) -> None:
    consumer = make()
    with pytest.raises(TypeError, match=r"yields|is no handler"):
        consumer.run(handler)
    assert not consumer.model.requests


def test_a_generator_that_nobody_drives_accepts_nothing(make: Make) -> None:
    consumer = make()
    with pytest.raises(TypeError, match="returned a generator"):
        consumer.run(lambda record: yields(record))
    assert consumer.model.ended() == {}
    assert consumer.model.held() == []


@pytest.mark.parametrize("kind", ["coroutine", "partial", "object", "lambda", "plain", "plain object"])
def test_the_asyncio_worker_runs_whatever_does_the_work(kind: str) -> None:
    _, flavour = FLAVOURS
    model = ModelCluster()
    model.produce([b"x"] * 3)
    consumer: Any = flavour(model)
    consumer.subscribe([TOPIC])
    threads = set[threading.Thread]()

    def done(record: Any) -> None:
        threads.add(threading.current_thread())
        if record.offset == 2:
            consumer.consumer.wakeup()

    async def work(record: Any, more: int = 0) -> None:
        await asyncio.sleep(0)
        done(record)

    class Awaits:
        async def __call__(self, record: Any) -> None:
            await work(record)

    class Plain:
        def __call__(self, record: Any) -> None:
            done(record)

    handlers: dict[str, Any] = {
        "coroutine": work,
        "partial": functools.partial(work, more=1),
        "object": Awaits(),
        "lambda": lambda record: work(record),
        "plain": done,
        "plain object": Plain(),
    }
    consumer.run(handlers[kind])
    assert model.ended() == dict.fromkeys(range(3), ACCEPT)
    assert (threading.main_thread() in threads) == (not kind.startswith("plain"))
    consumer.end()


# -- what a handler may raise ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [StopIteration, StopAsyncIteration, GeneratorExit, asyncio.CancelledError, TimeoutError]
)
@pytest.mark.parametrize("concurrency", [1, 3])
def test_an_exception_that_means_something_to_python_costs_no_slot(
    make: Make, error: type[BaseException], concurrency: int
) -> None:
    consumer = make(records=6)
    seen = Counter[int]()
    told: list[Exception] = []

    def work(record: Any) -> None:
        seen[record.offset] += 1
        if record.offset < 4 and seen[record.offset] == 1:
            raise error
        if sum(seen.values()) == 10:
            consumer.consumer.wakeup()

    consumer.run(
        consumer.handler(work),
        concurrency=concurrency,
        retry_delays=(),
        on_error=lambda record, error, kind: told.append(error),
    )
    assert consumer.model.ended() == dict.fromkeys(range(6), ACCEPT)
    assert len(told) == 4
    assert all(isinstance(one, Exception) for one in told)


class Unheard(BaseException):
    pass


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), Unheard()])
def test_an_exit_in_a_handler_ends_the_worker_in_good_order(make: Make, error: BaseException) -> None:
    consumer = make(records=40)
    seen: list[int] = []

    def work(record: Any) -> None:
        seen.append(record.offset)
        if record.offset == 1:
            sys.exit(3) if isinstance(error, SystemExit) else raise_it(error)

    with pytest.raises(type(error)) as raised:
        consumer.run(consumer.handler(work))
    assert getattr(raised.value, "code", 3) == 3
    assert consumer.model.ended() == {offset: ACCEPT for offset in seen if offset != 1}
    assert kinds(consumer, 1) == [RELEASE]
    assert consumer.model.held() == []


def raise_it(error: BaseException) -> None:
    raise error


def test_an_exit_in_on_error_ends_the_worker_too(make: Make) -> None:
    consumer = make(records=1)

    def work(record: Any) -> None:
        raise ValueError

    with pytest.raises(SystemExit):
        consumer.run(consumer.handler(work), on_error=lambda *_: sys.exit(1))
    assert kinds(consumer) == [RELEASE]


@pytest.mark.parametrize("name", ["transient", "reject"])
@pytest.mark.parametrize("types", [[TimeoutError], (TimeoutError,), {TimeoutError}, iter([TimeoutError]), ()])
def test_exception_types_come_in_any_collection(make: Make, name: str, types: Any) -> None:
    consumer = make(records=1)

    def work(record: Any) -> None:
        consumer.consumer.wakeup()
        raise TimeoutError

    given = types if not isinstance(types, Iterator) else [TimeoutError]
    consumer.run(consumer.handler(work), **{name: given})
    assert kinds(consumer) == [REJECT if name == "reject" and given != () else RELEASE]


@pytest.mark.parametrize("name", ["transient", "reject"])
@pytest.mark.parametrize("types", [TimeoutError, "TimeoutError", ["TimeoutError"], [TimeoutError()], 1, None])
def test_what_are_no_exception_types_is_refused_at_once(make: Make, name: str, types: Any) -> None:
    consumer = make(**{"share.acknowledgement.mode": "explicit"})
    with pytest.raises(TypeError, match=f"{name}=.*expected a collection of exception types"):
        consumer.run(consumer.handler(lambda record: None), **{name: types})
    with pytest.raises(TypeError, match=f"{name}=.*expected a collection of exception types"):
        consumer.consumer.processing(None, **{name: types})


@pytest.mark.parametrize("delays", [5, "1,2", [-1], [float("nan")], ["soon"]])
def test_what_are_no_delays_is_refused_at_once(make: Make, delays: Any) -> None:
    consumer = make()
    with pytest.raises(ValueError, match=r"retry_delays=.*expected seconds"):
        consumer.run(consumer.handler(lambda record: None), retry_delays=delays)


# -- within a handler --------------------------------------------------------------------------------------


def test_metrics_can_be_asked_for_within_a_handler_and_from_other_threads(make: Make) -> None:
    consumer = make(records=3)
    seen: list[float] = []
    name = MetricName("consumer-share-coordinator-metrics", "heartbeat-total")

    def work(record: Any) -> None:
        seen.append(consumer.consumer.metrics()[name])
        if record.offset == 2:
            other = threading.Thread(target=lambda: seen.append(consumer.consumer.metrics()[name]))
            other.start()
            other.join()
            consumer.consumer.wakeup()

    consumer.run(consumer.handler(work))
    assert len(seen) == 4
    assert all(seen)
    assert consumer.model.ended() == dict.fromkeys(range(3), ACCEPT)


@pytest.mark.parametrize("mode", ["implicit", "explicit"])
@pytest.mark.parametrize("of", ["record", "place"])
def test_a_handler_that_needs_more_time_renews(make: Make, mode: str, of: str) -> None:
    consumer = make(records=2, **{"share.acknowledgement.mode": mode})
    seen: list[int] = []

    def work(record: Any) -> None:
        seen.append(record.offset)
        before = record.lease.delivered_ms
        while record.lease.delivered_ms == before:  # until the clock has moved
            if of == "record":
                consumer.consumer.renew(record)
            else:
                consumer.consumer.renew(TOPIC, 0, record.offset)
        if record.offset == 1:
            consumer.consumer.wakeup()

    consumer.run(consumer.handler(work))
    assert seen == [0, 1], "a renewed record is not handed out again"
    assert consumer.model.ended() == {0: ACCEPT, 1: ACCEPT}


def test_a_handler_that_hangs_loses_its_record_although_others_wait_behind_it() -> None:
    model = ModelCluster(lock_ms=200)
    model.produce([b"x"] * 2)
    consumer = BlockingFlavour(model, **{"max.poll.interval.ms": 1_200, "fetch.max.wait.ms": 20})
    consumer.subscribe([TOPIC])
    held: list[list[int]] = []

    def work(record: Any) -> None:
        deadline = time.monotonic() + 10
        while model.held() and time.monotonic() < deadline:
            threading.Event().wait(0.05)
            model.expire(now_ms())
        held.append(model.held())
        consumer.consumer.wakeup()

    consumer.run(work)
    assert held[0] == []
    consumer.end()


def test_a_record_that_is_not_being_worked_on_cannot_be_renewed(make: Make) -> None:
    consumer = make(records=2)
    refused: list[Exception] = []
    seen: list[Any] = []

    def work(record: Any) -> None:
        seen.append(record)
        if record.offset == 1:
            for of in [(seen[0],), (TOPIC, 0, 77)]:
                try:
                    consumer.consumer.renew(*of)
                except IllegalState as no:
                    refused.append(no)
            consumer.consumer.wakeup()

    consumer.run(consumer.handler(work))
    assert len(refused) == 2
    assert consumer.model.ended() == {0: ACCEPT, 1: ACCEPT}


# -- where a group begins ----------------------------------------------------------------------------------


def work_once(consumer: Flavour, **more: Any) -> None:
    def work(record: Any) -> None:
        consumer.consumer.wakeup()

    consumer.run(consumer.handler(work), **more)


def test_a_group_that_nobody_configured_begins_with_the_earliest_record(make: Make) -> None:
    consumer = make(records=1)
    work_once(consumer)
    assert consumer.model.group_configs == {RESET: "earliest"}
    kinds_asked = [type(request) for request in consumer.model.requests[:3]]
    assert kinds_asked == [DescribeConfigsRequest, IncrementalAlterConfigsRequest, ShareGroupHeartbeatRequest]


def test_a_group_that_was_told_where_to_begin_is_left_alone(make: Make) -> None:
    consumer = make(records=1)
    consumer.model.group_configs[RESET] = "latest"
    work_once(consumer)
    assert consumer.model.group_configs == {RESET: "latest"}


@pytest.mark.parametrize("begins", ["earlist", "", 0])
def test_a_mistyped_beginning_is_refused_at_once(make: Make, begins: Any) -> None:
    consumer = make()
    with pytest.raises(ValueError, match="begins="):
        consumer.run(consumer.handler(lambda record: None), begins=begins)


@pytest.mark.parametrize("begins", ["latest", "by_duration:PT1H", None])
def test_a_worker_can_be_told_where_its_group_begins(make: Make, begins: str | None) -> None:
    consumer = make(records=1)
    work_once(consumer, begins=begins)
    assert consumer.model.group_configs == ({RESET: begins} if begins else {})


@pytest.mark.parametrize("error", ["describe_error", "alter_error"])
def test_a_worker_that_may_not_configure_its_group_warns_and_goes_on(
    make: Make, error: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING", LOG)
    consumer = make(records=1)
    setattr(consumer.model, error, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    work_once(consumer)
    assert consumer.model.ended() == {0: ACCEPT}
    assert caplog.text.count("GROUP_AUTHORIZATION_FAILED") == 1
    assert consumer.model.group_configs == {}


def test_a_worker_can_be_woken_up_while_it_waits_for_its_cluster(make: Make) -> None:
    consumer = make(records=1)
    consumer.model.describe_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    consumer.later(consumer.consumer.wakeup)
    consumer.run(consumer.handler(lambda record: None))
    assert consumer.model.ended() == {}


def test_rejecting_is_said_with_an_exception(make: Make) -> None:
    consumer = make(records=1)

    def work(record: Any) -> None:
        consumer.consumer.wakeup()
        raise Reject("no such item")

    consumer.run(consumer.handler(work))
    assert consumer.model.ended() == {0: REJECT}


def test_the_blocking_worker_is_typed() -> None:
    consumer = ShareConsumer({"bootstrap.servers": "host:1", "group.id": "g"})
    with pytest.raises(ValueError, match="concurrency"):
        consumer.run(lambda record: record.value, concurrency=0)
    consumer.close()
