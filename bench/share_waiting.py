"""The share machine with a million records that wait for different times.

    python -m bench.share_waiting [--rounds N] [--request N] [records ...]    # default: 3 rounds of 100000 and 1000000

Records are released in requests of so many within half a second, with pauses from a second to ten minutes by chance,
drawn once a request. Then others are acquired and accepted behind them, as if nobody waited, and at last everything
comes due. The numbers are microseconds of processor time, medians over the rounds, for each record released, for each
record acquired and accepted meanwhile (500 a request), and for each run that comes due; and bytes of the whole
machine for each waiting record.
Python's collector is set as `leaselog serve` sets it.
"""

from __future__ import annotations

import random
import tracemalloc
from argparse import ArgumentParser
from collections import defaultdict
from statistics import median
from time import process_time

from bench.share_machine import A, B, settle
from leaselog.cli.serve import quiet_collector
from leaselog.model import Span
from leaselog.share import (
    Acknowledge,
    AcknowledgementBatch,
    Acquire,
    Acquired,
    Expire,
    Limits,
    RetryBackoff,
    SharePartition,
)

REQUEST = 500
LONGEST_MS = 600_000
#: shorter than the shortest pause
RELEASING_MS = 500
#: half of the ten minutes either way: from 1 s to 10 min
BACKOFF = RetryBackoff(300_500, 1.0, LONGEST_MS, 0.997)
BEHIND = 20_000
#: leases that do not end while records are released
LOCK_MS = 100 * LONGEST_MS


def waiting(records: int, request: int) -> tuple[SharePartition, int, float]:
    """So many records that wait, what time it is, and what releasing them took."""
    limits = Limits(25, LOCK_MS, 2 * records + BEHIND, backoff=BACKOFF)
    partition, chance = SharePartition(0, limits), random.Random(records)
    partition.handle(Acquire(A, 0, (Span(0, records),), records), 0)
    began, now_ms = process_time(), 0
    for start in range(0, records, request):
        now_ms = RELEASING_MS * start // records
        end = min(records, start + request)
        release = Acknowledge(A, (AcknowledgementBatch(start, end, (2,)),))
        settle(partition, release, now_ms, chance.random())
    return partition, now_ms, process_time() - began


def measure(records: int, request: int, seen: dict[str, list[float]]) -> None:
    partition, now_ms, released_s = waiting(records, request)
    seen["release"].append(1e6 * released_s / records)
    seen["waiting"].append(partition.waiting_count)
    seen["runs"].append(partition.run_count)
    acquired_s = accepted_s = 0.0
    for _ in range(0, BEHIND, REQUEST):
        offset = partition.next_fetch_offset
        took = Acquire(B, offset, (Span(offset, offset + REQUEST),), REQUEST)
        began = process_time()
        answer = partition.handle(took, now_ms).answer
        acquired_s += process_time() - began
        assert isinstance(answer, Acquired)
        assert answer.record_count == REQUEST
        got = [AcknowledgementBatch(one.span.start, one.span.end, (1,)) for one in answer.ranges]
        began = process_time()
        settle(partition, Acknowledge(B, tuple(got)), now_ms)
        accepted_s += process_time() - began
    seen["acquire"].append(1e6 * acquired_s / BEHIND)
    seen["accept"].append(1e6 * accepted_s / BEHIND)
    runs, began = partition.run_count, process_time()
    while partition.waiting_count:  # as the timer does
        due_ms = partition.next_deadline_ms
        assert due_ms is not None
        partition.handle(Expire(), due_ms)
    seen["come due"].append(1e6 * (process_time() - began) / runs)
    partition.verify()


def bytes_per_record(records: int, request: int) -> float:
    tracemalloc.start()
    partition, _, _ = waiting(records, request)
    held_bytes = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held_bytes / partition.waiting_count


def main() -> None:
    parser = ArgumentParser()
    parser.add_argument("records", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--request", type=int, default=1)
    options = parser.parse_args()
    quiet_collector()
    for records in options.records:
        seen = defaultdict[str, list[float]](list)
        for _ in range(options.rounds):
            measure(records, options.request, seen)
        said = ", ".join(f"{what} {median(values):.2f}" for what, values in seen.items())
        print(
            f"{records:>9} records: {said}, {bytes_per_record(records, options.request):.0f} bytes",
            flush=True,
        )


if __name__ == "__main__":
    main()
