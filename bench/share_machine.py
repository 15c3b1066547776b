"""The share machine alone, at its worst: a window in which no two neighbours are alike.

    python bench/share_machine.py [records ...]          # default 100000 1000000

For each size: the window is filled and every second record handed to another member, so every record is a run of its
own. Then records are acquired, accepted and expired in requests of 500; the numbers are microseconds of processor time
per touched run, and bytes per run of the whole machine. The last line says what ten times the records cost.
"""

from __future__ import annotations

import sys
import tracemalloc
from statistics import median
from time import process_time

from leaselog.model import MemberId, Span
from leaselog.share import (
    Acknowledge,
    Acknowledged,
    AcknowledgementBatch,
    Acquire,
    Acquired,
    AcquireMode,
    Expire,
    Limits,
    Persist,
    Persisted,
    SharePartition,
)

A, B = MemberId("a"), MemberId("b")
REQUEST = 500
LOCK_MS = 30_000


class Timing:
    """Requests of one kind; their median, because a shared machine has slow moments."""

    def __init__(self) -> None:
        self._us_per_run: list[float] = []

    def add(self, seconds: float, runs: int) -> None:
        self._us_per_run.append(1e6 * seconds / runs)

    @property
    def us_per_run(self) -> float:
        return median(self._us_per_run)

    def __str__(self) -> str:
        return f"{self.us_per_run:6.2f} us/run"


def alternating(records: int) -> SharePartition:
    """Even records leased to A; odd ones available, delivered once."""
    limits = Limits(delivery_count_limit=25, lock_duration_ms=LOCK_MS, max_record_locks=2 * records)
    partition = SharePartition(0, limits)
    log = (Span(0, records),)
    partition.handle(Acquire(A, 0, log, records), 0)
    for start in range(0, records, 10_000):
        end = min(records, start + 10_000)
        types = [2 if offset % 2 else 4 for offset in range(start, end)]
        answer = partition.handle(Acknowledge(A, (AcknowledgementBatch(start, end, types),)), 0).answer
        assert isinstance(answer, Acknowledged)
        assert answer.token is not None
        partition.handle(Persisted(answer.token, ok=True), 0)
    assert partition.run_count == records
    return partition


def acquire(partition: SharePartition, timing: Timing, requests: int, now_ms: int) -> list[int]:
    """B takes what waits, 500 single records a request, all over the front of the window."""
    taken: list[int] = []
    for _ in range(requests):
        offset = partition.next_fetch_offset
        command = Acquire(B, offset, (Span(offset, partition.end),), REQUEST, mode=AcquireMode.RECORD_LIMIT)
        began = process_time()
        answer = partition.handle(command, now_ms).answer
        seconds = process_time() - began
        assert isinstance(answer, Acquired)
        got = [offset for one in answer.ranges for offset in range(one.span.start, one.span.end)]
        timing.add(seconds, len(got))
        taken += got
    return taken


def accept(partition: SharePartition, timing: Timing, offsets: list[int], now_ms: int) -> None:
    """Each record in a batch of its own, and the write's outcome: a run is touched twice."""
    for at in range(0, len(offsets), REQUEST):
        some = offsets[at : at + REQUEST]
        command = Acknowledge(B, tuple(AcknowledgementBatch(o, o + 1, (1,)) for o in some))
        began = process_time()
        answer = partition.handle(command, now_ms).answer
        assert isinstance(answer, Acknowledged)
        assert answer.token is not None
        partition.handle(Persisted(answer.token, ok=True), now_ms)
        timing.add(process_time() - began, len(some))


def measure(records: int) -> dict[str, Timing | float]:
    tracemalloc.start()
    partition = alternating(records)
    held_bytes = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    acquired, accepted, expired = Timing(), Timing(), Timing()
    requests = max(1, min(records // 4 // REQUEST, 400))
    taken = acquire(partition, acquired, requests, 1)
    accept(partition, accepted, taken[: len(taken) // 2], 2)
    began = process_time()
    outcome = partition.handle(Expire(), LOCK_MS + 1)
    seconds = process_time() - began
    write = next(effect for effect in outcome.effects if isinstance(effect, Persist))
    expired.add(seconds, sum(batch.end - batch.start for batch in write.batches))
    partition.verify()
    return {"acquire": acquired, "accept": accepted, "expire": expired, "bytes": held_bytes / records}


def main() -> None:
    sizes = [int(text) for text in sys.argv[1:]] or [100_000, 1_000_000]
    results = []
    for records in sizes:
        result = measure(records)
        results.append(result)
        print(
            f"{records:>9} runs: acquire {result['acquire']}, accept {result['accept']}, expire {result['expire']},"
            f" {result['bytes']:.0f} bytes/run"
        )
    if len(results) > 1:
        growth = ", ".join(
            f"{name} x{last.us_per_run / first.us_per_run:.2f}"
            for name in ("acquire", "accept", "expire")
            if isinstance(first := results[0][name], Timing) and isinstance(last := results[-1][name], Timing)
        )
        print(f"per run, {sizes[-1]} against {sizes[0]}: {growth}")


if __name__ == "__main__":
    main()
