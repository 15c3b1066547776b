"""`leaselog console-producer`: each line of standard input becomes a record."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator
from concurrent.futures import CancelledError

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
from leaselog.cli.line_reader import LineFormat, read_line
from leaselog.cli.output import Progress
from leaselog.client.cluster import Cluster
from leaselog.client.producer import BatchProducer, Delivered

__all__ = ["add_arguments", "run"]

_CHUNK_BYTES = 64 * 1024
#: chunks read ahead of the producer; then the reading waits, and with it whoever writes to our input
_CHUNKS_AHEAD = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection(parser, old_file="--producer.config", old_property="--producer-property")
    parser.add_argument("--topic", required=True, help="where to send")
    parser.add_argument(
        "--reader-property", "--property", dest="reader_property", action="append", default=[],
        metavar="KEY=VALUE", help="parse.key, key.separator, parse.headers, headers.delimiter, headers.separator,"
        " headers.key.separator, null.marker, ignore.error",
    )  # fmt: skip
    parser.add_argument("--reader-config", metavar="FILE", help="reader properties from a file")
    parser.add_argument(
        "--compression-codec",
        nargs="?",
        const="gzip",
        metavar="CODEC",
        help="none, gzip, snappy, lz4 or zstd",
    )
    parser.add_argument("--sync", action="store_true", help="wait for each record before the next")
    parser.add_argument("--batch-size", "--max-partition-memory-bytes", type=positive, metavar="BYTES")
    parser.add_argument("--max-memory-bytes", type=positive, metavar="BYTES", help="buffer.memory")
    parser.add_argument("--max-block-ms", type=positive, metavar="MS", help="longest wait for room to send")
    parser.add_argument("--timeout", type=int, metavar="MS", help="linger.ms: how long a batch may gather")
    parser.add_argument("--request-required-acks", metavar="ACKS", help="all, 1 or 0")
    parser.add_argument("--request-timeout-ms", type=positive, metavar="MS")
    parser.add_argument("--message-send-max-retries", type=int, metavar="N")


_OPTIONS = {
    "compression_codec": "compression.type",
    "batch_size": "batch.size",
    "max_memory_bytes": "buffer.memory",
    "max_block_ms": "max.block.ms",
    "timeout": "linger.ms",
    "request_required_acks": "acks",
    "request_timeout_ms": "request.timeout.ms",
    "message_send_max_retries": "retries",
}


def run(args: argparse.Namespace) -> int:
    reader = properties_file(args.reader_config) if args.reader_config else {}
    form = LineFormat.from_properties({**reader, **key_values("--reader-property", args.reader_property)})
    options = {key: getattr(args, name) for name, key in _OPTIONS.items() if getattr(args, name) is not None}
    properties = ClientProperties(given_properties(args, {k: str(v) for k, v in options.items()}))
    settings = properties.producer()
    if settings.limits.linger_ms < 0:
        raise UsageError(f"--timeout {settings.limits.linger_ms}: expected 0 or more")

    async def body(cluster: Cluster) -> int:
        failed = list[Delivered]()

        def seen(delivered: Delivered) -> None:
            if delivered.error is not None:
                failed[:] = [delivered]
                print(
                    f"leaselog console-producer: {len(delivered.records)} record(s) to {delivered.where} were not"
                    f" delivered: {delivered.error}",
                    file=sys.stderr,
                )

        async with BatchProducer(cluster, settings, on_delivered=seen) as producer:
            await _send_lines(producer, args, form)
        return 1 if failed else 0

    return run_with_cluster(args, properties, body)


async def _send_lines(producer: BatchProducer, args: argparse.Namespace, form: LineFormat) -> None:
    is_prompting = sys.stdin.isatty() and sys.stdout.isatty()
    number = 0
    progress = Progress("sent", None)
    if is_prompting:
        print(">", end="", flush=True)
    try:
        async for lines in _input_lines():
            for line in lines:
                number += 1
                record = read_line(line, number, form)
                await producer.send(args.topic, record.value, record.key, headers=record.headers)
                if args.sync:
                    await producer.flush()
            if is_prompting:
                print(">" * len(lines), end="", flush=True)
            else:
                progress.at(number)
    except CommandFailed:
        await producer.flush()  # what came before the bad line is still wanted
        raise


async def _input_lines() -> AsyncIterator[list[bytes]]:
    """Standard input in lists of whole lines.

    A thread reads it: a terminal, a pipe and a file can each block, and a file cannot be polled at all. It is a
    daemon because nothing can end a read that waits.
    """
    loop = asyncio.get_running_loop()
    chunks = asyncio.Queue[bytes](_CHUNKS_AHEAD)

    def read() -> None:
        while True:
            chunk = os.read(sys.stdin.fileno(), _CHUNK_BYTES)
            putting = chunks.put(chunk)
            try:
                asyncio.run_coroutine_threadsafe(putting, loop).result()
            except (RuntimeError, CancelledError):  # asyncio's CancelledError is another class
                putting.close()  # a loop already closed has not taken it, and Python would say so
                return  # the loop is gone, and with it the need
            if not chunk:
                return

    threading.Thread(target=read, name="stdin", daemon=True).start()
    rest = b""
    while chunk := await chunks.get():
        *whole, rest = (rest + chunk).split(b"\n")
        if whole:
            yield [line.removesuffix(b"\r") for line in whole]
    if rest:
        yield [rest]
