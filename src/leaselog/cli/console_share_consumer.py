"""`leaselog console-share-consumer`: prints records as a member of a share group.

As kafka-console-share-consumer.sh does, with its options and its lines.

A record is acknowledged once it has left this process: accepted, or released or rejected where that was asked for.
What was fetched and not printed is given back at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
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
from leaselog.cli.print_loop import PrintLoop
from leaselog.cli.record_format import RecordFormat, Shown, as_json, as_line
from leaselog.cli.refused import one_line
from leaselog.cli.stop_signals import on_signals
from leaselog.cli.text_deserializers import ToText, as_it_is, to_text
from leaselog.client import AcknowledgeType, AsyncShareConsumer, ClientError, ConfigError, ShareRecord
from leaselog.client.cluster import Cluster

__all__ = ["Printer", "Printing", "ShareReading", "add_arguments", "printer", "run", "share_consumer"]

DEFAULT_GROUP = "console-share-consumer"
#: what a shell reports for a program that SIGTERM ended
_TERMINATED = 143
#: what prints nothing, for whoever wants the side effects alone
_SILENT = "NoOpMessageFormatter"
_FORMATTERS = ("DefaultMessageFormatter", _SILENT)

#: raises ``ValueError`` for a record that cannot be shown
Printer = Callable[[ShareRecord[bytes, bytes]], bytes]


class ShareReading(Protocol):
    """What is needed of a share consumer here."""

    async def poll(self, timeout: float) -> list[ShareRecord[bytes, bytes]]: ...

    def acknowledge(self, record: ShareRecord[bytes, bytes], type: AcknowledgeType, /) -> None: ...


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection(parser, old_file="--consumer-config", old_property="--consumer-property")
    parser.add_argument("--topic", required=True, help="the topic to read")
    parser.add_argument("--group", metavar="ID", help=f"the share group ({DEFAULT_GROUP})")
    parser.add_argument("--max-messages", type=positive, metavar="N", help="stop after so many")
    parser.add_argument(
        "--timeout-ms", type=positive, metavar="MS", help="stop when no record came for so long"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--reject", action="store_true", help="reject the records: nobody gets them again")
    how.add_argument("--release", action="store_true", help="release the records: they are delivered again")
    parser.add_argument(
        "--reject-message-on-error",
        action="store_true",
        help="reject a record that cannot be shown, and go on",
    )
    parser.add_argument("--formatter", metavar="CLASS", default=_FORMATTERS[0], help=" or ".join(_FORMATTERS))
    parser.add_argument(
        "--formatter-property", "--property", dest="formatter_property", action="append", default=[],
        metavar="KEY=VALUE", help="print.key, print.value, print.timestamp, print.offset, print.partition,"
        " print.delivery, print.epoch, print.headers, key.separator, line.separator, headers.separator,"
        " null.literal, key.deserializer, value.deserializer, headers.deserializer",
    )  # fmt: skip
    parser.add_argument("--formatter-config", metavar="FILE", help="formatter properties from a file")
    parser.add_argument("--key-deserializer", metavar="CLASS", help="StringDeserializer, LongDeserializer, …")
    parser.add_argument(
        "--value-deserializer", metavar="CLASS", help="StringDeserializer, LongDeserializer, …"
    )
    parser.add_argument(
        "--enable-systest-events", action="store_true", help="print a line when the command has shut down"
    )
    parser.add_argument("--json", action="store_true", help="a JSON object a line for each record")


def run(args: argparse.Namespace) -> int:
    show = printer(args)
    values = given_properties(args)
    consumer = share_consumer(args.bootstrap_server, _group_id(args.group, values), values)
    try:
        return asyncio.run(_main(consumer, args, show))
    except ClientError as failed:
        raise CommandFailed(one_line(failed, consumer.config.security)) from failed
    finally:
        if args.enable_systest_events:
            print("shutdown_complete", flush=True)


def _group_id(given: str | None, values: Mapping[str, str]) -> str:
    configured = values.get("group.id", "").strip()
    if given and configured and given != configured:
        raise UsageError(f"--group {given} and group.id={configured} do not match")
    return given or configured or DEFAULT_GROUP


def share_consumer(
    bootstrap_server: str, group_id: str, values: Mapping[str, str], **ours: str
) -> AsyncShareConsumer[bytes, bytes]:
    """A consumer of plain bytes, with Kafka's properties; ``ours`` (dots are underscores) cannot be overridden."""
    fixed = {key.replace("_", "."): value for key, value in ours.items()}
    settings = {
        "client.id": group_id,
        **{k: v for k, v in values.items() if not k.endswith("deserializer")},
        "share.acknowledgement.mode": "explicit",
        **fixed,
        "bootstrap.servers": bootstrap_server,
        "group.id": group_id,
    }
    try:
        return AsyncShareConsumer(settings)
    except ConfigError as wrong:
        raise UsageError(str(wrong)) from None


def printer(args: argparse.Namespace) -> Printer:
    """How records are written. Raises ``UsageError``."""
    formatter = args.formatter.rpartition(".")[2]
    if formatter not in _FORMATTERS:
        raise UsageError(
            f"--formatter {args.formatter}: Java classes cannot be loaded, only {', '.join(_FORMATTERS)}"
        )
    properties = properties_file(args.formatter_config) if args.formatter_config else {}
    properties |= key_values("--formatter-property", args.formatter_property)
    key_text = _text_of("key.deserializer", args.key_deserializer, properties)
    value_text = _text_of("value.deserializer", args.value_deserializer, properties)
    headers_text = _text_of("headers.deserializer", None, properties)
    form = RecordFormat.from_properties(properties)

    def shown(record: ShareRecord[bytes, bytes]) -> Shown:
        return Shown(
            record.topic_partition,
            record.offset,
            record.timestamp_ms,
            record.timestamp_type,
            None if record.raw_key is None else key_text(record.raw_key),
            None if record.raw_value is None else value_text(record.raw_value),
            [(name, None if value is None else headers_text(value)) for name, value in record.headers],
            delivery_count=record.delivery_count,  # and no leader epoch: Java's share records do not have one
        )

    def nothing(record: ShareRecord[bytes, bytes]) -> bytes:
        shown(record)  # which may be an error all the same
        return b""

    if formatter == _SILENT:
        return nothing
    return (
        (lambda record: as_json(shown(record)))
        if args.json
        else (lambda record: as_line(shown(record), form))
    )


def _text_of(key: str, given: str | None, properties: dict[str, str]) -> ToText:
    """Taken out of the properties; what the formatter's say wins, as in Apache's tool."""
    name = properties.pop(key, given)
    return as_it_is if name is None else to_text(key, name)


async def _main(consumer: AsyncShareConsumer[bytes, bytes], args: argparse.Namespace, show: Printer) -> int:
    async with Cluster(args.bootstrap_server, security=consumer.config.security) as cluster:
        await cluster.any_connection()  # whoever types a wrong address hears of it now
    terminated = asyncio.Event()
    running = asyncio.current_task()
    assert running is not None

    def terminate() -> None:
        terminated.set()
        running.cancel()

    # Whoever ends it with SIGTERM expects what was printed to be acknowledged, as with SIGINT.
    on_signals(terminate, signal.SIGTERM)
    printing = Printing(consumer, args, show)
    consumer.subscribe([args.topic])
    try:
        async with consumer:
            await printing.run()
    except asyncio.CancelledError:
        if not terminated.is_set():
            raise
        running.uncancel()
        return _TERMINATED
    finally:
        print(f"Processed a total of {printing.count} messages", file=sys.stderr)
    return 0


class Printing:
    """Prints what is polled, and says what becomes of it."""

    def __init__(self, source: ShareReading, args: argparse.Namespace, show: Printer) -> None:
        self._loop = PrintLoop(args.max_messages, args.timeout_ms)
        self._source = source
        self._show = show
        self._done_as = (
            AcknowledgeType.REJECT if args.reject
            else AcknowledgeType.RELEASE if args.release
            else AcknowledgeType.ACCEPT
        )  # fmt: skip
        self._goes_on = args.reject_message_on_error

    async def run(self) -> None:
        """Until enough is printed, or nothing comes any more. Raises ``CommandFailed`` for what cannot be shown."""
        await self._loop.run(self._print_next)

    @property
    def count(self) -> int:
        return self._loop.count

    async def _print_next(self, wait_s: float) -> bool:
        records = await self._source.poll(wait_s)
        self._print(records)
        return bool(records)

    def _print(self, records: Sequence[ShareRecord[bytes, bytes]]) -> None:
        """Only what has left this process is acknowledged."""
        done = list[tuple[ShareRecord[bytes, bytes], AcknowledgeType]]()
        trouble: str | None = None
        for record in records:
            if self._loop.is_enough or (trouble and not self._goes_on):
                break
            self._loop.count += 1
            try:
                sys.stdout.buffer.write(self._show(record))
                done.append((record, self._done_as))
            except ValueError as bad:
                trouble = f"{record.topic_partition} offset {record.offset}: {bad}"
                if self._goes_on:
                    print(f"Error processing message, rejecting this message: {trouble}", file=sys.stderr)
                    done.append((record, AcknowledgeType.REJECT))
        sys.stdout.buffer.flush()
        for record, kind in done:
            self._source.acknowledge(record, kind)
        if trouble and not self._goes_on:
            raise CommandFailed(f"cannot show {trouble} (--reject-message-on-error goes on)")
