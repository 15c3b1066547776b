"""leaselog's worker against a real broker, leaselog's or Apache Kafka's: an outage, its group, its limits, its end."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from interop.broker_process import BrokerProcess
from interop.confluent_io import Sent, create_topic, numbered, produce
from interop.test_share_client import LOCK_S, WAIT_S, Blocking, nothing_comes, steady_group
from interop.test_share_librdkafka import set_group
from leaselog.client import ShareConsumer, Transient
from leaselog.client.share.stopping import SAME_SIGNAL_MS

pytestmark = pytest.mark.all_on_kafka

OUTAGE_S = 5.0
SCRIPT = Path(__file__).with_name("stopped_worker.py")


def consumer_of(broker: BrokerProcess, group: str, topic: str, **config: Any) -> Blocking:
    consumer = Blocking({"bootstrap.servers": broker.address, "group.id": group}, **config)
    consumer.subscribe([topic])
    return consumer


@pytest.mark.on_kafka
def test_an_outage_of_five_seconds_costs_no_record_and_needs_no_setting(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("t")), fresh("g")
    produce(broker, topic, numbered(200))
    done = Counter[int]()
    begun_s: list[float] = []

    def work(record: Any) -> None:
        if not begun_s:
            begun_s.append(time.monotonic())
        if time.monotonic() - begun_s[0] < OUTAGE_S:
            raise Transient("the database is away")
        done[record.offset] += 1
        if len(done) == 200:
            consumer.wakeup()

    with consumer_of(broker, group, topic) as consumer:
        timer = threading.Timer(WAIT_S, consumer.wakeup)
        timer.start()
        consumer.run(work, concurrency=4)
        timer.cancel()
    assert dict(done) == dict.fromkeys(range(200), 1)
    with consumer_of(broker, group, topic) as other:
        assert nothing_comes(other)


@pytest.mark.on_kafka
def test_a_workers_group_begins_with_what_is_there_already(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("t")), fresh("g")
    produce(broker, topic, numbered(10))
    seen: list[int] = []
    left = set[int | None]()

    def work(record: Any) -> None:
        seen.append(record.offset)
        left.add(record.deliveries_left)
        if len(seen) == 10:
            consumer.wakeup()

    with consumer_of(broker, group, topic) as consumer:
        consumer.run(work)
    assert seen == list(range(10))
    assert left == {4}, "the limit of five deliveries is known"


@pytest.mark.on_kafka
def test_a_worker_leaves_a_group_alone_that_begins_with_what_comes(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("t")), fresh("g")
    set_group(broker, group, share_auto_offset_reset="latest")
    produce(broker, topic, numbered(10))
    seen: list[int] = []

    def work(record: Any) -> None:
        seen.append(record.offset)
        consumer.wakeup()

    with consumer_of(broker, group, topic) as consumer:
        worker = threading.Thread(target=lambda: consumer.run(work))
        worker.start()
        deadline = time.monotonic() + WAIT_S
        while worker.is_alive() and time.monotonic() < deadline:
            produce(broker, topic, [Sent(value=b"new")])  # until it has begun
            worker.join(0.5)
        assert not worker.is_alive()
    assert seen
    assert min(seen) >= 10


def test_a_handler_that_renews_keeps_its_record_for_longer_than_a_poll_may_take(share_broker, fresh) -> None:
    topic, group = create_topic(share_broker, fresh("t")), steady_group(share_broker, fresh)
    produce(share_broker, topic, numbered(1))
    other = consumer_of(share_broker, group, topic)
    lost: list[bool] = []

    def work(record: Any) -> None:
        for _ in range(4):
            lost.append(not nothing_comes(other, LOCK_S / 2))
            consumer.renew(record)
            consumer.metrics()
        consumer.wakeup()

    with consumer_of(share_broker, group, topic, max_poll_interval_ms=1_000) as consumer:
        consumer.run(work)
    assert lost == [False] * 4
    assert nothing_comes(other, LOCK_S)
    other.end()


@contextmanager
def worker_process(*args: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(SCRIPT), *args]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun 0\n"
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
@pytest.mark.parametrize("flavour", ["blocking", "asyncio"])
def test_a_worker_that_is_told_to_stop_finishes_what_it_has_begun(broker, fresh, flavour, number) -> None:
    topic, group = create_topic(broker, fresh("t")), fresh("g")
    produce(broker, topic, numbered(5))
    with worker_process(broker.address, topic, group, flavour, "1") as process:
        process.send_signal(number)
        time.sleep(0.02)
        process.send_signal(number)  # as GNU timeout does, which means one
        out, errors = process.communicate(timeout=WAIT_S)
        assert (process.returncode, out, errors) == (0, "finished 0\nended\n", "")
    with ShareConsumer({"bootstrap.servers": broker.address, "group.id": group}) as other:
        other.subscribe([topic])
        came: list[int] = []
        deadline = time.monotonic() + WAIT_S
        while len(came) < 4 and time.monotonic() < deadline:
            came += [record.offset for record in other.poll(0.5)]
    assert came == [1, 2, 3, 4]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
@pytest.mark.parametrize("flavour", ["blocking", "asyncio"])
def test_a_second_signal_ends_a_worker_at_once_and_its_record_comes_again(
    broker, fresh, flavour, number
) -> None:
    topic, group = create_topic(broker, fresh("t")), fresh("g")
    produce(broker, topic, numbered(1))
    with worker_process(broker.address, topic, group, flavour, "300") as process:
        process.send_signal(number)
        time.sleep(1.2 * SAME_SIGNAL_MS / 1000)
        process.send_signal(number)
        process.communicate(timeout=20)
        assert process.returncode in (-number, 1)
    with ShareConsumer({"bootstrap.servers": broker.address, "group.id": group}) as other:
        other.subscribe([topic])
        assert [record.delivery_count for record in other.poll(20)] == [2]
