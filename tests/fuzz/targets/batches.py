"""Record batches: as they come, and under a header and a checksum that are in order."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import Any

from fuzz.targets.messages import take_acquired
from fuzz.targets.target import NOW_MS, TOPIC_ID, UNPACKED_BYTES, Unwanted
from leaselog.client.compiled_records import has_parser, read_records_compiled
from leaselog.log import (
    Appended,
    AppendRefused,
    Durability,
    LogConfig,
    MemoryFiles,
    Origin,
    PartitionLog,
    finish,
)
from leaselog.log.ingest import Ingested, ingest_at_once
from leaselog.log.ingest_rules import IngestRules
from leaselog.log.producer_state import ProducerState
from leaselog.wire.compression import Codec, compress, decompress
from leaselog.wire.errors import DecodeError
from leaselog.wire.record_batch import (
    HEADER_BYTES,
    check_crc,
    iterate_headers,
    parse_header,
    read_header,
    rewrite_header,
    whole_batches,
)
from leaselog.wire.records import Record, build_batch, read_records, rebuild_batch, scan_records

__all__ = ["batches", "bodies", "codecs"]


def codecs(data: bytes) -> None:
    """The first byte is the codec, the rest what it unpacks."""
    if not data:
        raise Unwanted
    codec = Codec(data[0] % len(Codec))
    try:
        unpacked = decompress(codec, data[1:], UNPACKED_BYTES)
    except DecodeError:
        return
    assert len(unpacked) <= UNPACKED_BYTES or codec is Codec.NONE
    assert bytes(decompress(codec, compress(codec, unpacked), UNPACKED_BYTES)) == unpacked


_BATCH_HEAD = struct.Struct(">BHHq")
_COMPILED = 0x08
_PRODUCER_STAYS = 0x10
_APPEND_TIME = 0x20
#: the header claims thousands of times as many
_MANY = 0x40
#: the topic takes the log's time, and nothing looks inside
_UNSEEN = 0x80


def batches(data: bytes) -> None:
    """Bytes as batches, as a fetch or a file brings them: nothing about them is right until it has been checked."""
    header = None
    with suppress(DecodeError):
        for position, header in whole_batches(data):
            assert position + header.size_bytes <= len(data)
    with suppress(DecodeError):
        for position, header in iterate_headers(data):
            with suppress(DecodeError):
                check_crc(data, header, position)
            _read(data, header, position)
    outcome = ingest_at_once(
        bytearray(data),
        IngestRules(is_compacted=bool(len(data) & 1)),
        ProducerState(),
        next_offset=5,
        leader_epoch=0,
        now_ms=NOW_MS,
        origin=Origin.COORDINATOR,
    )
    if isinstance(outcome, Ingested):
        for position, header in iterate_headers(outcome.records):
            check_crc(outcome.records, header, position)
    else:
        assert isinstance(outcome, AppendRefused)


def bodies(data: bytes) -> None:
    """What is inside a batch whose header and checksum are in order: who made it meant it so."""
    if len(data) < _BATCH_HEAD.size:
        raise Unwanted
    flags, count, delta, base_timestamp = _BATCH_HEAD.unpack_from(data)
    if flags & 0x07 > max(Codec):
        raise Unwanted
    codec = Codec(flags & 0x07)
    if flags & _MANY:
        count, delta = count << 15, (delta + 1 << 15) - 1
    header = parse_header(_EMPTY_BATCH)
    body = compress(codec, data[_BATCH_HEAD.size :])
    header.attributes = int(codec) | (0x08 if flags & _APPEND_TIME else 0)
    header.size_bytes, header.record_count = HEADER_BYTES + len(body), count
    header.last_offset_delta, header.base_timestamp = delta, base_timestamp
    header.max_timestamp = NOW_MS
    batch = bytearray(HEADER_BYTES) + body
    rewrite_header(batch, 0, header)
    records = _read(batch, header, 0)
    if (
        has_parser() and flags & _COMPILED and records is not None
    ):  # what ours refuses the other may read (ADR 0012)
        assert records == _read_compiled(batch, header), "both readers read the same"
    rules = IngestRules(
        is_compacted=True, codec=Codec.NONE if flags & 1 else None, timestamp_after_max_ms=2**62
    )
    outcome = ingest_at_once(
        batch,
        rules,
        ProducerState(),
        next_offset=3,
        leader_epoch=1,
        now_ms=NOW_MS,
        origin=Origin.CLIENT,
    )
    if isinstance(outcome, Ingested):
        (made,) = outcome.headers
        check_crc(outcome.records, made)
        assert list(read_records(outcome.records, made)), "what the log takes can be read"
    if flags & _UNSEEN:
        _search(batch)
    with suppress(DecodeError):
        take_acquired(batch, [(0, min(delta, 9), 1), (min(delta, 9) + 3, delta, 2)])


_EMPTY_BATCH = bytes(build_batch([Record(None, b"")]))


def _search(batch: bytearray) -> None:
    """Into a log as it is, and then looked for by its time: nothing may cost what the header says of it."""
    for kind in ("CreateTime", "LogAppendTime"):
        config = LogConfig(durability=Durability.OS, message_timestamp_type=kind)
        log = PartitionLog.open(MemoryFiles(), "data/t-0", TOPIC_ID, config, now_ms=NOW_MS, clean=True)
        outcome = log.append(bytearray(batch), leader_epoch=0, now_ms=NOW_MS)
        if isinstance(outcome, Appended):
            assert outcome.end_offset <= 10_000_000, "a few bytes claim more offsets than they can hold"
            log.delete_records(outcome.end_offset // 2)
        for search in (log.max_timestamp(), log.offset_for_timestamp(NOW_MS)):
            with suppress(DecodeError):
                finish(search)


def _read(data: Any, header: Any, position: int) -> list[Record] | None:
    """The records; None if there is something wrong with them."""
    with suppress(DecodeError):
        list(scan_records(data, header, position, limit_bytes=UNPACKED_BYTES))
    try:
        records = list(read_records(data, header, position, limit_bytes=UNPACKED_BYTES))
    except DecodeError:
        return None
    if records and not header.has_delete_horizon:
        again = rebuild_batch(header, records)
        assert list(read_records(again, read_header(again))) == records
    return records


def _read_compiled(data: Any, header: Any) -> list[Record] | None:
    try:
        return list(read_records_compiled(data, header))
    except DecodeError:
        return None
