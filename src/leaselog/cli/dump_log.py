"""`leaselog dump-log`: what is in a partition's files, in the lines of Apache's DumpLogSegments.

Files are mapped, not read, and decoded a batch at a time: their size does not matter. Nothing is ever written.
"""

from __future__ import annotations

import argparse
import mmap
import sys
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from struct import Struct

from leaselog.cli.arguments import CommandFailed, UsageError, positive
from leaselog.cli.record_decoders import (
    Decoder,
    decode_cluster_metadata,
    decode_offsets,
    decode_share_group_state,
    decode_text,
)
from leaselog.cli.record_format import timestamp_type_name
from leaselog.wire.errors import DecodeError
from leaselog.wire.primitives import Buffer
from leaselog.wire.record_batch import (
    HEADER_BYTES,
    MAX_SEQUENCE,
    NO_SEQUENCE,
    BatchHeader,
    check_crc,
    read_header,
)
from leaselog.wire.records import Record, read_records, scan_records

__all__ = ["add_arguments", "batch_line", "record_line", "run"]

_OFFSET_ENTRY = Struct(">ii")
_TIME_ENTRY = Struct(">qi")
_CONTROL_KEY = Struct(">hh")
_END_MARKERS = {0: "ABORT", 1: "COMMIT"}
#: control records whose content is a message: what Apache prints before it
_CONTROL_MESSAGES = {
    2: ("LeaderChange", "LeaderChangeMessage"),
    3: ("SnapshotHeader", "SnapshotHeaderRecord"),
    4: ("SnapshotFooter", "SnapshotFooterRecord"),
    5: ("KRaftVersion", "KRaftVersionRecord"),
    6: ("KRaftVoters", "VotersRecord"),
}


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
    findings = _Findings()
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


class _Findings:
    """What does not fit together, told on stderr after everything else: a title for each file, and lines."""

    def __init__(self) -> None:
        self._indexes = dict[str, list[str]]()
        self._time_indexes = dict[str, list[str]]()
        self._logs = dict[str, list[str]]()

    def index(self, title: str, line: str) -> None:
        self._indexes.setdefault(title, []).append(line)

    def time_index(self, title: str, line: str) -> None:
        self._time_indexes.setdefault(title, []).append(line)

    def log(self, title: str, line: str) -> None:
        self._logs.setdefault(title, []).append(line)

    def print(self) -> None:
        for title, lines in (*self._indexes.items(), *self._time_indexes.items(), *self._logs.items()):
            print("\n".join((title, *lines)), file=sys.stderr)


def _dump(file: Path, args: argparse.Namespace, findings: _Findings) -> None:
    match file.suffix:
        case ".log":
            _dump_log(file, args, findings)
        case ".index":
            _dump_index(file, args, findings)
        case ".timeindex":
            _dump_time_index(file, args, findings)
        case ".snapshot":
            _dump_producer_snapshot(file)
        case ".checkpoint":
            _dump_log(file, args, findings)  # a snapshot of the cluster's metadata is written as a log
        case _:
            file.stat()  # for what is not there at all that would be the wrong complaint
            print(f"Ignoring unknown file {file}", file=sys.stderr)


@contextmanager
def _mapped(file: Path) -> Iterator[Buffer]:
    with file.open("rb") as opened:
        if file.stat().st_size == 0:  # which cannot be mapped
            yield b""
            return
        with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as view:
            yield view


# logs


def _dump_log(file: Path, args: argparse.Namespace, findings: _Findings) -> None:
    decoder = _decoder(args)
    deep = args.deep_iteration or args.print_data_log or decoder is not decode_text
    shown = decoder if args.print_data_log or decoder is not decode_text else None
    print(f"Log starting offset: {file.name.split('.')[0].split('-')[0].lstrip('0') or '0'}")
    with _mapped(file) as data:
        end, last = 0, -1
        for position, header in _batches(data, min(args.max_bytes, len(data))):
            if deep and last >= 0 and header.base_offset != last + 1:
                findings.log(
                    f"Non-consecutive offsets in {file.absolute()}",
                    f"  {last} is followed by {header.base_offset}",
                )
            last = header.end_offset - 1
            print(batch_line(data, header, position))
            if deep:
                try:
                    _print_records(data, header, position, shown, skip_metadata=args.skip_record_metadata)
                except DecodeError as bad:
                    raise CommandFailed(f"{_named(file, header, position)}: {bad}") from None
            end = position + header.size_bytes
        if end < len(data) <= args.max_bytes:
            print(f"Found {len(data) - end} invalid bytes at the end of {file.name}")


def _named(file: Path, header: BatchHeader, position: int) -> str:
    """Which batch it is, in the words an operator would look for it by."""
    offsets = f"offsets {header.base_offset} to {header.end_offset - 1}"
    return f"partition {file.absolute().parent.name}, {offsets} ({file}, position {position})"


def _decoder(args: argparse.Namespace) -> Decoder:
    if args.offsets_decoder:
        return decode_offsets
    if args.cluster_metadata_decoder:
        return decode_cluster_metadata
    return decode_share_group_state if args.share_group_state_decoder else decode_text


def _batches(data: Buffer, limit: int, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Batches that are wholly there, up to the first thing that is none."""
    while limit - position >= HEADER_BYTES:
        try:
            header = read_header(data, position)
        except DecodeError:
            return
        if position + header.size_bytes > len(data):
            return
        yield position, header
        position += header.size_bytes


def batch_line(data: Buffer, header: BatchHeader, position: int) -> str:
    """One batch, as Apache prints it."""
    horizon = f"OptionalLong[{header.base_timestamp}]" if header.has_delete_horizon else "OptionalLong.empty"
    fields = {
        "baseOffset": header.base_offset,
        "lastOffset": header.end_offset - 1,
        "count": header.record_count,
        "baseSequence": header.base_sequence,
        "lastSequence": header.last_sequence,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "partitionLeaderEpoch": header.leader_epoch,
        "isTransactional": str(header.is_transactional).lower(),
        "isControl": str(header.is_control).lower(),
        "deleteHorizonMs": horizon,
        "position": position,
        timestamp_type_name(header): header.max_timestamp,
        "size": header.size_bytes,
        "magic": header.magic,
        "compresscodec": header.compression.name.lower(),
        "crc": header.crc,
        "isvalid": str(_is_valid(data, header, position)).lower(),
    }
    return " ".join(f"{name}: {value}" for name, value in fields.items())


def _is_valid(data: Buffer, header: BatchHeader, position: int) -> bool:
    try:
        check_crc(data, header, position)
    except DecodeError:
        return False
    return True


def _print_records(
    data: Buffer, header: BatchHeader, position: int, shown: Decoder | None, *, skip_metadata: bool
) -> None:
    for record in read_records(data, header, position):
        print(record_line(header, record, shown, skip_metadata=skip_metadata))


def record_line(header: BatchHeader, record: Record, shown: Decoder | None, *, skip_metadata: bool) -> str:
    parts = list[str]()
    if not skip_metadata:
        sequence = header.base_sequence
        if sequence != NO_SEQUENCE:
            sequence = (sequence + record.offset - header.base_offset) & MAX_SEQUENCE
        parts += [
            f"offset: {record.offset}",
            f"{timestamp_type_name(header)}: {record.timestamp_ms}",
            f"keySize: {-1 if record.key is None else len(record.key)}",
            f"valueSize: {-1 if record.value is None else len(record.value)}",
            f"sequence: {sequence}",
            f"headerKeys: [{','.join(name for name, _ in record.headers)}]",
        ]
        if header.is_control:
            parts.append(_control(record))
    if shown is not None and not header.is_control:
        key, payload = shown(record)
        parts += [
            f"{name}: {text}" for name, text in (("key", key), ("payload", payload)) if text is not None
        ]
    return " ".join(["|", *parts])


def _control(record: Record) -> str:
    from leaselog.cli.message_json import message_json
    from leaselog.cli.record_decoders import dump_json
    from leaselog.wire.codec import decode
    from leaselog.wire.messages import client_data

    if record.key is None or len(record.key) < _CONTROL_KEY.size or record.value is None:
        return "controlType: UNKNOWN(-1)"
    _, kind = _CONTROL_KEY.unpack_from(record.key)
    if kind in _END_MARKERS:
        epoch = int.from_bytes(record.value[2:6], "big", signed=True)
        return f"endTxnMarker: {_END_MARKERS[kind]} coordinatorEpoch: {epoch}"
    label, name = _CONTROL_MESSAGES.get(kind, ("", ""))
    message_kind = getattr(client_data, name, None)
    if message_kind is None:
        return f"controlType: {label or 'UNKNOWN'}({kind})"
    version = int.from_bytes(record.value[:2], "big")
    try:
        message = decode(message_kind, version, record.value)
    except DecodeError as bad:
        return f"controlType: {label}({kind}): {bad}"
    return f"{label}: {dump_json(message_json(message, version))}"


# indexes


def _dump_index(file: Path, args: argparse.Namespace, findings: _Findings) -> None:
    base = _base_offset(file)
    data = _index_bytes(file)
    entries = [(base + offset, position) for offset, position in _whole(_OFFSET_ENTRY, data)]
    if not entries:
        print(f"{file} is empty.")
        return
    if args.index_sanity_check:
        is_sane = len(data) % _OFFSET_ENTRY.size == 0 and entries[-1][0] >= base
        _report_sanity(file, is_sane)
        return
    with _mapped(file.with_suffix(".log")) as log:
        for i, (offset, position) in enumerate(entries):
            if i > 0 and offset == base:
                break  # the rest was allocated ahead
            found = next((h for _, h in _batches(log, len(log), position)), None)
            if found is not None and found.end_offset - 1 != offset:
                line = f"  Index offset: {offset}, log offset: {found.end_offset - 1}"
                findings.index(f"Mismatches in :{file.absolute()}", line)
            if not args.verify_index_only:
                print(f"offset: {offset} position: {position}")


def _dump_time_index(file: Path, args: argparse.Namespace, findings: _Findings) -> None:
    base = _base_offset(file)
    data = _index_bytes(file)
    entries = [(timestamp, base + offset) for timestamp, offset in _whole(_TIME_ENTRY, data)]
    if not entries:
        print(f"{file} is empty.")
        return
    if args.index_sanity_check:
        first, last = entries[0], entries[-1]
        is_whole = len(data) % _TIME_ENTRY.size == 0
        _report_sanity(file, is_whole and last[0] >= first[0] and last[1] >= base)
        return
    positions = _Positions(file.with_suffix(".index"), base)
    with _mapped(file.with_suffix(".log")) as log:
        previous = -1
        for i, (timestamp, offset) in enumerate(entries):
            if i > 0 and (timestamp, offset) == (0, base):
                break
            _check_time(log, positions.before(offset), (timestamp, offset), previous, file, findings)
            if not args.verify_index_only:
                print(f"timestamp: {timestamp} offset: {offset}")
            previous = timestamp


class _Positions:
    """Where to begin looking for an offset: the offset index, as far as it can be trusted."""

    def __init__(self, file: Path, base: int) -> None:
        entries = list(_whole(_OFFSET_ENTRY, file.read_bytes())) if file.exists() else []
        self._entries = [(base + offset, position) for offset, position in entries if offset > 0]

    def before(self, offset: int) -> int:
        at = bisect_right(self._entries, (offset, 2**31)) - 1
        return self._entries[at][1] if at >= 0 else 0


def _check_time(
    log: Buffer, position: int, entry: tuple[int, int], previous: int, file: Path, findings: _Findings
) -> None:
    """Whether the batch that ends with the entry's offset has the entry's timestamp, and a later one than before."""
    timestamp, offset = entry
    batch = next(((p, h) for p, h in _batches(log, len(log), position) if h.end_offset > offset), None)
    found = -1 if batch is None else batch[1].end_offset - 1
    if batch is None or found != offset:
        title = f"The following indexed offsets are not found in :{file.absolute()}"
        findings.time_index(title, f"Indexed offset: {offset}, found log offset: {found}")
        return
    latest = max((r.timestamp_ms for r in scan_records(log, batch[1], batch[0])), default=-1)
    if latest != timestamp:
        title = f"Found timestamp mismatch in :{file.absolute()}"
        findings.time_index(title, f"  Index timestamp: {timestamp}, log timestamp: {latest}")
    if previous >= timestamp:
        title = f"Found out of order timestamp in :{file.absolute()}"
        line = f"  Index timestamp: {timestamp}, Previously indexed timestamp: {previous}"
        findings.time_index(title, line)


def _index_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        if not file.with_suffix(".log").exists():
            raise
        raise CommandFailed(
            f"{file}: not there yet; the index of an active segment is in memory until it is rolled or the broker stops"
        ) from None


def _report_sanity(file: Path, is_sane: bool) -> None:
    if not is_sane:
        raise CommandFailed(f"{file}: the index is corrupt")
    print(f"{file} passed sanity check.")


def _whole(entry: Struct, data: bytes) -> Iterator[tuple[int, int]]:
    return entry.iter_unpack(data[: len(data) - len(data) % entry.size])


def _base_offset(file: Path) -> int:
    if not file.stem.isdecimal():
        raise CommandFailed(f"{file}: the name does not begin with an offset")
    return int(file.stem)


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
