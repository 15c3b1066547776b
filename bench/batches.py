"""librdkafka with batches: producing as fast as it goes, and share consumers that take all there is."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from typing import Any

from confluent_kafka import Producer, ShareConsumer

__all__ = ["consume_all", "produce"]

#: librdkafka's word for a partition that it may choose
PARTITION_UA = -1

PROCESSES = 4
PATIENCE_S = 60.0
#: a hundredth of the shortest that is measured, and not so often that whoever looks takes part in it
LOOK_S = 0.01


def produce(address: str, topic: str, size: int, count: int, evenly_over: int | None = None) -> float:
    """Seconds from the first `produce()` to the last delivery report; every report is looked at.

    Records go where librdkafka likes, or in turn into so many partitions.
    """
    client = Producer(
        {"bootstrap.servers": address, "acks": "all", "linger.ms": 5, "batch.size": 1_000_000,
         "queue.buffering.max.kbytes": 1 << 18, "queue.buffering.max.messages": 1_000_000}
    )  # fmt: skip
    payload, failed = os.urandom(size), []

    def delivered(error: object, _: object) -> None:
        if error is not None:
            failed.append(error)

    client.list_topics(topic, timeout=10)
    began = time.perf_counter()
    for number in range(count):
        while True:
            try:
                partition = PARTITION_UA if evenly_over is None else number % evenly_over
                client.produce(topic, payload, partition=partition, on_delivery=delivered)
                break
            except BufferError:
                client.poll(0.01)
        if number % 1000 == 0:
            client.poll(0)
    left = client.flush(PATIENCE_S)
    seconds = time.perf_counter() - began
    if failed or left:
        raise RuntimeError(f"{len(failed)} deliveries failed, {left} are missing: {failed[:1]}")
    return seconds


def consume_all(address: str, topic: str, group: str, consumers: int, records: int, spent: Any) -> float:
    """Records a second by that many consumers, implicit; the topic has so many records, the group has seen none.

    Every consumer gets a first batch and gives it back done, and waits for the others; then the clock runs until the
    last record is there. `spent` is entered while it does.
    """
    spawning = multiprocessing.get_context("spawn")  # librdkafka's threads do not survive a fork
    processes = min(consumers, PROCESSES)
    ready, go, seen = spawning.Semaphore(0), spawning.Event(), spawning.Value("q", 0)
    wrong: Any = spawning.Queue()
    shares = [consumers // processes + (n < consumers % processes) for n in range(processes)]
    children = [
        spawning.Process(target=_some, args=(share, address, topic, group, records, ready, go, seen, wrong))
        for share in shares
    ]
    for child in children:
        child.start()
    try:
        for number in range(consumers):
            if not ready.acquire(timeout=PATIENCE_S):
                raise RuntimeError(f"{number} of {consumers} consumers had records: {_said(wrong)}")
        before = seen.value
        with spent:
            began = time.perf_counter()
            go.set()
            seconds = _until_all_seen(seen, records, began, wrong)
        return float(records - before) / seconds
    finally:
        go.set()
        seen.value = max(seen.value, records)  # whoever waits for more need not
        for child in children:
            child.join(PATIENCE_S)


def _until_all_seen(seen: Any, records: int, began: float, wrong: Any) -> float:
    while seen.value < records:
        if time.perf_counter() - began > 2 * PATIENCE_S or not wrong.empty():
            raise RuntimeError(f"{seen.value} of {records} records were seen: {_said(wrong)}")
        time.sleep(LOOK_S)
    return time.perf_counter() - began


def _said(wrong: Any) -> str:
    return "nobody said why" if wrong.empty() else str(wrong.get())


def _some(consumers: int, *what: Any) -> None:
    threads = [threading.Thread(target=_consume, args=what) for _ in range(consumers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _consume(
    address: str, topic: str, group: str, records: int, ready: Any, go: Any, seen: Any, wrong: Any
) -> None:
    consumer = ShareConsumer({"bootstrap.servers": address, "group.id": group, "log_level": 2})
    is_ready = False
    try:
        consumer.subscribe([topic])
        while seen.value < records:
            messages = list(consumer.poll(timeout=0.2))
            for message in messages:
                assert message.error() is None, message.error()
            with seen.get_lock():
                seen.value += len(messages)
            if messages and not is_ready:
                is_ready = True
                consumer.commit_sync(10)  # what it holds is not to keep the others waiting
                ready.release()
                go.wait(PATIENCE_S)
    except Exception as problem:  # noqa: BLE001 - it is told to whoever waits
        wrong.put(repr(problem))
    finally:
        consumer.close()
