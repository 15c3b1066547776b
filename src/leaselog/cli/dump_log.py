"""`leaselog dump-log`: what is in a partition's files, in the lines of Apache's DumpLogSegments.

Files are mapped, not read, and decoded a batch at a time: their size does not matter. Nothing is ever written.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from leaselog.cli.arguments import CommandFailed, UsageError, positive
from leaselog.cli.dump_batches import dump_batches
from leaselog.cli.dump_files import Findings
from leaselog.cli.dump_indexes import dump_index, dump_time_index
from leaselog.wire.errors import DecodeError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--files", required=True, metavar="FILE,FILE", help="segments, indexes and snapshots")
    parser.add_argument("--print-data-log", action="store_true", help="keys and values too")
    parser.add_argument("--deep-iteration", action="store_true", help="records too, not only batches")
    parser.add_argument("--skip-record-metadata", action="store_true", help="keys and values alone")
    parser.add_argument(
        "--max-bytes", type=positive, default=2**31 - 1, metavar="BYTES", help="read no further"
    )
    parser.add_argument(
        "--max-message-size",
        type=positive,
        default=5 * 1024 * 1024,
        metavar="BYTES",
        help="accepted, not needed",
    )
    parser.add_argument(
        "--index-sanity-check", action="store_true", help="only whether indexes are well formed"
    )
    parser.add_argument(
        "--verify-index-only", action="store_true", help="check indexes without printing them"
    )
    decoders = parser.add_mutually_exclusive_group()
    decoders.add_argument("--offsets-decoder", action="store_true", help="records of __consumer_offsets")
    decoders.add_argument(
        "--cluster-metadata-decoder", action="store_true", help="records of __cluster_metadata"
    )
    decoders.add_argument(
        "--share-group-state-decoder", action="store_true", help="records of __share_group_state"
    )


def run(args: argparse.Namespace) -> int:
    files = [Path(name.strip()) for name in args.files.split(",") if name.strip()]
    if not files:
        raise UsageError("--files names no file")
    findings = Findings()
    for file in files:
        print(f"Dumping {file}", flush=True)
        try:
            _dump(file, args, findings)
        except BrokenPipeError:  # of standard output: the file has nothing to do with it
            raise
        except OSError as unreadable:
            raise CommandFailed(f"{file}: {unreadable.strerror}") from None
    findings.print()
    return 0


def _dump(file: Path, args: argparse.Namespace, findings: Findings) -> None:
    match file.suffix:
        case ".log":
            dump_batches(file, args, findings)
        case ".index":
            dump_index(file, args, findings)
        case ".timeindex":
            dump_time_index(file, args, findings)
        case ".txnindex":
            _dump_aborted(file)
        case ".snapshot":
            _dump_producer_snapshot(file)
        case ".checkpoint":
            dump_batches(file, args, findings)  # a snapshot of the cluster's metadata is written as a log
        case _:
            file.stat()  # for what is not there at all that would be the wrong complaint
            print(f"Ignoring unknown file {file}", file=sys.stderr)


# aborted transactions


def _dump_aborted(file: Path) -> None:
    from leaselog.log.aborted_index import AbortedIndex

    base_offset = int(stem) if (stem := file.stem).isdigit() else 0
    index = AbortedIndex.from_bytes(base_offset, file.read_bytes())
    if index is None:
        raise CommandFailed(f"{file}: no index of aborted transactions")
    for one in index.entries():
        print(
            f"version: 0 producerId: {one.producer_id} firstOffset: {one.first_offset}"
            f" lastOffset: {one.last_offset} lastStableOffset: {one.last_stable_offset}"
        )


# producer snapshots


def _dump_producer_snapshot(file: Path) -> None:
    from leaselog.log.producer_state import ProducerState

    state = ProducerState()
    try:
        state.restore(file.read_bytes(), now_ms=0)  # so long ago that nobody has expired
    except DecodeError as bad:
        raise CommandFailed(f"{file}: {bad}") from None
    for p in state:
        start = p.transaction_start
        line = (
            f"producerId: {p.producer_id} producerEpoch: {p.epoch} coordinatorEpoch: {p.coordinator_epoch}"
            f" currentTxnFirstOffset: {'OptionalLong.empty' if start < 0 else f'OptionalLong[{start}]'}"
            f" lastTimestamp: {p.last_timestamp_ms} "
        )
        if p.batches:
            b = p.batches[-1]
            line += (
                f"firstSequence: {b.first_sequence} lastSequence: {b.last_sequence} lastOffset: {b.end_offset - 1}"
                f" offsetDelta: {b.end_offset - 1 - b.start_offset} timestamp: {b.timestamp_ms}"
            )
        print(line)
