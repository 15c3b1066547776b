"""How consumers add up on one partition: the time that so many of them take for their jobs, beside the ideal time.

    .venv/bin/python -m bench.share_scaling                                    1, 2, 4 … 64 consumers, 500 ms a job
    .venv/bin/python -m bench.share_scaling --consumers 16 --work-ms 100 --jobs 30
    .venv/bin/python -m bench.share_scaling --address 127.0.0.1:9092           any broker with share groups

A job is one record whose consumer sleeps for the length of the work, accepts it, and has that answered before it asks
for the next one; it never holds a second. Ideal is jobs times work, divided by the consumers. The clock runs from when
the first job reaches a consumer, with everybody waiting, to when the last acceptance is answered.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import tempfile
import threading
import time
from contextlib import ExitStack
from typing import Any

from confluent_kafka import Producer, ShareConsumer

from bench.brokers import leaselog
from bench.machine import processor_seconds
from bench.setting import begin_group, make_topic

WARM_UP = b"warm-up"
WARM_UP_S = 60.0
#: how much longer than ideal a run may take before it is given up
PATIENCE = 5.0


def consume(address: str, topic: str, group: str, work_s: float, over: Any, said: Any) -> None:
    """One consumer until it is over. Says "ready" once, and of each job when it came and when its end was answered."""
    consumer = ShareConsumer(
        {"bootstrap.servers": address, "group.id": group, "max.poll.records": 1,
         "share.acknowledgement.mode": "explicit", "log_level": 2}
    )  # fmt: skip
    consumer.subscribe([topic])
    is_ready = False
    while not over.is_set():
        messages = list(consumer.poll(timeout=0.5))
        began = time.monotonic()
        assert len(messages) <= 1, "a second job in hand"
        for message in messages:
            is_job = message.value() != WARM_UP
            if is_job:
                time.sleep(work_s)
            consumer.acknowledge(message)
            for error in consumer.commit_sync(30).values():
                assert error is None, error
            if is_job:
                said.put(("done", message.offset(), began, time.monotonic()))
            elif not is_ready:
                is_ready = True
                said.put(("ready",))
                # leave the next one to somebody who is not ready yet
                time.sleep(0.05)
    consumer.close()


def worker(consumers: int, *what: Any) -> None:
    """One process with some of the consumers, each in a thread of its own."""
    threads = [threading.Thread(target=consume, args=what) for _ in range(consumers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def until_ready(producer: Producer, topic: str, consumers: int, said: Any) -> None:
    """Everybody has had a record: whoever has not yet will be waiting for the next ones."""
    deadline = time.monotonic() + WARM_UP_S
    ready = 0
    while ready < consumers:
        assert time.monotonic() < deadline, f"{ready} of {consumers} consumers after {WARM_UP_S} s"
        for _ in range(consumers):
            producer.produce(topic, WARM_UP)
        producer.flush(30)
        pause = time.monotonic() + 0.3
        while (left := pause - time.monotonic()) > 0 and ready < consumers:
            ready += not said.empty() and said.get()[0] == "ready"
            time.sleep(min(left, 0.005))
    time.sleep(1.0)  # what is left of the warm-up


def run(address: str, topic: str, group: str, consumers: int, broker_pid: int | None) -> dict[str, float]:
    spawning = multiprocessing.get_context("spawn")  # librdkafka's threads do not survive a fork
    over, said = spawning.Event(), spawning.Queue()
    work_s, jobs = ARGUMENTS.work_ms / 1000, ARGUMENTS.jobs * consumers
    processes = min(consumers, ARGUMENTS.processes)
    children = [
        spawning.Process(
            target=worker,
            args=(consumers // processes + (n < consumers % processes), address, topic, group, work_s, over, said),
        )
        for n in range(processes)
    ]  # fmt: skip
    for child in children:
        child.start()
    try:
        # one record a batch: librdkafka cannot ask for less than a batch
        producer = Producer({"bootstrap.servers": address, "linger.ms": 0, "batch.num.messages": 1})
        until_ready(producer, topic, consumers, said)
        ideal_s = ARGUMENTS.jobs * work_s
        used = processor_seconds(broker_pid) if broker_pid else 0.0
        for number in range(jobs):
            producer.produce(topic, b"job %d" % number)
        assert producer.flush(30) == 0, "jobs were not produced"
        done = [said.get(timeout=PATIENCE * ideal_s + 10) for _ in range(jobs)]
        took_s = max(ended for *_, ended in done) - min(began for _, _, began, _ in done)
        used = processor_seconds(broker_pid) - used if broker_pid else 0.0
    finally:
        over.set()
        for child in children:
            child.join(60)
    assert len({offset for _, offset, *_ in done}) == jobs, "a job was done twice"
    return {
        "ideal s": ideal_s,
        "took s": took_s,
        "efficiency %": 100 * ideal_s / took_s,
        "broker processor %": 100 * used / took_s,
    }


def main() -> None:
    rows: dict[int, list[dict[str, float]]] = {count: [] for count in ARGUMENTS.consumers}
    for number in range(ARGUMENTS.rounds):
        for count in ARGUMENTS.consumers:
            with ExitStack() as stack:
                address, pid = ARGUMENTS.address, None
                if not address:
                    home = stack.enter_context(tempfile.TemporaryDirectory())
                    broker = stack.enter_context(leaselog(ARGUMENTS.durability, home))
                    address, pid = broker.address, broker.pid
                name = f"scaling-{os.getpid()}-{number}-{count}"
                make_topic(address, name)
                begin_group(address, name)
                rows[count].append(run(address, name, name, count, pid))
    medians = {
        count: {name: round(statistics.median(run[name] for run in runs), 2) for name in runs[0]}
        for count, runs in rows.items()
    }
    if ARGUMENTS.json:
        print(json.dumps(medians))
        return
    print(f"load average {os.getloadavg()[0]:.1f} at the end; all this on one machine")
    for count, row in medians.items():
        print(f"{count:3d} consumers: " + ", ".join(f"{value:,.1f} {name}" for name, value in row.items()))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--consumers", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32, 64])
    parser.add_argument("--work-ms", type=float, default=500)
    parser.add_argument("--jobs", type=int, default=20, help="for each consumer")
    parser.add_argument("--processes", type=int, default=4, help="client processes; threads beyond that")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--durability", default="fsync")
    parser.add_argument("--address", help="a broker that runs already")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    ARGUMENTS = arguments()
    main()
