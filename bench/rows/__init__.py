"""The rows of the comparison, in the order of the table."""

from __future__ import annotations

from bench.frame import Row
from bench.rows import (
    fetch,
    first_record,
    in_flight,
    job_queue,
    latency,
    produce,
    rejects,
    restart,
    retries,
    scaling,
    share_consume,
    start,
)

__all__ = ["ROWS"]

ROWS: tuple[Row, ...] = (
    start.ROW, first_record.ROW, produce.ROW, share_consume.ROW, job_queue.ROW, rejects.ROW, retries.ROW, latency.ROW,
    scaling.ROW, in_flight.ROW, in_flight.MILLION, restart.ROW, fetch.ROW,
)  # fmt: skip
