"""`leaselog console-consumer`: prints the records of topics, as kafka-console-consumer.sh does.

It reads partitions by itself: without a group there is nothing to commit and nobody to share with.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable

from leaselog.cli.arguments import (
    CommandFailed,
    UsageError,
    add_connection,
    add_properties,
    key_values,
    positive,
    properties_file,
)
from leaselog.cli.client_properties import ClientProperties, run_with_cluster
from leaselog.cli.output import Progress
from leaselog.cli.record_format import RecordFormat, as_json, as_line
from leaselog.client import EARLIEST, LATEST, Cluster, Fetched, Fetcher, FetchLimits, list_offsets
from leaselog.model import TopicPartition
from leaselog.wire.record_batch import BatchHeader
from leaselog.wire.records import Record

__all__ = ["add_arguments", "run"]

Printer = Callable[[TopicPartition, BatchHeader, Record], bytes]

#: how often partitions and topics that are new are looked for
_REFRESH_S = 5.0
_POLL_MS = 500


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection(parser, short_file="--consumer.config")
    add_properties(parser, "--consumer-property")
    topics = parser.add_mutually_exclusive_group(required=True)
    topics.add_argument("--topic", help="the topic to read")
    topics.add_argument("--include", metavar="REGEX", help="the topics to read")
    parser.add_argument("--partition", type=int, metavar="N", help="only this partition")
    parser.add_argument("--offset", metavar="OFFSET", help="with --partition: a number, earliest or latest")
    parser.add_argument("--from-beginning", action="store_true", help="from the earliest record on")
    parser.add_argument("--max-messages", type=positive, metavar="N", help="stop after so many")
    parser.add_argument(
        "--timeout-ms", type=positive, metavar="MS", help="stop when nothing came for so long"
    )
    parser.add_argument("--isolation-level", choices=["read_uncommitted", "read_committed"])
    parser.add_argument("--group", metavar="ID", help="not supported yet: there are no consumer groups here")
    parser.add_argument(
        "--formatter-property", "--property", dest="formatter_property", action="append", default=[],
        metavar="KEY=VALUE", help="print.key, print.value, print.timestamp, print.offset, print.partition,"
        " print.epoch, print.headers, key.separator, line.separator, headers.separator, null.literal",
    )  # fmt: skip
    parser.add_argument("--formatter-config", metavar="FILE", help="formatter properties from a file")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")


def run(args: argparse.Namespace) -> int:
    _check(args)
    values = properties_file(args.command_config) if args.command_config else {}
    if args.isolation_level:
        values["isolation.level"] = args.isolation_level
    properties = ClientProperties({**values, **key_values("--command-property", args.command_property)})
    limits = properties.fetch_limits()
    reset = properties.text("auto.offset.reset", "latest")
    start = EARLIEST if args.from_beginning or reset == "earliest" else LATEST
    printer = _printer(args)

    async def body(cluster: Cluster) -> int:
        consumer = _Consumer(cluster, limits, args, start, printer)
        try:
            await consumer.run()
        finally:
            await consumer.close()
        return 0

    return run_with_cluster(args, properties, body)


def _check(args: argparse.Namespace) -> None:
    if args.group:
        raise UsageError(
            "--group is not supported: this command reads every partition itself and commits nothing; leave it out"
        )
    if args.offset is not None and args.partition is None:
        raise UsageError("--offset needs --partition N")
    if args.partition is not None and not args.topic:
        raise UsageError("--partition needs --topic NAME")
    if args.offset is not None and args.from_beginning:
        raise UsageError("--from-beginning and --offset exclude each other")
    if args.offset not in (None, "earliest", "latest") and not args.offset.isdecimal():
        raise UsageError(f"--offset {args.offset}: expected a number, earliest or latest")
    if args.include:
        try:
            re.compile(args.include)
        except re.error as bad:
            raise UsageError(f"--include {args.include}: not a regular expression: {bad}") from None


def _printer(args: argparse.Namespace) -> Printer:
    if args.json:
        return as_json
    properties = properties_file(args.formatter_config) if args.formatter_config else {}
    properties |= key_values("--formatter-property", args.formatter_property)
    form = RecordFormat.from_properties(properties)
    return lambda where, header, record: as_line(where, header, record, form)


class _Consumer:
    def __init__(
        self, cluster: Cluster, limits: FetchLimits, args: argparse.Namespace, start: int, printer: Printer
    ) -> None:
        self._cluster = cluster
        self._fetcher = Fetcher(cluster, limits, reset=start)
        self._args = args
        self._start = start
        self._printer = printer
        self._count = 0
        self._refresh_at = 0.0

    async def run(self) -> None:
        """Until enough is printed, or nothing comes any more, or somebody interrupts."""
        timeout_s = self._args.timeout_ms / 1000 if self._args.timeout_ms else None
        idle_since = time.monotonic()
        # Records on a terminal are their own progress.
        progress = None if sys.stdout.isatty() else Progress("read", self._args.max_messages)
        try:
            while not self._is_enough():
                await self._refresh()
                fetched = await self._fetcher.poll(self._wait_ms(idle_since, timeout_s))
                for part in fetched:
                    self._print(part)
                now = time.monotonic()
                if fetched:
                    idle_since = now
                    sys.stdout.buffer.flush()
                    if progress is not None:
                        progress.at(self._count)
                elif timeout_s is not None and now - idle_since >= timeout_s:
                    break
        finally:
            print(f"Processed a total of {self._count} messages", file=sys.stderr)

    async def close(self) -> None:
        await self._fetcher.close()

    def _is_enough(self) -> bool:
        return self._args.max_messages is not None and self._count >= self._args.max_messages

    def _wait_ms(self, idle_since: float, timeout_s: float | None) -> int:
        if timeout_s is None:
            return _POLL_MS
        left_ms = int((idle_since + timeout_s - time.monotonic()) * 1000)
        return max(1, min(_POLL_MS, left_ms + 1))

    def _print(self, part: Fetched) -> None:
        write = sys.stdout.buffer.write
        for header, record in part.entries():
            if self._is_enough():
                return
            write(self._printer(part.where, header, record))
            self._count += 1

    async def _refresh(self) -> None:
        """Assign partitions not assigned yet. Those that appear later are read from their beginning."""
        now = time.monotonic()
        if now < self._refresh_at:
            return
        is_first = self._refresh_at == 0.0
        self._refresh_at = now + _REFRESH_S
        new = [where for where in await self._partitions() if where not in self._fetcher.positions]
        if not new:
            return
        offset = self._args.offset
        if offset is not None and offset.isdecimal():
            self._fetcher.assign(new[0], int(offset))
            return
        timestamp = self._start if is_first and offset is None else EARLIEST
        if offset is not None:
            timestamp = EARLIEST if offset == "earliest" else LATEST
        for where, found in (await list_offsets(self._cluster, dict.fromkeys(new, timestamp))).items():
            self._fetcher.assign(where, found)

    async def _partitions(self) -> list[TopicPartition]:
        args = self._args
        if args.topic:
            infos = [(await self._cluster.topology([args.topic], auto_create=True)).topic(args.topic)]
        else:
            pattern = re.compile(args.include)
            found = await self._cluster.fetch_topology()
            infos = [t for name, t in found.topics.items() if pattern.fullmatch(name) and not t.is_internal]
        everything = [TopicPartition(info.name, p.partition) for info in infos for p in info.partitions]
        if args.partition is None:
            return everything
        chosen = TopicPartition(args.topic, args.partition)
        if chosen not in everything:
            raise CommandFailed(f"topic {args.topic} has no partition {args.partition}")
        return [chosen]
