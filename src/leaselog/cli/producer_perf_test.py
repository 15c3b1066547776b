"""`leaselog producer-perf-test`: sends records at a rate and reports throughput and latency, in Apache's words."""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from leaselog.cli.arguments import (
    CommandFailed,
    UsageError,
    key_values,
    positive,
    properties_file,
)
from leaselog.cli.client_properties import ClientProperties, run_with_cluster
from leaselog.cli.refused import one_line
from leaselog.client import ClientError
from leaselog.client.cluster import Cluster
from leaselog.client.producer import BatchProducer, Delivered

__all__ = ["Latencies", "Throttle", "add_arguments", "run"]

Payload = Callable[[int], bytes]

_MIB = 1024 * 1024
_PERCENTILES = (0.5, 0.95, 0.99, 0.999)
#: bounds of the latency histogram in ms: each to the millisecond up to 1 s, then 2 % apart up to an hour
_FINE_MS = 1_000
_COARSE_STEPS = 420
#: Apache's batch.size of 16 KiB costs a sync of the broker's disk for every few records; a property given wins
_DEFAULTS = {"batch.size": "262144"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bootstrap-server", metavar="HOST:PORT", help="or bootstrap.servers among the properties"
    )
    parser.add_argument(
        "--command-config", "--producer.config", dest="command_config", metavar="FILE",
        help="producer properties from a file",
    )  # fmt: skip
    parser.add_argument(
        "--command-property", "--producer-props", dest="producer_props", nargs="+", default=[],
        metavar="KEY=VALUE", help="producer properties, over the file's; batch.size is 262144 if nothing is said",
    )  # fmt: skip
    parser.add_argument("--topic", required=True, help="where to send")
    parser.add_argument("--num-records", type=positive, required=True, metavar="N", help="how many")
    parser.add_argument(
        "--throughput", type=float, required=True, metavar="N", help="records/s, may be 0.5; -1: no limit"
    )
    payload = parser.add_mutually_exclusive_group(required=True)
    payload.add_argument("--record-size", type=positive, metavar="BYTES", help="random capital letters")
    payload.add_argument("--payload-file", metavar="FILE", help="records drawn from this file's")
    payload.add_argument("--payload-monotonic", action="store_true", help="0, 1, 2, …")
    parser.add_argument(
        "--payload-delimiter", default="\\n", metavar="TEXT", help="between the records of that file"
    )
    parser.add_argument(
        "--warmup-records", type=int, default=0, metavar="N", help="left out of the final numbers"
    )
    parser.add_argument("--reporting-interval", type=positive, default=5_000, metavar="MS")
    parser.add_argument("--print-metrics", action="store_true", help="print the producer's counts at the end")
    parser.add_argument("--transactional-id", help="not supported: it sends without transactions")
    parser.add_argument("--transaction-duration-ms", help="not supported either")


def run(args: argparse.Namespace) -> int:
    if args.transactional_id or args.transaction_duration_ms:
        raise UsageError("--transactional-id is not supported: there are no transactions yet")
    if not 0 <= args.warmup_records < args.num_records:
        raise UsageError(f"--warmup-records {args.warmup_records}: expected 0 to less than --num-records")
    if args.throughput == 0:
        raise UsageError("--throughput 0 would never send; -1 is no limit")
    values = properties_file(args.command_config) if args.command_config else {}
    values |= key_values("--producer-props", args.producer_props)
    args.bootstrap_server = args.bootstrap_server or values.get("bootstrap.servers")
    if not args.bootstrap_server:
        raise UsageError("--bootstrap-server HOST:PORT is missing")
    properties = ClientProperties(_DEFAULTS | values)
    settings = properties.producer()
    payload = _payload(args)

    async def body(cluster: Cluster) -> int:
        test = _PerfTest(args)
        try:
            async with BatchProducer(cluster, settings, on_delivered=test.delivered) as producer:
                test.begin()
                await test.send(producer, payload)
        except ClientError as failed:
            raise CommandFailed(one_line(failed, properties.security)) from failed
        test.print_totals()
        return 1 if test.failed else 0

    return run_with_cluster(args, properties, body)


def _payload(args: argparse.Namespace) -> Payload:
    if args.payload_monotonic:
        return lambda i: b"%d" % i
    chance = random.Random(0)  # the same records every time, as Apache's tool sends
    if args.payload_file:
        delimiter = args.payload_delimiter.encode().decode("unicode_escape").encode()
        try:
            records = Path(args.payload_file).read_bytes().split(delimiter)
        except OSError as unreadable:
            raise UsageError(f"--payload-file {args.payload_file}: {unreadable.strerror}") from None
        records = records[:-1] if records[-1] == b"" else records
        if not records:
            raise UsageError(f"--payload-file {args.payload_file}: no records in it")
        return lambda _: chance.choice(records)
    letters = bytes(65 + byte % 26 for byte in range(256))
    return lambda _: chance.randbytes(args.record_size).translate(letters)


class Throttle:
    """Says how long to wait so that no more than ``rate`` a second are sent; a rate below zero is no limit."""

    def __init__(self, rate: float, began_s: float) -> None:
        self._rate, self._began_s = rate, began_s

    def wait_s(self, sent: int, now_s: float) -> float:
        if self._rate < 0:
            return 0.0
        return max(0.0, self._began_s + sent / self._rate - now_s)


class Latencies:
    """A histogram: exact to the millisecond up to a second, two percent above. Bounded, however many records."""

    _bounds_ms: ClassVar[tuple[int, ...]] = (
        *range(_FINE_MS),
        *(int(_FINE_MS * 1.02**step) for step in range(_COARSE_STEPS)),
    )

    def __init__(self) -> None:
        self._counts = [0] * (len(self._bounds_ms) + 1)
        self.count = 0
        self.total_ms = 0
        self.max_ms = 0

    def add(self, latency_ms: int) -> None:
        at = latency_ms if 0 <= latency_ms < _FINE_MS else bisect_left(self._bounds_ms, latency_ms)
        self._counts[at] += 1
        self.count += 1
        self.total_ms += latency_ms
        self.max_ms = max(self.max_ms, latency_ms)

    @property
    def average_ms(self) -> float:
        return self.total_ms / self.count if self.count else 0.0

    def percentile(self, share: float) -> int:
        """No more than this share of the records took longer."""
        seen, wanted = 0, share * self.count
        for at, count in enumerate(self._counts):
            seen += count
            if count and seen >= wanted:
                return min(self._bounds_ms[min(at, len(self._bounds_ms) - 1)], self.max_ms)
        return 0


class _Window:
    """What was delivered since some moment."""

    def __init__(self) -> None:
        self.began_s = time.monotonic()
        self.latencies = Latencies()
        self.bytes = 0

    def line(self) -> str:
        seconds = max(time.monotonic() - self.began_s, 1e-9)
        seen = self.latencies
        return (
            f"{seen.count} records sent, {seen.count / seconds:.1f} records/sec"
            f" ({self.bytes / seconds / _MIB:.2f} MB/sec), {seen.average_ms:.1f} ms avg latency,"
            f" {seen.max_ms:.1f} ms max latency"
        )


class _PerfTest:
    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._interval_s = args.reporting_interval / 1000
        self._seen = 0
        self._batches = 0
        self.failed = 0
        self.begin()

    def begin(self) -> None:
        self._all, self._now, self._steady = _Window(), _Window(), _Window()

    async def send(self, producer: BatchProducer, payload: Payload) -> None:
        throttle = Throttle(self._args.throughput, time.monotonic())
        for i in range(self._args.num_records):
            await producer.send(self._args.topic, payload(i))
            now_s = time.monotonic()
            if wait_s := throttle.wait_s(i + 1, now_s):
                await asyncio.sleep(wait_s)
            elif i % 100 == 99:
                await asyncio.sleep(0)  # the sender and the answers need their turn

    def delivered(self, batch: Delivered) -> None:
        """Latency runs from the record's timestamp, taken when it was handed to the producer."""
        self._batches += 1
        if batch.error is not None:
            self.failed += len(batch.records)
            print(f"{len(batch.records)} records to {batch.where} failed: {batch.error}")
            return
        now_ms = time.time_ns() // 1_000_000
        for record in batch.records:
            latency_ms, size = max(0, now_ms - record.timestamp_ms), len(record.value or b"")
            self._seen += 1
            windows = [self._all, self._now]
            if self._seen == self._args.warmup_records:
                self._steady = _Window()
            elif self._seen > self._args.warmup_records > 0:
                windows.append(self._steady)
            for window in windows:
                window.latencies.add(latency_ms)
                window.bytes += size
        if time.monotonic() - self._now.began_s >= self._interval_s:
            print(self._now.line() + ".", flush=True)
            self._now = _Window()

    def print_totals(self) -> None:
        self._print_total(self._all, "")
        if self._args.warmup_records:
            self._print_total(self._steady, "steady state ")
        if self._args.print_metrics:
            self._print_metrics()

    def _print_total(self, window: _Window, what: str) -> None:
        names = ("50th", "95th", "99th", "99.9th")
        percentiles = ", ".join(
            f"{window.latencies.percentile(share)} ms {name}"
            for share, name in zip(_PERCENTILES, names, strict=True)
        )
        line = window.line()
        print(f"{line.replace(' records sent', f' {what}records sent', 1)}, {percentiles}.")

    def _print_metrics(self) -> None:
        seen = self._all.latencies
        seconds = max(time.monotonic() - self._all.began_s, 1e-9)
        metrics = {
            "batch-size-avg": self._all.bytes / max(self._batches, 1),
            "batch-total": self._batches,
            "byte-total": self._all.bytes,
            "record-error-total": self.failed,
            "record-send-rate": seen.count / seconds,
            "record-send-total": seen.count,
            "records-per-batch-avg": seen.count / max(self._batches, 1),
        }
        print("\nMetric Name" + " " * 40 + "Value")
        for name, value in metrics.items():
            print(f"producer-metrics:{name:35}: {value:.3f}")
