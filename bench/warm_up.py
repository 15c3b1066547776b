"""Work before the clock runs: a JVM compiles what it does often, and caches and buffers grow to their size."""

from __future__ import annotations

from contextlib import nullcontext

from bench.batches import consume_all, produce
from bench.stage import Stage

__all__ = ["warm_up"]

RECORD_BYTES = 1024


def warm_up(stage: Stage) -> None:
    """Batches through a topic of six partitions, and the same records to a share group."""
    topic = stage.topic(partitions=6)
    group = stage.group(topic, partitions=6)
    records = stage.size(200_000, 5_000)
    produce(stage.address, topic, RECORD_BYTES, records)
    consume_all(stage.address, topic, group, 1, records, nullcontext())
