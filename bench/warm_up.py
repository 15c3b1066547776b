"""Work before the clock runs: a JVM compiles what it does often, and caches and buffers grow to their size."""

from __future__ import annotations

from contextlib import nullcontext

from bench.batches import consume_all, produce
from bench.frame import KAFKA, LEASELOG
from bench.single_jobs import some_jobs
from bench.stage import Stage

__all__ = ["some_batches", "warm_up"]

RECORD_BYTES = 1024
#: until single jobs do not get faster any more: Kafka does 460 a second at first and 830 when its compiler has ended
JOBS_S = {LEASELOG: 5, KAFKA: 50}


def warm_up(stage: Stage) -> None:
    """Of a broker that many rows are measured on."""
    for _ in range(stage.size(2, 1)):
        some_batches(stage)
    stage.java.run(
        "org.apache.kafka.tools.ProducerPerformance", "--bootstrap-server", stage.address,
        "--topic", stage.topic(partitions=6), "--num-records", stage.size(200_000, 5_000), "--record-size", 100,
        "--throughput", -1, "--command-property", "acks=all",
    )  # fmt: skip
    some_jobs(stage, stage.size(JOBS_S[stage.broker.kind], 2))


def some_batches(stage: Stage) -> None:
    """Through a topic of six partitions, and the same records to a share group."""
    topic = stage.topic(partitions=6)
    group = stage.group(topic, partitions=6)
    records = stage.size(200_000, 5_000)
    produce(stage.address, topic, RECORD_BYTES, records)
    consume_all(stage.address, topic, group, 1, records, nullcontext())
