"""How many records a second share consumers get through when they take batches and accept whatever came."""

from __future__ import annotations

from contextlib import nullcontext
from statistics import median

from bench import batches
from bench.frame import Case, Measured, Metric, Row
from bench.stage import Stage

RECORD_BYTES = 1024
#: a second or two each, which is too short for one to be a figure
PASSES_OF_LIBRDKAFKA = 3
_FIGURES_IN_LINE = 7


def measure(stage: Stage, case: Case) -> Measured:
    partitions, consumers = case.values["partitions"], case.values["consumers"]
    by = _librdkafka if case.values["client"] == "librdkafka" else _java
    # the Java tool's clock runs from its start, so the part that is not about records has to be small
    count = stage.size(600_000, 40_000)

    def filled() -> str:
        made = stage.topic(partitions)
        batches.produce(stage.address, made, RECORD_BYTES, count)
        return made

    topic = stage.once(f"{partitions} partitions", filled)
    rate, broker_s = by(stage, topic, partitions, consumers, count)
    return Measured({"records/s": rate, "MB/s": rate * RECORD_BYTES / 1e6}, count, broker_s)


def _librdkafka(stage: Stage, topic: str, partitions: int, consumers: int, count: int) -> tuple[float, float]:
    rates, seconds = [], []
    for _ in range(PASSES_OF_LIBRDKAFKA):
        group = stage.group(topic, partitions)
        with stage.processor() as spent:
            rates.append(batches.consume_all(stage.address, topic, group, consumers, count, nullcontext()))
        seconds.append(spent.seconds)
    return median(rates), median(seconds)


def _java(stage: Stage, topic: str, partitions: int, consumers: int, count: int) -> tuple[float, float]:
    group = stage.group(topic, partitions)
    with stage.processor() as spent:
        said = stage.java.run(
            "org.apache.kafka.tools.ShareConsumerPerformance", "--bootstrap-server", stage.address,
            "--topic", topic, "--group", group, "--num-records", count, "--threads", consumers,
            "--hide-header", "--timeout", 60_000,
        )  # fmt: skip
    figures = [f for line in said.splitlines() if len(f := line.split(", ")) == _FIGURES_IN_LINE][-1]
    seen, rate = float(figures[5]), float(figures[4])
    if seen < count:
        raise RuntimeError(f"{seen:.0f} of {count} records were seen")
    return rate, spent.seconds


def _cases() -> tuple[Case, ...]:
    return tuple(
        Case(f"{client}, {consumers} consumer{'s' * (consumers > 1)}, {partitions} partition{'s' * (partitions > 1)}",
             {"client": client, "consumers": consumers, "partitions": partitions}, {"records/s": 1.0})
        for client in ("librdkafka", "Java")
        for partitions in (1, 6)
        for consumers in (1, 4, 16)
    )  # fmt: skip


ROW = Row(
    name="share-consume",
    title="batches of 1 KB records, implicit acknowledgement",
    client="confluent-kafka's `ShareConsumer` in up to four processes, and `kafka-share-consumer-perf-test` as it is",
    metrics=(Metric("records/s", "1/s"), Metric("MB/s", "MB/s")),
    cases=_cases(),
    measure=measure,
    case_s=12,
    quick=("librdkafka, 4 consumers, 1 partition", "Java, 1 consumer, 1 partition"),
)
