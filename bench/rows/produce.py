"""How many records a second one producer gets rid of, every one acknowledged by all there are."""

from __future__ import annotations

import re

from bench import batches
from bench.frame import Case, Measured, Metric, Row
from bench.machine import claim_page_cache
from bench.stage import Stage

#: by client and record size: enough for seconds, little enough for the page cache
RECORDS = {
    "librdkafka": {100: 500_000, 1024: 200_000, 10_240: 30_000},
    "Java": {100: 400_000, 1024: 100_000, 10_240: 12_000},
}
QUICK_RECORDS = {client: {100: 20_000, 1024: 5_000, 10_240: 1_000} for client in RECORDS}
#: of the records, before the clock runs, on the same topic
WARM_PART = 4
_SAID = re.compile(r"(\d+) records sent, ([\d.]+) records/sec")


def measure(stage: Stage, case: Case) -> Measured:
    client, size, partitions = case.values["client"], case.values["size"], case.values["partitions"]
    topic = stage.topic(partitions)
    count = stage.size(RECORDS, QUICK_RECORDS)[client][size]
    by = _librdkafka if client == "librdkafka" else _java
    claim_page_cache(stage.home, 2 * count * size)
    rate, broker_s = by(stage, topic, size, count)
    return Measured({"records/s": rate, "MB/s": rate * size / 1e6}, count, broker_s)


def _librdkafka(stage: Stage, topic: str, size: int, count: int) -> tuple[float, float]:
    batches.produce(stage.address, topic, size, count // WARM_PART)
    with stage.processor() as spent:
        seconds = batches.produce(stage.address, topic, size, count)
    return count / seconds, spent.seconds


def _java(stage: Stage, topic: str, size: int, count: int) -> tuple[float, float]:
    """The tool tells warm-up and the rest apart; the broker's processor is that of both, so it is shared out."""
    warm = count // WARM_PART
    with stage.processor() as spent:
        said = stage.java.run(
            "org.apache.kafka.tools.ProducerPerformance", "--bootstrap-server", stage.address, "--topic", topic,
            "--num-records", count + warm, "--warmup-records", warm, "--record-size", size,
            "--throughput", -1, "--command-property", "acks=all",
        )  # fmt: skip
    sent, rate = _SAID.findall(said)[-1]
    if int(sent) not in (count, count + warm):
        raise RuntimeError(f"{sent} records were sent, not {count}")
    return float(rate), spent.seconds * count / (count + warm)


def _cases() -> tuple[Case, ...]:
    return tuple(
        Case(f"{client}, {name}, {partitions} partition{'s' * (partitions > 1)}",
             {"client": client, "size": size, "partitions": partitions}, {"records/s": 1.0})
        for client in ("librdkafka", "Java")
        for partitions in (1, 6)
        for name, size in (("100 B", 100), ("1 KB", 1024), ("10 KB", 10_240))
    )  # fmt: skip


ROW = Row(
    name="produce",
    title="one producer, acks=all",
    client="confluent-kafka's `Producer` (linger.ms=5, batches up to 1 MB) and `kafka-producer-perf-test` as it is",
    metrics=(Metric("records/s", "1/s"), Metric("MB/s", "MB/s")),
    cases=_cases(),
    measure=measure,
    case_s=5,
    quick=("librdkafka, 1 KB, 1 partition", "Java, 1 KB, 1 partition"),
)
