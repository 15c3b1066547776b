"""SIGTERM and SIGINT while a worker runs: the first ends it well, the second at once, and then all is as before."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from share_cluster_model import TOPIC, ModelCluster
from share_flavours import EXPLICIT, ModelDoor

from leaselog.client import AcknowledgeType, AsyncShareConsumer, ShareConsumer
from leaselog.client.share.stopping import SAME_SIGNAL_MS, StopSignals

ACCEPT = AcknowledgeType.ACCEPT
SIGNALS = [signal.SIGTERM, signal.SIGINT]


def model_with(records: int) -> ModelCluster:
    model = ModelCluster()
    model.produce([b"x"] * records)
    return model


Made = Callable[[Any], object]


def run_blocking(model: ModelCluster, work: Callable[[Any], object], made: Made = id, **more: Any) -> None:
    consumer: Any = ShareConsumer(EXPLICIT)
    consumer._consumer._carrier.cluster = ModelDoor(model)
    made(consumer)
    with consumer:
        consumer.subscribe([TOPIC])
        consumer.run(work, **more)


def run_asyncio(model: ModelCluster, work: Callable[[Any], object], made: Made = id, **more: Any) -> None:
    async def main() -> None:
        consumer: Any = AsyncShareConsumer(EXPLICIT)
        consumer._carrier.cluster = ModelDoor(model)
        made(consumer)
        async with consumer:
            consumer.subscribe([TOPIC])
            await consumer.run(work, **more)

    asyncio.run(main())


@pytest.fixture(params=[run_blocking, run_asyncio], ids=["blocking", "asyncio"])
def run(request: pytest.FixtureRequest) -> Iterator[Callable[..., None]]:
    """Runs a worker with a plain function; the process has the usual handlers of signals, before and after."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield request.param
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def tell(number: int) -> None:
    os.kill(os.getpid(), number)


def tell_and_wait(number: int) -> None:
    tell(number)
    threading.Event().wait(1)  # else Python may hear of it a moment later


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_lets_handlers_finish_and_gives_back_the_rest(run: Any, number: int) -> None:
    model = model_with(40)
    seen: list[int] = []
    told, stopping = threading.Event(), threading.Event()

    def work(record: Any) -> None:
        seen.append(record.offset)
        if record.offset == 0:
            tell(number)
            told.set()
        told.wait(10)
        stopping.wait(0.2)  # longer than it takes to hear of a signal

    run(model, work, concurrency=2)
    assert model.ended() == dict.fromkeys(seen, ACCEPT)
    assert 0 in seen
    assert len(seen) < 40
    assert model.held() == []
    assert model.members == {}


def test_what_does_not_finish_in_time_goes_back(run: Any, caplog: pytest.LogCaptureFixture) -> None:
    model = model_with(3)
    hanging = threading.Event()

    def work(record: Any) -> None:
        tell(signal.SIGTERM)
        hanging.wait(30)

    try:
        run(model, work, drain_timeout=0.1)
    finally:
        hanging.set()
    assert model.ended() == {}
    assert model.held() == []
    assert "1 handlers have not finished in time: their records are released" in caplog.text


def test_a_second_interrupt_ends_it_at_once(run: Any) -> None:
    model = model_with(3)
    hanging = threading.Event()

    def work(record: Any) -> None:
        tell(signal.SIGINT)
        hanging.wait(1.2 * SAME_SIGNAL_MS / 1000)
        tell(signal.SIGINT)
        hanging.wait(30)

    try:
        with pytest.raises(KeyboardInterrupt):
            run(model, work)
    finally:
        hanging.set()
    assert model.ended() == {}
    assert model.held() == []


def test_two_signals_close_together_are_one() -> None:
    """As from GNU timeout, which signals a process and then its group."""
    told: list[str] = []
    signals = StopSignals(lambda: told.append("stop"), lambda: told.append("at once"))
    signals.hear(signal.SIGTERM, 1_000)
    signals.hear(signal.SIGTERM, 1_000)
    signals.hear(signal.SIGTERM, 1_000 + SAME_SIGNAL_MS - 1)
    assert told == ["stop"]
    signals.hear(signal.SIGTERM, 1_000 + SAME_SIGNAL_MS)
    assert told == ["stop", "at once"]


def test_a_worker_that_is_signalled_twice_at_once_finishes_what_it_has_begun(run: Any) -> None:
    model = model_with(3)
    resting = threading.Event()

    def work(record: Any) -> None:
        if record.offset == 0:
            tell(signal.SIGINT)
            resting.wait(0.02)  # else Python hears one
            tell(signal.SIGINT)
            resting.wait(0.1)

    with suppress(KeyboardInterrupt):  # which would end these tests
        run(model, work)
    assert model.ended()[0] == ACCEPT
    assert model.held() == []


def test_a_handler_of_the_applications_own_stays(run: Any) -> None:
    model = model_with(3)
    heard: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))

    def work(record: Any) -> None:
        if record.offset == 0:
            tell(signal.SIGTERM)
        if record.offset == 2:
            tell(signal.SIGINT)

    try:
        run(model, work)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    assert heard == [signal.SIGTERM]
    assert model.ended() == dict.fromkeys(range(3), ACCEPT)


def test_a_handler_that_the_application_sets_meanwhile_stays_too() -> None:
    model = model_with(1)

    def mine(number: int, frame: Any) -> None: ...

    async def main() -> None:
        consumer: Any = AsyncShareConsumer(EXPLICIT)
        consumer._carrier.cluster = ModelDoor(model)

        async def work(record: Any) -> None:
            signal.signal(signal.SIGTERM, mine)
            consumer.wakeup()

        async with consumer:
            consumer.subscribe([TOPIC])
            await consumer.run(work)

    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        asyncio.run(main())
        assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        signal.signal(signal.SIGTERM, before)


def test_signals_can_be_left_alone() -> None:
    model = model_with(1)
    seen: list[Any] = []

    def work(record: Any) -> None:
        seen.append(signal.getsignal(signal.SIGTERM))
        consumer.wakeup()

    consumer: Any = ShareConsumer(EXPLICIT)
    consumer._consumer._carrier.cluster = ModelDoor(model)
    with consumer:
        consumer.subscribe([TOPIC])
        before = signal.getsignal(signal.SIGTERM)
        consumer.run(work, handle_signals=False)
    assert seen == [before]


def test_a_worker_in_a_thread_of_its_own_leaves_signals_alone() -> None:
    model = model_with(1)
    before, seen = signal.getsignal(signal.SIGTERM), list[Any]()

    def live() -> None:
        consumer: Any = ShareConsumer(EXPLICIT)
        consumer._consumer._carrier.cluster = ModelDoor(model)

        def work(record: Any) -> None:
            seen.append(signal.getsignal(signal.SIGTERM))
            consumer.wakeup()

        with consumer:
            consumer.subscribe([TOPIC])
            consumer.run(work)

    thread = threading.Thread(target=live)
    thread.start()
    thread.join(30)
    assert seen == [before]
    assert model.ended() == {0: ACCEPT}


def test_a_process_that_a_handler_forks_can_be_ended_with_a_signal(run: Any) -> None:
    model = model_with(1)
    codes: list[int] = []

    def work(record: Any) -> None:
        child = os.fork()
        if child == 0:
            tell(signal.SIGTERM)
            os._exit(0)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        tell(signal.SIGTERM)

    run(model, work)
    assert codes == [-signal.SIGTERM]
    assert model.ended() == {0: ACCEPT}


def test_one_signal_ends_all_workers_of_a_loop() -> None:
    models = [model_with(1), model_with(1)]
    begun: list[int] = []

    async def live(model: ModelCluster) -> None:
        consumer: Any = AsyncShareConsumer(EXPLICIT)
        consumer._carrier.cluster = ModelDoor(model)

        async def work(record: Any) -> None:
            begun.append(record.offset)
            if len(begun) == 2:
                tell(signal.SIGTERM)

        async with consumer:
            consumer.subscribe([TOPIC])
            await consumer.run(work)

    async def main() -> None:
        async with asyncio.timeout(30):
            await asyncio.gather(*map(live, models))

    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        asyncio.run(main())
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
    assert [model.ended() for model in models] == [{0: ACCEPT}] * 2


def signalled_in_close(consumer: Any, *numbers_and_pauses_s: float) -> None:
    """While the consumer leaves its group, the process gets these signals, after these pauses."""
    driven = getattr(consumer, "_consumer", consumer)
    leave, resting = driven._leave, threading.Event()

    async def signalled(deadline: float) -> None:
        for number_or_pause_s in numbers_and_pauses_s:
            if isinstance(number_or_pause_s, signal.Signals):
                tell(number_or_pause_s)
                resting.wait(0.02)  # else Python hears one
            else:
                resting.wait(number_or_pause_s)
        await leave(deadline)

    driven._leave = signalled


def run_signalled_in_close(run: Any, model: ModelCluster, ends_by: Any, *signals: float) -> None:
    """A worker that its handler ends, by a signal or by waking it up, and that is signalled while it closes."""

    def work(record: Any) -> None:
        if ends_by is None:
            consumers[0].wakeup()
        else:
            tell(ends_by)

    consumers = list[Any]()
    run(
        model,
        work,
        made=lambda consumer: (consumers.append(consumer), signalled_in_close(consumer, *signals)),
    )


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_the_same_signal_once_more_while_the_consumer_closes_lets_it_leave(run: Any, number: int) -> None:
    model = model_with(1)
    run_signalled_in_close(run, model, number, signal.Signals(number))
    assert model.members == {}
    assert model.held() == []


def test_a_first_signal_while_the_consumer_closes_is_heard_when_it_has_left(run: Any) -> None:
    model = model_with(1)
    with pytest.raises(KeyboardInterrupt):
        run_signalled_in_close(run, model, None, signal.SIGINT)
    assert model.members == {}
    assert model.held() == []


def test_who_insists_while_the_consumer_closes_ends_it_at_once(run: Any) -> None:
    model = model_with(1)
    with pytest.raises(KeyboardInterrupt):
        run_signalled_in_close(run, model, None, signal.SIGINT, 1.2 * SAME_SIGNAL_MS / 1000, signal.SIGINT)


def test_behind_a_worker_that_is_not_closed_a_signal_is_the_process_own(run: Any) -> None:
    """Also with nobody left who would hear it for the worker."""
    told: list[str] = []
    signals = StopSignals(lambda: told.append("stop"), lambda: told.append("at once"))
    resting = threading.Event()
    with signals:
        tell(signal.SIGINT)
        resting.wait(0.02)
    tell(signal.SIGINT)  # the same, another way
    resting.wait(1.2 * SAME_SIGNAL_MS / 1000)
    with pytest.raises(KeyboardInterrupt):
        tell_and_wait(signal.SIGINT)
    assert told == ["stop"]


def test_a_worker_behind_another_that_was_not_closed_ends_well(run: Any) -> None:
    resting, told = threading.Event(), list[str]()
    with StopSignals(lambda: told.append("first"), lambda: told.append("first at once")):
        tell(signal.SIGINT)
        resting.wait(1.2 * SAME_SIGNAL_MS / 1000)
    second = StopSignals(lambda: told.append("second"), lambda: told.append("second at once"))
    with second:
        tell(signal.SIGINT)
        resting.wait(0.02)
    with second.closing():
        pass
    assert told == ["first", "second"]


def test_closing_in_another_thread_than_the_signalled_one_leaves_signals_alone(run: Any) -> None:
    signals = StopSignals(lambda: None, lambda: None)
    resting = threading.Event()
    with signals:
        tell(signal.SIGINT)
        resting.wait(0.02)
    failed = list[BaseException]()

    def close() -> None:
        try:
            with signals.closing():
                pass
        except BaseException as error:  # noqa: BLE001 - told to the test
            failed.append(error)

    thread = threading.Thread(target=close)
    thread.start()
    thread.join()
    assert failed == []
    with signals.closing():
        pass
