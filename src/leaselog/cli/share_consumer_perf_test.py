"""`leaselog share-consumer-perf-test`: how fast share consumers get records, in the lines of Apache's tool.

The clock runs from the start, so joining the group is part of it, as with Apache's tool. All consumers share one
process and one loop; several processes on one group measure more than one of them can.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from leaselog.cli.arguments import CommandFailed, UsageError, key_values, positive, properties_file
from leaselog.cli.console_share_consumer import share_consumer
from leaselog.cli.refused import one_line
from leaselog.client import AsyncShareConsumer, ClientError, ShareRecord
from leaselog.client.cluster import Cluster
from leaselog.client.share.metrics import MetricName

__all__ = ["Span", "add_arguments", "line", "run", "shown_time", "strftime_of"]

Consumer = AsyncShareConsumer[bytes, bytes]

HEADER = "start.time, end.time, data.consumed.in.MB, MB.sec, nMsg.sec, data.consumed.in.nMsg, fetch.time.ms"
DEFAULT_GROUP = "perf-share-consumer"
_CLIENT_ID = "perf-share-consumer-client"
_MIB = 1024 * 1024
_POLL_S = 0.1
#: letters of Java's SimpleDateFormat; milliseconds have no letter in Python
_DATE_LETTERS = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "SSS": "{ms:03}"}

#: a letter as often as it is repeated, what is quoted, anything else
_DATE_PIECES = re.compile(r"(([A-Za-z])\2*)|'([^']*)'|([^A-Za-z']+)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bootstrap-server", metavar="HOST:PORT", required=True, help="the broker, or several with commas"
    )
    parser.add_argument(
        "--command-config", "--consumer.config", dest="command_config", metavar="FILE", help="properties from a file"
    )  # fmt: skip
    parser.add_argument(
        "--command-property", action="append", default=[], metavar="KEY=VALUE", help="one property, over the file's;"
        " with share.acknowledgement.mode=explicit each record is acknowledged by itself",
    )  # fmt: skip
    parser.add_argument("--topic", required=True, help="the topic to read")
    parser.add_argument(
        "--num-records", "--messages", dest="num_records", type=positive, required=True, metavar="N", help="how many"
    )  # fmt: skip
    parser.add_argument(
        "--group", default=DEFAULT_GROUP, metavar="ID", help=f"the share group ({DEFAULT_GROUP})"
    )
    parser.add_argument(
        "--threads", type=positive, default=1, metavar="N", help="consumers, in one process (1)"
    )
    parser.add_argument(
        "--timeout", type=positive, default=10_000, metavar="MS", help="stop when no record came for so long (10000)"
    )  # fmt: skip
    parser.add_argument("--reporting-interval", type=positive, default=5_000, metavar="MS", help="5000")
    parser.add_argument(
        "--show-detailed-stats", action="store_true", help="a line for each interval and consumer"
    )
    parser.add_argument(
        "--show-consumer-stats", action="store_true", help="a line for each consumer at the end"
    )
    parser.add_argument("--hide-header", action="store_true", help="no names above the numbers")
    parser.add_argument("--print-metrics", action="store_true", help="the consumers' metrics at the end")
    parser.add_argument("--date-format", default="yyyy-MM-dd HH:mm:ss:SSS", metavar="FORMAT", help="of Java")
    parser.add_argument(
        "--fetch-size", type=positive, metavar="BYTES", help="of one fetch (fetch.max.bytes: 52428800)"
    )
    parser.add_argument(
        "--socket-buffer-size", type=positive, metavar="BYTES", help="accepted, has no effect"
    )


def run(args: argparse.Namespace) -> int:
    args.strftime = strftime_of(args.date_format)
    values = consumer_values(args)
    mode = values.get("share.acknowledgement.mode", "implicit")
    consumers = [
        share_consumer(args.bootstrap_server, args.group, values, share_acknowledgement_mode=mode)
        for _ in range(args.threads)
    ]
    try:
        return asyncio.run(_main(consumers, args))
    except ClientError as failed:
        raise CommandFailed(one_line(failed, consumers[0].config.security)) from failed
    except ExceptionGroup as group:  # of the consumers, of which the others were ended then
        known, others = group.split(ClientError)
        if known is None or others is not None:
            raise
        raise CommandFailed(one_line(known.exceptions[0], consumers[0].config.security)) from group


def consumer_values(args: argparse.Namespace) -> dict[str, str]:
    """The consumers' configuration: a file's, over which the line's properties win, over which its options do."""
    values = properties_file(args.command_config) if args.command_config else {}
    values |= key_values("--command-property", args.command_property)
    values.setdefault("client.id", _CLIENT_ID)
    if args.fetch_size is not None:
        values["fetch.max.bytes"] = str(args.fetch_size)
    return values


def strftime_of(pattern: str) -> str:
    """Java's date format as `shown_time` wants it. Raises ``UsageError`` for letters that are not known here."""
    pieces = []
    for found in _DATE_PIECES.finditer(pattern):
        letters, _, quoted, rest = found.groups()
        if letters and letters not in _DATE_LETTERS:
            raise UsageError(f"--date-format {pattern}: {letters} is not one of {', '.join(_DATE_LETTERS)}")
        literal = (quoted or rest or "").replace("%", "%%").replace("{", "{{").replace("}", "}}")
        pieces.append(_DATE_LETTERS.get(letters, literal))
    return "".join(pieces)


def shown_time(seconds: float, pattern: str) -> str:
    moment = datetime.fromtimestamp(seconds)
    return moment.strftime(pattern).format(ms=moment.microsecond // 1000)


@dataclass(slots=True)
class Span:
    """What came between two moments."""

    began_s: float
    record_count: int = 0
    byte_count: int = 0

    def add(self, records: Iterable[ShareRecord[bytes, bytes]]) -> None:
        for record in records:
            self.record_count += 1
            self.byte_count += len(record.raw_key or b"") + len(record.raw_value or b"")


def line(span: Span, ended_s: float, pattern: str, consumer: int | None = None) -> str:
    seconds = max(ended_s - span.began_s, 1e-9)
    mib = span.byte_count / _MIB
    text = (
        f"{shown_time(span.began_s, pattern)}, {shown_time(ended_s, pattern)}, {mib:.4f}, {mib / seconds:.4f},"
        f" {span.record_count / seconds:.4f}, {span.record_count}, {round(seconds * 1000)}"
    )
    return text if consumer is None else f"{text} for share consumer {consumer}"


async def _main(consumers: Sequence[Consumer], args: argparse.Namespace) -> int:
    async with Cluster(args.bootstrap_server, security=consumers[0].config.security) as cluster:
        await cluster.any_connection()  # whoever types a wrong address hears of it now
    if not args.hide_header:
        print(HEADER, flush=True)
    test = _PerfTest(args)
    async with asyncio.TaskGroup() as tasks:
        for number, consumer in enumerate(consumers, 1):
            tasks.create_task(test.consume(number, consumer))
    test.print_totals()
    return 0 if test.is_enough else 1


class _PerfTest:
    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._wanted: int = args.num_records
        self._timeout_s: float = args.timeout / 1000
        self._all = Span(time.time())
        self._consumers = dict[int, Span]()
        self._metrics = dict[int, dict[MetricName, float]]()
        self._last_record_s = time.monotonic()
        self._ended_s = self._all.began_s

    @property
    def is_enough(self) -> bool:
        return self._all.record_count >= self._wanted

    @property
    def _is_over(self) -> bool:
        return self.is_enough or time.monotonic() - self._last_record_s > self._timeout_s

    async def consume(self, number: int, consumer: Consumer) -> None:
        mine = self._consumers[number] = Span(time.time())
        interval = Span(mine.began_s)
        consumer.subscribe([self._args.topic])
        async with consumer:
            while not self._is_over:
                records = await consumer.poll(_POLL_S)
                self._count(records, mine, interval)
                if consumer.config.is_explicit:
                    for record in records:
                        consumer.acknowledge(record)
                interval = self._report(number, interval)
            await consumer.commit_sync()
            self._metrics[number] = consumer.metrics()

    def _count(self, records: Sequence[ShareRecord[bytes, bytes]], *spans: Span) -> None:
        if not records:
            return
        for span in (self._all, *spans):
            span.add(records)
        self._last_record_s, self._ended_s = time.monotonic(), time.time()

    def _report(self, number: int, interval: Span) -> Span:
        """The interval that goes on, or the one that begins now."""
        now_s = time.time()
        if now_s - interval.began_s < self._args.reporting_interval / 1000:
            return interval
        if self._args.show_detailed_stats:
            print(line(interval, now_s, self._args.strftime, number), flush=True)
        return Span(now_s)

    def print_totals(self) -> None:
        args = self._args
        if args.show_consumer_stats:
            for number, span in self._consumers.items():
                print(line(span, self._ended_s, args.strftime, number))
        print(line(self._all, self._ended_s, args.strftime), flush=True)
        if not self.is_enough:
            print(
                f"{self._all.record_count} of {args.num_records} records came: nothing more in {args.timeout} ms"
                " (--timeout MS waits longer)",
                file=sys.stderr,
            )  # fmt: skip
        if args.print_metrics:
            self._print_metrics()

    def _print_metrics(self) -> None:
        for number, metrics in self._metrics.items():
            print(f"\n{f'Metric Name (share consumer {number})':60} Value")
            for (group, name), value in sorted(metrics.items()):
                print(f"{f'{group}:{name}':60}: {value:.3f}")
