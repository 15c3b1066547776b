"""How long a record takes from producing to a share consumer's hands, at a rate that keeps nobody busy."""

from __future__ import annotations

from bench.frame import Case, Measured, Metric, Row
from bench.single_jobs import wait_for
from bench.stage import Stage

RATE = 1_000


def measure(stage: Stage, _: Case) -> Measured:
    topic = stage.topic()
    group = stage.group(topic)
    warm_s, seconds = stage.size((10, 20), (1, 2))
    with stage.java.running("bench.Latency", stage.address, topic, group, RATE, warm_s, seconds) as said:
        wait_for(said, "BEGIN")
        with stage.processor() as spent:
            wait_for(said, "END")
        count, p50, p99, p999 = map(int, said.readline().split())
    return Measured({"p50": p50 / 1e3, "p99": p99 / 1e3, "p99.9": p999 / 1e3}, count, spent.seconds)


ROW = Row(
    name="latency",
    title="from producing to delivery, 1,000 records of 100 B a second, one partition",
    client="Java `KafkaProducer` (linger.ms=0, acks=all) and an implicit `KafkaShareConsumer` in one JVM",
    metrics=(
        Metric("p50", "ms", bigger_is_better=False),
        Metric("p99", "ms", bigger_is_better=False, target=1.0),
        Metric("p99.9", "ms", bigger_is_better=False),
    ),
    cases=(Case("1,000 records/s"),),
    measure=measure,
    case_s=32,
)
