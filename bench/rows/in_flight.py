"""What it costs to acknowledge one record while many are held, and what holding them takes of memory."""

from __future__ import annotations

import random
import time
from statistics import quantiles

from bench.batches import produce
from bench.frame import LEASELOG, Case, Measured, Metric, Row
from bench.stage import Stage
from interop.raw_requests import connected
from interop.share_member import ACCEPT, Range, RawShareMember, codes, topic_id_of

RECORD_BYTES = 20
#: what one partition of a group may have in flight, as shipped
WINDOW = 2_000
#: the most that Kafka lets anybody configure; a million records take a hundred partitions of it
WIDEST_WINDOW = 10_000
#: the longest lease that the defaults allow: acquiring and acknowledging are to be over before
LOCK_MS = "60000"


def measure(stage: Stage, case: Case) -> Measured:
    partitions, window = stage.size(case.values["partitions"], 1), case.values["window"]
    records, acknowledged = partitions * window, stage.size(1_000, 200)
    topic = stage.topic(partitions)
    group = stage.group(topic, partitions, share_record_lock_duration_ms=LOCK_MS)
    produce(stage.address, topic, RECORD_BYTES, records, evenly_over=partitions)
    before_mb = stage.broker.resident_mb()
    with connected(stage.for_raw_requests()) as connection:
        member = RawShareMember(connection, group, topic_id_of(stage.for_raw_requests(), topic))
        held = _hold(member, partitions, records)
        held_mb = stage.broker.resident_mb()
        chosen = _every_second(held, acknowledged)
        waits = []
        with stage.processor() as spent:
            for partition, offset in chosen:
                began = time.perf_counter()
                answer = member.acknowledge({partition: [(offset, offset, [ACCEPT])]})
                waits.append((time.perf_counter() - began) * 1e3)
                if codes(answer) != {partition: 0}:
                    raise RuntimeError(f"offset {offset} was not accepted: {codes(answer)}")
    cuts = quantiles(waits, n=100)
    values = {"p50": cuts[49], "p99": cuts[98], "memory": held_mb - before_mb}
    return Measured(values, len(waits), spent.seconds)


def _hold(member: RawShareMember, partitions: int, records: int) -> dict[int, list[Range]]:
    """By partition, what one member has acquired: so many records in all."""
    held: dict[int, list[Range]] = member.acquire(
        partitions=range(partitions), until=records, max_records=records, batch_size=records,
        max_bytes=1 << 30, wait_ms=100,
    )  # fmt: skip
    return held


def _every_second(held: dict[int, list[Range]], count: int) -> list[tuple[int, int]]:
    """Partitions and offsets whose neighbours stay held, so that every acknowledgement splits something."""
    offsets = [
        (partition, offset)
        for partition, ranges in held.items()
        for first, last, _ in ranges
        for offset in range(first + 1, last, 2)
    ]
    return random.Random(len(offsets)).sample(offsets, min(count, len(offsets)))


_METRICS = (
    Metric("p50", "ms an acknowledgement", bigger_is_better=False),
    Metric("p99", "ms an acknowledgement", bigger_is_better=False),
    Metric("memory", "MB more resident", bigger_is_better=False),
)
_CLIENT = "requests on a socket: one record in an acknowledgement, answered before the next"

ROW = Row(
    name="in-flight",
    title="acknowledging one by one, out of order, while 2,000 records of a partition are held",
    client=_CLIENT,
    metrics=_METRICS,
    cases=(Case("2,000 held", {"partitions": 1, "window": WINDOW}),),
    measure=measure,
    case_s=3,
    operation="acknowledgement",
    has_own_broker=True,
)
MILLION = Row(
    name="in-flight-million",
    title="the same with a million held, 10,000 in each of 100 partitions",
    client=_CLIENT,
    metrics=_METRICS,
    cases=(Case("1,000,000 held", {"partitions": 100, "window": WIDEST_WINDOW}),),
    measure=measure,
    case_s=5,
    operation="acknowledgement",
    has_own_broker=True,
    settings={
        "group.share.partition.max.record.locks": str(WIDEST_WINDOW),
        "group.share.max.partition.max.record.locks": str(WIDEST_WINDOW),
    },
    kinds=(LEASELOG,),
)
