"""Produce and fetch throughput and latency with librdkafka, beside a raw sequential append of the same bytes.

    make bench                                    everything
    .venv/bin/python bench/throughput.py --sizes 1024 --durability os --rounds 1

Each round runs every row once, so that a slow minute of the machine hits all rows; the table shows medians.
The broker is a process of its own on a fresh data directory; client and broker share the machine's processors.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition, libversion

ROOT = Path(__file__).parents[1]
RAW_WRITE_BYTES = 1 << 20
LATENCY_RATE = 500
LATENCY_SECONDS = 4


@contextmanager
def broker(durability: str, directory: str) -> Iterator[tuple[str, int]]:
    """A leaselog broker on a free port, ended by its own id: its address and process id."""
    ready = Path(directory, "ready")
    command = [
        str(Path(sys.executable).with_name("leaselog")), "serve", "--listen", "127.0.0.1:0",
        "--data-dir", f"{directory}/data", "--ready-file", str(ready), "--set", f"durability={durability}",
        "--log-level", "WARNING",
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the broker did not start")
            time.sleep(0.01)
        yield ready.read_text().strip(), process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def producer(address: str, **more: Any) -> Producer:
    return Producer(
        {"bootstrap.servers": address, "acks": "all", "linger.ms": 5, "batch.size": 1_000_000,
         "queue.buffering.max.kbytes": 1 << 18, "queue.buffering.max.messages": 1_000_000, **more}
    )  # fmt: skip


def produce(address: str, topic: str, size: int, count: int) -> float:
    client, payload, failed = producer(address), os.urandom(size), []

    def delivered(error: object, _: object) -> None:
        if error is not None:
            failed.append(error)

    client.list_topics(topic, timeout=10)
    started = time.perf_counter()
    for i in range(count):
        while True:
            try:
                client.produce(topic, payload, on_delivery=delivered)
                break
            except BufferError:
                client.poll(0.01)
        if i % 1000 == 0:
            client.poll(0)
    left = client.flush(120)
    seconds = time.perf_counter() - started
    if failed or left:
        raise RuntimeError(f"{len(failed)} deliveries failed, {left} are missing: {failed[:1]}")
    return seconds


def fetch(address: str, topic: str, count: int) -> float:
    client = Consumer(
        {"bootstrap.servers": address, "group.id": "bench", "enable.auto.commit": False,
         "auto.offset.reset": "earliest", "fetch.min.bytes": 1, "max.partition.fetch.bytes": 1 << 20,
         "queued.min.messages": 1_000_000, "queued.max.messages.kbytes": 1 << 20, "check.crcs": False}
    )  # fmt: skip
    client.assign([TopicPartition(topic, 0, 0)])
    seen, started = 0, 0.0
    while seen < count:
        messages = client.consume(min(10_000, count - seen), timeout=20)
        if not messages:
            raise RuntimeError(f"only {seen} of {count} records came back")
        if not started:
            started = time.perf_counter()  # the connection is up and the first records are here
            first = len(messages)
        seen += len(messages)
    seconds = time.perf_counter() - started
    client.close()
    return seconds * count / max(count - first, 1)


def latency(address: str, topic: str, size: int) -> dict[str, float]:
    """Milliseconds from produce() to the delivery report, one record at a time at a steady rate."""
    client, payload, times = producer(address, **{"linger.ms": 0}), os.urandom(size), []
    client.list_topics(topic, timeout=10)
    start = time.perf_counter()
    for i in range(LATENCY_RATE * LATENCY_SECONDS):
        due = start + i / LATENCY_RATE
        while time.perf_counter() < due:
            client.poll(max(0.0, due - time.perf_counter()))
        sent = time.perf_counter()
        client.produce(
            topic, payload, on_delivery=lambda e, m, sent=sent: times.append(time.perf_counter() - sent)
        )
    client.flush(30)
    times.sort()
    return {"p50_ms": times[len(times) // 2] * 1e3, "p99_ms": times[int(len(times) * 0.99)] * 1e3}


def raw_append(directory: str, durability: str, total_bytes: int) -> float:
    """The same bytes in 1 MB writes to one file, synced as the mode asks: what the disk gives to nobody else."""
    payload = os.urandom(RAW_WRITE_BYTES)
    fd = os.open(f"{directory}/raw", os.O_CREAT | os.O_WRONLY)
    started = time.perf_counter()
    for _ in range(total_bytes // RAW_WRITE_BYTES):
        os.write(fd, payload)
        if durability == "fsync":
            os.fdatasync(fd)
    seconds = time.perf_counter() - started
    os.close(fd)
    os.remove(f"{directory}/raw")
    return seconds


def measure(size: int, durability: str, total_mb: int) -> dict[str, float]:
    count = max(total_mb * 1_000_000 // max(size, 400), 1000)
    total_bytes = count * size
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as directory:
        raw_s = raw_append(directory, durability, max(total_bytes, RAW_WRITE_BYTES))
        with broker(durability, directory) as (address, _):
            produce_s = produce(address, "bench", size, count)
            fetch_s = fetch(address, "bench", count)
            waits = latency(address, "latency", size)
    mb = total_bytes / 1e6
    return {
        "produce_records_s": count / produce_s, "produce_mb_s": mb / produce_s,
        "fetch_records_s": count / fetch_s, "fetch_mb_s": mb / fetch_s,
        "raw_mb_s": mb / raw_s, **waits,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1024, 10240])
    parser.add_argument("--durability", nargs="+", default=["os", "interval", "fsync"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mb", type=int, default=300, help="megabytes a row (fewer for small records)")
    parser.add_argument("--json", type=Path, help="write every round's figures there")
    args = parser.parse_args()
    rows = [(size, mode) for mode in args.durability for size in args.sizes]
    runs: dict[tuple[int, str], list[dict[str, float]]] = {row: [] for row in rows}
    for turn in range(args.rounds):
        for row in rows:
            runs[row].append(measure(*row, args.mb))
            print(
                f"round {turn + 1}, {row[0]} B, {row[1]}: {json.dumps(_rounded(runs[row][-1]))}",
                file=sys.stderr,
            )
    print(f"python {platform.python_version()}, librdkafka {libversion()[0]}, {os.cpu_count()} cores,")
    print(f"medians of {args.rounds}\n")
    columns = [
        "record",
        "durability",
        "produce rec/s",
        "produce MB/s",
        "of raw append",
        "fetch rec/s",
        "fetch MB/s",
    ]
    print("| " + " | ".join([*columns, "p50 ms", "p99 ms"]) + " |")
    print("| ---: | --- |" + " ---: |" * 7)
    for size, mode in rows:
        m = {key: statistics.median(r[key] for r in runs[size, mode]) for key in runs[size, mode][0]}
        ratio = statistics.median(r["produce_mb_s"] / r["raw_mb_s"] for r in runs[size, mode])
        print(
            f"| {size} B | {mode} | {m['produce_records_s']:,.0f} | {m['produce_mb_s']:.0f} | {ratio:.2f} | "
            f"{m['fetch_records_s']:,.0f} | {m['fetch_mb_s']:.0f} | {m['p50_ms']:.2f} | {m['p99_ms']:.2f} |"
        )
    if args.json:
        args.json.write_text(
            json.dumps([{"size": s, "durability": d, "rounds": runs[s, d]} for s, d in rows], indent=1)
        )


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {key: round(value, 2) for key, value in figures.items()}


if __name__ == "__main__":
    main()
