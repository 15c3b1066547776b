"""What Spark does with the source's driver side, one batch at a time, and without Spark.

    python -m interop.spark_query ADDRESS TOPIC GROUP

carries out one batch, says so, and stays a member until it is killed.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from leaselog.spark.batch import BEGINNING, Batch
from leaselog.spark.group_member import GroupMember
from leaselog.spark.options import SourceOptions
from leaselog.spark.queue_reader import QueueReader
from leaselog.spark.range_reader import RangeReader, read_ranges
from leaselog.spark.room import Room

DEADLINE_S = 60.0


class Query:
    """What Spark does with a source, one batch at a time. Its ``checkpoint`` may go to another one."""

    def __init__(
        self, address: str, topic: str, group: str, checkpoint: dict[str, Any] | None = None
    ) -> None:
        given = {
            "kafka.bootstrap.servers": address,
            "kafka.share.group.id": group,
            "subscribe": topic,
            "startingOffsets": "earliest",
            "maxRecordsPerBatch": "20",
            "parallelism": "3",
        }
        self.options = SourceOptions.of(given)
        self.queue = QueueReader(self.options, GroupMember(self.options), None, time.monotonic)
        self.checkpoint = checkpoint or BEGINNING.to_offset()
        self.rows: list[tuple[int, int]] = []

    def look(self) -> dict[str, Any] | None:
        """The next batch, as it stands in the offset log."""
        end = self.queue.latest(self.checkpoint, Room.of(self.options, max_rows=20))
        return None if end == self.checkpoint else json.loads(json.dumps(end))

    def next_batch(self) -> dict[str, Any]:
        deadline = time.monotonic() + DEADLINE_S
        while (end := self.look()) is None:
            assert time.monotonic() < deadline, "no batch"
        return end

    def carry_out(self, end: dict[str, Any]) -> None:
        lives = Batch.from_offset(end).lives
        for share in self.queue.plan(self.checkpoint, end):
            for batch in read_ranges(RangeReader(self.options.box.bootstrap_servers), share, lives):
                self.rows += zip(
                    batch.column("partition").to_pylist(), batch.column("offset").to_pylist(), strict=True
                )
        self.checkpoint = end

    def step(self) -> None:
        if (end := self.look()) is not None:
            self.carry_out(end)


def main(address: str, topic: str, group: str) -> None:
    query = Query(address, topic, group)
    query.carry_out(query.next_batch())
    print(json.dumps({"checkpoint": query.checkpoint, "rows": query.rows}), flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
