"""What a producer's bytes must be before they enter a partition's log, and what the log makes of them.

The rules are those of Kafka's LogValidator, compared with a 4.3.1 broker fault by fault. The common batch (the
topic keeps the producer's codec and timestamps, is not compacted, and the header's timestamps are in range) is
judged by its header and checksum alone, stamped in the buffer it came in, and never copied.

What that leaves unchecked, and Kafka checks in every batch: that the records inside decode, count up to the
header's count and bear the timestamps that the header claims. The checksum holds, so such bytes are what the
producer meant to send; a reader finds out. A count that the batch's bytes cannot hold is refused all the same: offsets
cost those who keep books on them, so a batch may claim no more of them than it pays for. Whenever something must look
inside (see ``inspection``), all of it is checked.

Differences on purpose: bytes behind the last whole batch are refused (Kafka drops them and answers success), and
records that do not unpack are INVALID_RECORD (Kafka answers UNKNOWN_SERVER_ERROR).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from leaselog.log._intake import AppendRefused, Origin, Unfit
from leaselog.log._steps import finish
from leaselog.log.ingest_rules import IngestRules
from leaselog.log.inspection import Inspection, check_size, needs_a_look
from leaselog.log.producer_state import KnownBatch, ProducerState
from leaselog.model import ErrorCode, Refused
from leaselog.wire.end_markers import read_end_marker
from leaselog.wire.errors import CorruptBatch, DecodeError, OldFormat, Truncated
from leaselog.wire.primitives import Buffer
from leaselog.wire.record_batch import (
    NO_TIMESTAMP,
    BatchHeader,
    TimestampType,
    check_crc,
    parse_header,
    stamp,
    stamp_append_time,
)
from leaselog.wire.records import most_records

__all__ = ["Duplicate", "Ingested", "ingest", "ingest_at_once", "settle"]


class Ingested(NamedTuple):
    """Batches ready to be written. Once they are, ``ProducerState.replay`` wants each header."""

    #: the buffer given, stamped, or a new one where a batch had to be made anew
    records: bytearray | memoryview
    headers: list[BatchHeader]
    first_offset: int
    end_offset: int
    #: -1 if no record has a timestamp
    max_timestamp: int
    #: the last offset of the first batch with that timestamp, which is what Kafka's time index holds
    offset_of_max_timestamp: int
    #: -1 unless the topic takes the log's time
    log_append_time_ms: int


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The producer sent this before; success, and where it went then."""

    first_offset: int
    end_offset: int
    #: Kafka answers a duplicate with the first one's largest timestamp as its append time, whatever the topic's type
    timestamp_ms: int


def ingest(
    records: bytearray | memoryview,
    rules: IngestRules,
    producers: ProducerState,
    *,
    next_offset: int,
    leader_epoch: int,
    now_ms: int,
    origin: Origin,
) -> Ingested | Duplicate | AppendRefused | Inspection:
    """Judge the batches and give them offsets from ``next_offset`` on, in the buffer itself where possible.

    All or none. ``producers`` is asked and not told. A refused buffer may have had its codec or timestamp type
    changed and is of no more use. An ``Inspection`` is what must be done first, and would take long: ``settle`` goes
    on from there. A coordinator's batches are small and its own; they are looked into here.
    """
    try:
        batches = _split(records, origin)
        for position, header in batches:
            _check_batch(records, position, header, rules, origin)
    except Unfit as unfit:
        return unfit.refusal
    inspection = Inspection(records, batches, rules, now_ms)
    if any(needs_a_look(header, rules, now_ms) for _, header in batches):
        if origin is not Origin.CLIENT:
            finish(inspection.steps())
        elif not inspection.try_now():
            return inspection
    return settle(inspection, producers, next_offset=next_offset, leader_epoch=leader_epoch, origin=origin)


def ingest_at_once(
    records: bytearray | memoryview,
    rules: IngestRules,
    producers: ProducerState,
    *,
    next_offset: int,
    leader_epoch: int,
    now_ms: int,
    origin: Origin,
) -> Ingested | Duplicate | AppendRefused:
    """``ingest``, however long it takes."""
    place = {"next_offset": next_offset, "leader_epoch": leader_epoch}
    outcome = ingest(records, rules, producers, **place, now_ms=now_ms, origin=origin)
    if isinstance(outcome, Inspection):
        finish(outcome.steps())
        return settle(outcome, producers, **place, origin=origin)
    return outcome


def settle(
    inspection: Inspection,
    producers: ProducerState,
    *,
    next_offset: int,
    leader_epoch: int,
    origin: Origin,
) -> Ingested | Duplicate | AppendRefused:
    """What ``ingest`` gives, once the inspection's steps are done."""
    if inspection.refusal is not None:
        return inspection.refusal
    records, batches, pieces = inspection.records, inspection.batches, inspection.pieces
    try:
        known = _ask(producers, records, batches, origin)
    except Unfit as unfit:
        return unfit.refusal
    if known is not None:
        return Duplicate(known.start_offset, known.end_offset, known.timestamp_ms)
    if pieces.count(None) < len(pieces):
        records = _join(pieces, records, batches)
    headers = [header for _, header in batches]
    return _place(records, headers, inspection.rules, next_offset, leader_epoch, inspection.now_ms)


# -- what the header tells -----------------------------------------------------------------------------------


def _split(records: bytearray | memoryview, origin: Origin) -> list[tuple[int, BatchHeader]]:
    batches: list[tuple[int, BatchHeader]] = []
    position, size = 0, len(records)
    try:
        while position < size:
            header = parse_header(records, position)
            if header.size_bytes > size - position:
                raise Truncated(f"batch of {header.size_bytes} bytes, only {size - position} there")
            batches.append((position, header))
            position += header.size_bytes
    except (OldFormat, Truncated) as error:
        raise Unfit(ErrorCode.INVALID_RECORD, str(error)) from None
    except DecodeError as error:
        raise Unfit(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
    if not batches:
        raise Unfit(ErrorCode.INVALID_RECORD, "no record batch")
    if origin is Origin.CLIENT and len(batches) > 1:
        raise Unfit(ErrorCode.INVALID_RECORD, f"{len(batches)} record batches, expected exactly one")
    return batches


def _check_batch(
    records: bytearray | memoryview, position: int, header: BatchHeader, rules: IngestRules, origin: Origin
) -> None:
    # Kafka's order, so that a batch with two faults is refused for the same one.
    if origin is Origin.CLIENT and header.base_offset != 0:
        raise Unfit(ErrorCode.INVALID_RECORD, f"base offset {header.base_offset}, expected 0")
    if origin is Origin.CLIENT or not header.is_control:
        # A marker that does not fit would hold up readers for ever.
        check_size(header.size_bytes, rules)
    try:
        check_crc(records, header, position)
    except CorruptBatch as error:
        raise Unfit(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
    count, delta = header.record_count, header.last_offset_delta
    if count <= 0 or count != delta + 1:
        raise Unfit(ErrorCode.INVALID_RECORD, f"{count} records with last offset delta {delta}")
    if not header.has_known_codec:
        raise Unfit(ErrorCode.INVALID_RECORD, f"compression codec {header.attributes & 0x07}")
    if count > most_records(header):
        raise Unfit(ErrorCode.INVALID_RECORD, f"{count} records in a batch of {header.size_bytes} bytes")
    if origin is not Origin.CLIENT:
        return
    if header.is_control:
        raise Unfit(ErrorCode.INVALID_RECORD, "a control batch from a client")
    if header.has_producer and header.base_sequence < 0:
        raise Unfit(ErrorCode.INVALID_RECORD, f"sequence {header.base_sequence} from an idempotent producer")


def _ask(
    producers: ProducerState, records: Buffer, batches: list[tuple[int, BatchHeader]], origin: Origin
) -> KnownBatch | None:
    for position, header in batches:
        if header.has_producer:
            if header.is_control:
                found: KnownBatch | Refused | None = _ask_for_marker(
                    producers, records, position, header, origin
                )
            else:
                found = producers.check(header, sequenced=origin is Origin.CLIENT)
            if isinstance(found, Refused):
                raise Unfit(found.code, found.message)
            if found is not None:
                return found
    return None


def _ask_for_marker(
    producers: ProducerState, records: Buffer, position: int, header: BatchHeader, origin: Origin
) -> Refused | None:
    try:
        marker = read_end_marker(records, header, position)
    except DecodeError as error:
        raise Unfit(ErrorCode.INVALID_RECORD, str(error)) from None
    if marker is None:
        raise Unfit(ErrorCode.INVALID_RECORD, "a control batch of a producer that ends no transaction")
    return producers.check_marker(header, marker, is_bumped=origin is Origin.BUMPED_MARKER)


# -- giving them their place ---------------------------------------------------------------------------------


def _place(
    records: bytearray | memoryview,
    headers: list[BatchHeader],
    rules: IngestRules,
    next_offset: int,
    leader_epoch: int,
    now_ms: int,
) -> Ingested | AppendRefused:
    if len(records) > rules.segment_bytes:
        message = f"{len(records)} bytes, segment.bytes is {rules.segment_bytes}"
        return AppendRefused(ErrorCode.RECORD_LIST_TOO_LARGE, message)
    takes_log_time = rules.timestamp_type is TimestampType.LOG_APPEND_TIME
    first_offset, position = next_offset, 0
    max_timestamp, offset_of_max = NO_TIMESTAMP, -1
    for header in headers:
        if takes_log_time:
            stamp_append_time(records, position, header, now_ms)
        stamp(records, position, next_offset, leader_epoch)
        header.base_offset, header.leader_epoch = next_offset, leader_epoch
        position += header.size_bytes
        next_offset = header.end_offset
        if header.max_timestamp > max_timestamp:
            max_timestamp, offset_of_max = header.max_timestamp, next_offset - 1
    append_time_ms = now_ms if takes_log_time else NO_TIMESTAMP
    return Ingested(records, headers, first_offset, next_offset, max_timestamp, offset_of_max, append_time_ms)


def _join(
    pieces: list[bytearray | None], records: bytearray | memoryview, batches: list[tuple[int, BatchHeader]]
) -> bytearray:
    """The batches in order, those made anew and those of the buffer."""
    joined = bytearray()
    for piece, (position, header) in zip(pieces, batches, strict=True):
        joined += memoryview(records)[position : position + header.size_bytes] if piece is None else piece
    return joined
