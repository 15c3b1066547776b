"""How long the first member of a group that nobody has heard of waits for its first record."""

from __future__ import annotations

from statistics import median

from bench.frame import Case, Measured, Metric, Row
from bench.setting import fill
from bench.stage import Stage

#: of a group that is not counted, as the program has it
WARM_CONSUMERS = 9


def measure(stage: Stage, _: Case) -> Measured:
    topic = stage.topic()
    fill(stage.address, topic, [b"x" * 100] * 100, acks="all")
    groups = stage.size(5, 1)
    with stage.processor() as spent:
        said = stage.java.run("bench.FirstRecord", stage.address, topic, stage.fresh("group"), groups)
    return Measured(
        {"first record": median(map(int, said.split())) / 1e3}, groups + WARM_CONSUMERS, spent.seconds
    )


ROW = Row(
    name="first-record",
    title="a fresh group, from subscribe to the first record",
    client="Java `KafkaShareConsumer`, in a JVM that has done it before",
    metrics=(Metric("first record", "ms", bigger_is_better=False, target=100),),
    cases=(Case("fresh group"),),
    measure=measure,
    case_s=24,
    operation="consumer",
)
