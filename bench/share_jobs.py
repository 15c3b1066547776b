"""Single jobs a second on one partition: poll one record, acknowledge it, commit, over and over, with librdkafka.

    .venv/bin/python bench/share_jobs.py                          1, 8 and 32 consumers
    .venv/bin/python bench/share_jobs.py --consumers 8 --rounds 5
    .venv/bin/python bench/share_jobs.py --address 127.0.0.1:9092 any broker with share groups, Apache Kafka too

The latency is that of one whole job: the poll, the acknowledgement and the answered commit. The processor
time is the broker's own, per job, when the broker is ours; the consumers share the machine with it.
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

from confluent_kafka import ShareConsumer
from setting import begin_group, fill, make_topic
from throughput import broker

TOPIC = "jobs"
WARM_UP_S = 2.0


def prepare(address: str, group: str, jobs: int) -> None:
    make_topic(address, TOPIC)
    begin_group(address, group)
    # one record a batch: librdkafka cannot ask for less than a batch
    fill(address, TOPIC, (b"job %d" % n for n in range(jobs)), acks=1, linger_ms=0, batch_num_messages=1)


def work(address: str, group: str, begin: float, until: float, latencies: list[float]) -> None:
    """One consumer: the seconds that each job after the beginning took."""
    consumer = ShareConsumer(
        {"bootstrap.servers": address, "group.id": group, "max.poll.records": 1,
         "share.acknowledgement.mode": "explicit", "log_level": 2}
    )  # fmt: skip
    consumer.subscribe([TOPIC])
    while (began := time.monotonic()) < until:
        messages = list(consumer.poll(timeout=0.2))
        for message in messages:
            consumer.acknowledge(message)
        if messages:
            for result in consumer.commit_sync(10).values():
                assert result is None, result
            if began >= begin:
                latencies.extend([time.monotonic() - began] * len(messages))
    consumer.close()


def worker(address: str, group: str, consumers: int, begin: float, until: float, answers: Any) -> None:
    """One process with some of the consumers, each in a thread of its own."""
    latencies: list[list[float]] = [[] for _ in range(consumers)]
    threads = [
        threading.Thread(target=work, args=(address, group, begin, until, latencies[n]))
        for n in range(consumers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answers.put([latency for one in latencies for latency in one])


def processor_seconds(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(address: str, group: str, consumers: int, broker_pid: int | None) -> dict[str, float]:
    spawning = multiprocessing.get_context("spawn")  # librdkafka's threads do not survive a fork
    answers: Any = spawning.Queue()
    begin = time.monotonic() + WARM_UP_S
    until = begin + ARGUMENTS.seconds
    processes = min(consumers, ARGUMENTS.processes)
    shares = [consumers // processes + (n < consumers % processes) for n in range(processes)]
    children = [
        spawning.Process(target=worker, args=(address, group, share, begin, until, answers))
        for share in shares
    ]
    for child in children:
        child.start()
    time.sleep(max(0.0, begin - time.monotonic()))
    used = processor_seconds(broker_pid) if broker_pid else 0.0
    time.sleep(max(0.0, until - time.monotonic()))
    used = processor_seconds(broker_pid) - used if broker_pid else 0.0
    latencies = sorted(latency for _ in children for latency in answers.get(timeout=60))
    for child in children:
        child.join(30)
    jobs = len(latencies)
    return {
        "jobs/s": jobs / ARGUMENTS.seconds,
        "p50 ms": latencies[jobs // 2] * 1e3,
        "p99 ms": latencies[int(jobs * 0.99)] * 1e3,
        "broker us/job": used / jobs * 1e6,
    }


def main() -> None:
    rows: dict[int, list[dict[str, float]]] = {count: [] for count in ARGUMENTS.consumers}
    for number in range(ARGUMENTS.rounds):
        for count in ARGUMENTS.consumers:
            with ExitStack() as stack:
                address, pid = ARGUMENTS.address, None
                if not address:
                    home = stack.enter_context(tempfile.TemporaryDirectory())
                    address, pid = stack.enter_context(broker(ARGUMENTS.durability, home))
                group = f"jobs-{os.getpid()}-{number}-{count}"
                prepare(address, group, int(ARGUMENTS.jobs))
                rows[count].append(measure(address, group, count, pid))
    medians = {
        count: {name: round(statistics.median(run[name] for run in runs), 2) for name in runs[0]}
        for count, runs in rows.items()
    }
    for count, row in medians.items():
        print(f"{count:3d} consumers: " + ", ".join(f"{value:,.1f} {name}" for name, value in row.items()))
    if ARGUMENTS.json:
        print(json.dumps(medians))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--consumers", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--processes", type=int, default=4, help="client processes; threads beyond that")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=80_000, help="how many to produce before each run")
    parser.add_argument("--durability", default="fsync")
    parser.add_argument("--address", help="a broker that runs already")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    ARGUMENTS = arguments()
    main()
