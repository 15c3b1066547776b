"""How long a broker that comes back takes until a share group gets records again, with a lot behind it."""

from __future__ import annotations

import time

from bench.batches import produce
from bench.frame import Case, Measured, Metric, Row
from bench.stage import Stage
from interop.raw_requests import connected
from interop.share_member import ACCEPT, RELEASE, Batch, RawShareMember, ranges, topic_id_of

RECORD_BYTES = 100
RECORDS = (1_000_000, 20_000)
#: records of a window, every second of which is accepted: no two neighbours are in the same state
WINDOW = 2_000
#: windows that the group has been through before, each in two halves that were written one after the other
WINDOWS_BEHIND = (100, 3)
PATIENCE_S = 120.0


def measure(stage: Stage, case: Case) -> Measured:
    topic = stage.topic()
    group = stage.group(topic)
    produce(stage.address, topic, RECORD_BYTES, stage.size(*RECORDS))
    with connected(stage.for_raw_requests()) as connection:
        member = RawShareMember(connection, group, topic_id_of(stage.for_raw_requests(), topic))
        for _ in range(stage.size(*WINDOWS_BEHIND)):
            _every_second(member, RELEASE)
            _every_second(member, ACCEPT)
        _every_second(member, RELEASE)
    stage.broker.kill() if case.values["killed"] else stage.broker.stop()
    began = time.perf_counter()
    stage.broker.launch()
    for _again in stage.broker.while_starting():
        if _has_records(stage, group, topic):
            break
    seconds = time.perf_counter() - began
    return Measured({"first records": seconds}, 1, stage.broker.processor_s())


def _every_second(member: RawShareMember, others: int) -> None:
    """What there is, up to a window: every second record is accepted, the others are not or are, too."""
    held: list[tuple[int, int]] = []
    for first, last, _ in member.acquire(until=1, max_records=WINDOW, batch_size=WINDOW)[0]:
        held.append((first, last))
    acks: list[Batch] = [
        (first, last, [ACCEPT if offset % 2 else others for offset in range(first, last + 1)])
        for first, last in held
    ]
    answer = member.acknowledge({0: acks})
    (code,) = {p.error_code for t in answer.responses for p in t.partitions}
    if code:
        raise RuntimeError(f"the acknowledgement was refused with {code}")


def _has_records(stage: Stage, group: str, topic: str) -> bool:
    """A member nobody has heard of asks; an error means that something is still being read."""
    try:
        with connected(stage.for_raw_requests()) as connection:
            member = RawShareMember(connection, group, topic_id_of(stage.for_raw_requests(), topic))
            return bool(ranges(member.fetch(wait_ms=100))) or bool(ranges(member.fetch(wait_ms=500)))
    except (OSError, AssertionError):
        return False


ROW = Row(
    name="restart",
    title="1,000,000 records, a window of 2,000 in which no two neighbours are alike",
    client="requests on a socket",
    metrics=(Metric("first records", "s from the process's start", bigger_is_better=False),),
    cases=(Case("stopped", {"killed": False}), Case("killed", {"killed": True})),
    measure=measure,
    case_s=25,
    operation="start",
    has_own_broker=True,
)
