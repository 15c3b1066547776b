"""How many records a second an ordinary consumer gets: the same bytes without leases."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, TopicPartition

from bench.batches import produce
from bench.frame import Case, Measured, Metric, Row
from bench.stage import Stage

RECORDS = {100: 1_000_000, 1024: 300_000}
QUICK_RECORDS = {100: 100_000, 1024: 50_000}


def measure(stage: Stage, case: Case) -> Measured:
    size = case.values["size"]
    count = stage.size(RECORDS, QUICK_RECORDS)[size]
    topic = stage.topic()
    produce(stage.address, topic, size, count)
    _all(stage.address, topic, count // 4)
    with stage.processor() as spent:
        rate = _all(stage.address, topic, count)
    return Measured({"records/s": rate, "MB/s": rate * size / 1e6}, count, spent.seconds)


def _all(address: str, topic: str, count: int) -> float:
    """Records a second, from the first that are there to the last."""
    client = Consumer(
        {"bootstrap.servers": address, "group.id": "bench", "enable.auto.commit": False,
         "auto.offset.reset": "earliest", "queued.min.messages": 1_000_000, "check.crcs": False,
         # or else it pauses for a second when its queue is full, the sooner the faster the broker is
         "fetch.queue.backoff.ms": 10}
    )  # fmt: skip
    client.assign([TopicPartition(topic, 0, 0)])
    seen, first, began = 0, 0, 0.0
    try:
        while seen < count:
            messages = client.consume(min(10_000, count - seen), timeout=20)
            if not messages:
                raise RuntimeError(f"only {seen} of {count} records came")
            seen += len(messages)
            if not began:
                began, first = time.perf_counter(), seen
        return (seen - first) / (time.perf_counter() - began)
    finally:
        client.close()


ROW = Row(
    name="fetch",
    title="an ordinary consumer, one partition",
    client="confluent-kafka's `Consumer.consume`",
    metrics=(Metric("records/s", "1/s"), Metric("MB/s", "MB/s")),
    cases=(Case("100 B", {"size": 100}), Case("1 KB", {"size": 1024})),
    measure=measure,
    case_s=4,
    quick=("1 KB",),
)
