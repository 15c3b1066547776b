"""Logs, and snapshots that are written as logs, in the lines of Apache's DumpLogSegments."""

from __future__ import annotations

import argparse
from pathlib import Path
from struct import Struct

from leaselog.cli.arguments import CommandFailed
from leaselog.cli.dump_files import Findings, batches, mapped
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
    MAX_SEQUENCE,
    NO_SEQUENCE,
    BatchHeader,
    check_crc,
)
from leaselog.wire.records import Record, read_records

__all__ = ["batch_line", "dump_batches", "record_line"]

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


def dump_batches(file: Path, args: argparse.Namespace, findings: Findings) -> None:
    decoder = _decoder(args)
    deep = args.deep_iteration or args.print_data_log or decoder is not decode_text
    shown = decoder if args.print_data_log or decoder is not decode_text else None
    print(f"Log starting offset: {file.name.split('.')[0].split('-')[0].lstrip('0') or '0'}")
    with mapped(file) as data:
        end, last = 0, -1
        for position, header in batches(data, min(args.max_bytes, len(data))):
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
