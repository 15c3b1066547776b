"""The share machine alone, at its worst: a window in which no two neighbours are alike.

    python -m bench.share_machine [--rounds N] [records ...]          # default: 3 rounds of 100000 and 1000000

For each size: the window is filled and every second record handed to another member, so every record is a run of its
own. Then records are acquired and accepted in requests of 500, and all that is left expires at once. The numbers are
microseconds of processor time per touched run, medians of the rounds (which take turns, so that a slow minute of the
machine hits all sizes), and bytes per run of the whole machine. Python's collector is set as `leaselog serve` sets it.
The last line says what ten times the records cost.
"""

from __future__ import annotations

import tracemalloc
from argparse import ArgumentParser
from statistics import median
from time import process_time

from leaselog.cli.serve import quiet_collector
from leaselog.model import MemberId, Span
from leaselog.share import (
    EVEN_CHANCE,
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
    """Requests of one kind over all rounds; their median, because a shared machine has slow moments."""

    def __init__(self) -> None:
        self._us_per_run: list[float] = []

    def add(self, seconds: float, runs: int) -> None:
        self._us_per_run.append(1e6 * seconds / runs)

    @property
    def us_per_run(self) -> float:
        return median(self._us_per_run)


class Size:
    """What was measured in windows of so many records."""

    def __init__(self, records: int) -> None:
        self.records = records
        self.timings = {"acquire": Timing(), "accept": Timing(), "expire": Timing()}

    def __str__(self) -> str:
        said = ", ".join(f"{name} {timing.us_per_run:6.2f} us/run" for name, timing in self.timings.items())
        return f"{self.records:>9} runs: {said}, {bytes_per_run(self.records):.0f} bytes/run"


def alternating(records: int) -> SharePartition:
    """Even records leased to A; odd ones available, delivered once."""
    limits = Limits(delivery_count_limit=25, lock_duration_ms=LOCK_MS, max_record_locks=2 * records)
    partition = SharePartition(0, limits)
    log = (Span(0, records),)
    partition.handle(Acquire(A, 0, log, records), 0)
    for start in range(0, records, 10_000):
        end = min(records, start + 10_000)
        types = [2 if offset % 2 else 4 for offset in range(start, end)]
        settle(partition, Acknowledge(A, (AcknowledgementBatch(start, end, types),)), 0)
    assert partition.run_count == records
    return partition


def settle(partition: SharePartition, command: Acknowledge, now_ms: int, chance: float = EVEN_CHANCE) -> None:
    """Acknowledge, and have it written."""
    answer = partition.handle(command, now_ms, chance).answer
    assert isinstance(answer, Acknowledged)
    assert answer.token is not None
    partition.handle(Persisted(answer.token, ok=True), now_ms)


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
        settle(partition, command, now_ms)
        timing.add(process_time() - began, len(some))


def measure(size: Size) -> None:
    partition = alternating(size.records)
    timings = size.timings
    requests = max(1, min(size.records // 4 // REQUEST, 400))
    taken = acquire(partition, timings["acquire"], requests, 1)
    accept(partition, timings["accept"], taken[: len(taken) // 2], 2)
    began = process_time()
    outcome = partition.handle(Expire(), LOCK_MS + 1)
    seconds = process_time() - began
    write = next(effect for effect in outcome.effects if isinstance(effect, Persist))
    timings["expire"].add(seconds, sum(batch.end - batch.start for batch in write.spans))
    partition.verify()


def bytes_per_run(records: int) -> float:
    tracemalloc.start()
    partition = alternating(records)
    held_bytes = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held_bytes / partition.run_count


def main() -> None:
    parser = ArgumentParser()
    parser.add_argument("records", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    quiet_collector()
    sizes = [Size(records) for records in options.records]
    for _ in range(options.rounds):
        for size in sizes:
            measure(size)
    for size in sizes:
        print(size)
    if len(sizes) > 1:
        few, many = sizes[0], sizes[-1]
        growth = ", ".join(
            f"{name} x{many.timings[name].us_per_run / few.timings[name].us_per_run:.2f}"
            for name in few.timings
        )
        print(f"per run, {many.records} against {few.records}: {growth}")


if __name__ == "__main__":
    main()
