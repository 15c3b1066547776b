"""`leaselog console-consumer`: prints the records of topics, as kafka-console-consumer.sh does.

With a group it is one of its members and commits what it has printed. Without one it reads the partitions by
itself, where Apache's makes up a group that never commits: there is nobody to share with.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import signal
import sys
from collections.abc import Callable
from typing import Protocol

from leaselog.cli.arguments import (
    CommandFailed,
    UsageError,
    add_connection,
    given_properties,
    key_values,
    positive,
    properties_file,
)
from leaselog.cli.client_properties import ClientProperties, run_with_cluster
from leaselog.cli.partition_reader import PartitionReader
from leaselog.cli.print_loop import PrintLoop
from leaselog.cli.record_format import RecordFormat, as_json, as_line, shown
from leaselog.cli.stop_signals import on_signals
from leaselog.client.cluster import Cluster
from leaselog.client.fetcher import Fetched
from leaselog.client.group_consumer import GroupConsumer
from leaselog.model import TopicPartition
from leaselog.wire.record_batch import BatchHeader
from leaselog.wire.records import Record

__all__ = ["add_arguments", "run"]

Printer = Callable[[TopicPartition, BatchHeader, Record], bytes]

#: what a shell reports for a program that SIGTERM ended
_TERMINATED = 143


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection(parser, old_file="--consumer.config", old_property="--consumer-property")
    topics = parser.add_mutually_exclusive_group(required=True)
    topics.add_argument("--topic", help="the topic to read")
    topics.add_argument("--include", metavar="REGEX", help="the topics to read")
    parser.add_argument("--partition", type=int, metavar="N", help="only this partition")
    parser.add_argument("--offset", metavar="OFFSET", help="with --partition: a number, earliest or latest")
    parser.add_argument("--from-beginning", action="store_true", help="from the earliest record on")
    parser.add_argument("--max-messages", type=positive, metavar="N", help="stop after so many")
    parser.add_argument(
        "--timeout-ms", type=positive, metavar="MS", help="stop when no record came for so long"
    )
    parser.add_argument("--isolation-level", choices=["read_uncommitted", "read_committed"])
    parser.add_argument("--group", metavar="ID", help="read as a member of this consumer group")
    parser.add_argument(
        "--formatter-property", "--property", dest="formatter_property", action="append", default=[],
        metavar="KEY=VALUE", help="print.key, print.value, print.timestamp, print.offset, print.partition,"
        " print.epoch, print.headers, key.separator, line.separator, headers.separator, null.literal",
    )  # fmt: skip
    parser.add_argument("--formatter-config", metavar="FILE", help="formatter properties from a file")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")


class Source(Protocol):
    """Where records come from: a group's share of them, or every partition."""

    async def poll(self, timeout_ms: int) -> list[Fetched]: ...

    def done(self, where: TopicPartition, end: int) -> None: ...

    async def close(self) -> None: ...


def run(args: argparse.Namespace) -> int:
    _check(args)
    options = {"isolation.level": args.isolation_level} if args.isolation_level else {}
    properties = ClientProperties(given_properties(args, options))
    open_source = _source(args, properties)
    printer = _printer(args)

    async def body(cluster: Cluster) -> int:
        consumer = _Consumer(open_source(cluster), args, printer)
        terminated = asyncio.Event()
        running = asyncio.current_task()
        assert running is not None

        def terminate() -> None:
            terminated.set()
            running.cancel()

        # Whoever ends it with SIGTERM expects what was printed to be committed, as with SIGINT.
        on_signals(terminate, signal.SIGTERM)
        try:
            await consumer.run()
        except asyncio.CancelledError:
            if not terminated.is_set():
                raise
            running.uncancel()
            return _TERMINATED
        return 0

    return run_with_cluster(args, properties, body)


def _source(args: argparse.Namespace, properties: ClientProperties) -> Callable[[Cluster], Source]:
    reset = properties.reset("earliest" if args.from_beginning else "latest")
    configured = properties.text("auto.offset.reset", "")
    if args.from_beginning and configured not in ("", "earliest"):
        raise UsageError(f"--from-beginning and auto.offset.reset={configured} exclude each other")
    group_id = _group_id(args, properties)
    if group_id:
        reading = properties.group_reading(group_id, reset)
        topics = [args.topic] if args.topic else re.compile(args.include)
        return lambda cluster: GroupConsumer(cluster, topics, reading)
    if reset is None:
        raise UsageError("auto.offset.reset=none needs --group: without one there is no place to go on from")
    limits = properties.fetch_limits()
    return lambda cluster: PartitionReader(cluster, limits, args, reset)


def _group_id(args: argparse.Namespace, properties: ClientProperties) -> str:
    configured = properties.text("group.id", "")
    if args.group and configured and args.group != configured:
        raise UsageError(f"--group {args.group} and group.id={configured} do not match")
    group_id: str = args.group or configured
    if group_id and args.partition is not None:
        raise UsageError("--group and --partition exclude each other")
    return group_id


def _check(args: argparse.Namespace) -> None:
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
        return lambda where, header, record: as_json(shown(where, header, record))
    properties = properties_file(args.formatter_config) if args.formatter_config else {}
    properties |= key_values("--formatter-property", args.formatter_property)
    form = RecordFormat.from_properties(properties)
    return lambda where, header, record: as_line(shown(where, header, record), form)


class _Consumer:
    def __init__(self, source: Source, args: argparse.Namespace, printer: Printer) -> None:
        self._source = source
        self._loop = PrintLoop(args.max_messages, args.timeout_ms)
        self._printer = printer

    async def run(self) -> None:
        """Until enough is printed, or nothing comes any more, or somebody interrupts."""
        try:
            await self._loop.run(self._print_next)
        except CommandFailed:  # what was asked for is not there: there is nothing to count
            await self._source.close()
            raise
        except BaseException:
            await self._end()
            raise
        await self._end()

    async def _end(self) -> None:
        try:
            await self._source.close()
        finally:
            print(f"Processed a total of {self._loop.count} messages", file=sys.stderr)

    async def _print_next(self, wait_s: float) -> bool:
        fetched = await self._source.poll(max(1, int(wait_s * 1000) + 1))
        self._print(fetched)
        return bool(fetched)

    def _print(self, fetched: list[Fetched]) -> None:
        """Only what has left this process counts as done."""
        ends = {part.where: self._print_part(part) for part in fetched if not self._loop.is_enough}
        if ends:
            sys.stdout.buffer.flush()
        for where, end in ends.items():
            self._source.done(where, end)

    def _print_part(self, part: Fetched) -> int:
        """The end of what was printed of it."""
        write, end = sys.stdout.buffer.write, part.start
        for header, record in part.entries():
            if self._loop.is_enough:
                return end
            write(self._printer(part.where, header, record))
            self._loop.count += 1
            end = record.offset + 1
        return part.end
