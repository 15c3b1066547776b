"""How long a broker takes from its process's start until it is of use, and how much memory it keeps."""

from __future__ import annotations

import time

from bench.brokers import answers
from bench.frame import Case, Measured, Metric, Row
from bench.stage import Stage
from bench.warm_up import some_batches
from interop.raw_requests import connected
from leaselog.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from leaselog.wire.records import Record, build_batch

PRODUCE_VERSION = 9  # the last before which topics have names, and the first with flexible fields
IDLE_S = 3.0


def measure(stage: Stage, _: Case) -> Measured:
    broker = stage.broker
    broker.start()  # storage is begun and the topic is there before the start that counts
    topic = stage.topic()
    broker.stop()
    began = time.perf_counter()
    broker.launch()
    for _again in broker.while_starting():
        if answers(broker.port):
            break
    answered_s = time.perf_counter() - began
    for _again in broker.while_starting():
        if _is_produced(stage, topic):
            break
    produced_s = time.perf_counter() - began
    time.sleep(IDLE_S)
    idle_mb = broker.resident_mb()
    used_s = broker.processor_s()
    some_batches(stage)
    return Measured(
        {"answers": answered_s, "produces": produced_s, "idle": idle_mb, "after work": broker.resident_mb()},
        operations=1,
        broker_processor_s=used_s,
    )


def _is_produced(stage: Stage, topic: str) -> bool:
    """A broker may answer before it leads the partition."""
    batch = build_batch([Record(offset=0, timestamp_ms=int(time.time() * 1000), key=None, value=b"first")])
    partition = PartitionProduceData(index=0, records=bytes(batch))
    request = ProduceRequest(
        acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=[partition])]
    )
    with connected(stage.for_raw_requests()) as connection:
        answer = connection.ask(request, PRODUCE_VERSION, ProduceResponse)
    return all(p.error_code == 0 for t in answer.responses for p in t.partition_responses)


ROW = Row(
    name="start",
    title="from the process's start on storage that has been begun",
    client="requests on a socket",
    metrics=(
        Metric("answers", "s to ApiVersions", bigger_is_better=False, target=10),
        Metric("produces", "s to the first record", bigger_is_better=False, target=10),
        Metric("idle", "MB resident", bigger_is_better=False, target=5),
        Metric("after work", "MB resident", bigger_is_better=False),
    ),
    cases=(Case("start"),),
    measure=measure,
    case_s=12,
    operation="start",
    has_own_broker=True,
    starts_broker=False,
)
