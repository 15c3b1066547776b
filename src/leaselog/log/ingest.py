"""What a producer's bytes must be before they enter a partition's log, and what the log makes of them.

The rules are those of Kafka's LogValidator, compared with a 4.3.1 broker fault by fault. The common batch (the
topic keeps the producer's codec and timestamps, is not compacted, and the header's timestamps are in range) is
judged by its header and checksum alone, stamped in the buffer it came in, and never copied.

What that leaves unchecked, and Kafka checks in every batch: that the records inside decode, count up to the
header's count and bear the timestamps that the header claims. The checksum holds, so such bytes are what the
producer meant to send; a reader finds out. Whenever something must look inside, all of it is checked.

Differences on purpose: bytes behind the last whole batch are refused (Kafka drops them and answers success), and
records that do not unpack are INVALID_RECORD (Kafka answers UNKNOWN_SERVER_ERROR).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from leaselog.log._intake import AppendRefused, Origin, RecordError
from leaselog.log.config import LogConfig
from leaselog.log.producer_state import KnownBatch, ProducerState
from leaselog.model import ErrorCode, Refused
from leaselog.wire.compression import Codec
from leaselog.wire.errors import CorruptBatch, DecodeError, OldFormat, Truncated
from leaselog.wire.record_batch import (
    LOG_APPEND_TIME_BIT,
    NO_TIMESTAMP,
    BatchHeader,
    TimestampType,
    check_crc,
    parse_header,
    rewrite_header,
    stamp,
    stamp_append_time,
)
from leaselog.wire.records import ScannedRecord, recompress_batch, scan_records

__all__ = ["Duplicate", "Ingested", "IngestRules", "ingest"]

#: Every record of a refused batch fails, so naming more of them helps nobody and could fill a response.
MAX_RECORD_ERRORS = 1000

_CODEC_NAMES = {"uncompressed": Codec.NONE, **{codec.name.lower(): codec for codec in Codec}}
_FOREVER_MS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class IngestRules:
    """What a topic's configuration asks of its batches. Defaults are Kafka's."""

    max_message_bytes: int = 1_048_588
    segment_bytes: int = 1_073_741_824
    #: None: whatever the producer chose
    codec: Codec | None = None
    level: int | None = None
    timestamp_type: TimestampType = TimestampType.CREATE_TIME
    timestamp_before_max_ms: int = _FOREVER_MS
    timestamp_after_max_ms: int = 3_600_000
    is_compacted: bool = False

    @classmethod
    def of(cls, config: LogConfig) -> IngestRules:
        codec = None if config.compression_type == "producer" else _CODEC_NAMES[config.compression_type]
        levels = {
            Codec.GZIP: config.compression_gzip_level,
            Codec.LZ4: config.compression_lz4_level,
            Codec.ZSTD: config.compression_zstd_level,
        }
        is_append_time = config.message_timestamp_type == "LogAppendTime"
        return cls(
            max_message_bytes=config.max_message_bytes,
            segment_bytes=config.segment_bytes,
            codec=codec,
            level=None if codec is None else levels.get(codec),
            timestamp_type=TimestampType.LOG_APPEND_TIME if is_append_time else TimestampType.CREATE_TIME,
            timestamp_before_max_ms=config.message_timestamp_before_max_ms,
            timestamp_after_max_ms=config.message_timestamp_after_max_ms,
            is_compacted=config.is_compacted,
        )


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


class _Unfit(Exception):
    """Carries a refusal out of the depth of a check."""

    def __init__(
        self, code: ErrorCode, message: str | None, record_errors: tuple[RecordError, ...] = ()
    ) -> None:
        self.refusal = AppendRefused(code, message, record_errors)


def ingest(
    records: bytearray | memoryview,
    rules: IngestRules,
    producers: ProducerState,
    *,
    next_offset: int,
    leader_epoch: int,
    now_ms: int,
    origin: Origin,
) -> Ingested | Duplicate | AppendRefused:
    """Judge the batches and give them offsets from ``next_offset`` on, in the buffer itself where possible.

    All or none. ``producers`` is asked and not told. A refused buffer may have had its codec or timestamp type
    changed and is of no more use.
    """
    try:
        batches = _split(records, origin)
        for position, header in batches:
            _check_batch(records, position, header, rules, origin)
        pieces = [_prepare(records, position, header, rules, now_ms) for position, header in batches]
        known = _ask(producers, batches, origin)
    except _Unfit as unfit:
        return unfit.refusal
    if known is not None:
        return Duplicate(known.start_offset, known.end_offset, known.timestamp_ms)
    if pieces.count(None) < len(pieces):
        records = _join(pieces, records, batches)
    return _place(records, [header for _, header in batches], rules, next_offset, leader_epoch, now_ms)


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
        raise _Unfit(ErrorCode.INVALID_RECORD, str(error)) from None
    except DecodeError as error:
        raise _Unfit(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
    if not batches:
        raise _Unfit(ErrorCode.INVALID_RECORD, "no record batch")
    if origin is Origin.CLIENT and len(batches) > 1:
        raise _Unfit(ErrorCode.INVALID_RECORD, f"{len(batches)} record batches, expected exactly one")
    return batches


def _check_batch(
    records: bytearray | memoryview, position: int, header: BatchHeader, rules: IngestRules, origin: Origin
) -> None:
    # Kafka's order, so that a batch with two faults is refused for the same one.
    if origin is Origin.CLIENT and header.base_offset != 0:
        raise _Unfit(ErrorCode.INVALID_RECORD, f"base offset {header.base_offset}, expected 0")
    _check_size(header.size_bytes, rules)
    try:
        check_crc(records, header, position)
    except CorruptBatch as error:
        raise _Unfit(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
    count, delta = header.record_count, header.last_offset_delta
    if count <= 0 or count != delta + 1:
        raise _Unfit(ErrorCode.INVALID_RECORD, f"{count} records with last offset delta {delta}")
    if not header.has_known_codec:
        raise _Unfit(ErrorCode.INVALID_RECORD, f"compression codec {header.attributes & 0x07}")
    if origin is not Origin.CLIENT:
        return
    if header.is_control:
        raise _Unfit(ErrorCode.INVALID_RECORD, "a control batch from a client")
    if header.has_producer and header.base_sequence < 0:
        raise _Unfit(ErrorCode.INVALID_RECORD, f"sequence {header.base_sequence} from an idempotent producer")


def _check_size(size_bytes: int, rules: IngestRules) -> None:
    if size_bytes > rules.max_message_bytes:
        message = f"batch of {size_bytes} bytes, max.message.bytes is {rules.max_message_bytes}"
        raise _Unfit(ErrorCode.MESSAGE_TOO_LARGE, message)


def _ask(
    producers: ProducerState, batches: list[tuple[int, BatchHeader]], origin: Origin
) -> KnownBatch | None:
    for _, header in batches:
        if header.has_producer:
            found = producers.check(header, sequenced=origin is Origin.CLIENT)
            if isinstance(found, Refused):
                raise _Unfit(found.code, found.message)
            if found is not None:
                return found
    return None


# -- what only the records tell ------------------------------------------------------------------------------


def _prepare(
    records: bytearray | memoryview, position: int, header: BatchHeader, rules: IngestRules, now_ms: int
) -> bytearray | None:
    """The batch made anew where its codec must change; None where the buffer's own will do."""
    recompresses = _recompresses(header, rules)
    if not recompresses and not _must_look_inside(header, rules, now_ms):
        return None
    try:
        latest_ms = _check_records(records, position, header, rules, now_ms)
        if rules.timestamp_type is TimestampType.CREATE_TIME:
            _settle_create_time(records, position, header, latest_ms)
        if not recompresses or rules.codec is None:
            return None
        remade = recompress_batch(records, header, position, rules.codec, level=rules.level)
    except DecodeError as error:
        raise _Unfit(ErrorCode.INVALID_RECORD, str(error)) from None
    _check_size(header.size_bytes, rules)
    return remade


def _recompresses(header: BatchHeader, rules: IngestRules) -> bool:
    # Kafka leaves an uncompressed control batch alone.
    if rules.codec is None or header.is_control:
        return False
    return header.compression is not rules.codec


def _must_look_inside(header: BatchHeader, rules: IngestRules, now_ms: int) -> bool:
    if rules.is_compacted or header.attributes & LOG_APPEND_TIME_BIT:
        return True
    if rules.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return False
    # The upper limit has a default, an hour, so it must not cost a look inside: the header names the largest
    # timestamp, and the base is the first record's. The lower limit has none; a topic that sets it pays.
    latest_ms = max(header.max_timestamp, header.base_timestamp)
    return latest_ms - now_ms > rules.timestamp_after_max_ms or rules.timestamp_before_max_ms != _FOREVER_MS


def _check_records(
    records: bytearray | memoryview, position: int, header: BatchHeader, rules: IngestRules, now_ms: int
) -> int:
    """The largest timestamp there really is; every record is decoded and judged."""
    errors: list[RecordError] = []
    has_bad_timestamp = False
    latest_ms, total = NO_TIMESTAMP, 0
    for index, record in enumerate(scan_records(records, header, position)):
        latest_ms = max(latest_ms, record.timestamp_ms)
        fault = "no key, and the topic is compacted" if rules.is_compacted and record.key is None else None
        if fault is None:
            fault = _timestamp_fault(record, header, rules, now_ms)
            has_bad_timestamp = has_bad_timestamp or fault is not None
        if fault is not None:
            total += 1
            if len(errors) < MAX_RECORD_ERRORS:
                errors.append(RecordError(index, fault))
    if errors:
        code = ErrorCode.INVALID_TIMESTAMP if has_bad_timestamp else ErrorCode.INVALID_RECORD
        message = f"{total} of {header.record_count} records refused; the first, {errors[0].index}: "
        raise _Unfit(code, message + errors[0].message, tuple(errors))
    return latest_ms


def _timestamp_fault(
    record: ScannedRecord, header: BatchHeader, rules: IngestRules, now_ms: int
) -> str | None:
    is_bounded = rules.timestamp_type is TimestampType.CREATE_TIME and record.timestamp_ms != NO_TIMESTAMP
    if not is_bounded:
        claims_log_time = header.attributes & LOG_APPEND_TIME_BIT
        return "a producer may not claim log append time" if claims_log_time else None
    age_ms = now_ms - record.timestamp_ms
    if -rules.timestamp_after_max_ms <= age_ms <= rules.timestamp_before_max_ms:
        return None
    earliest, latest = now_ms - rules.timestamp_before_max_ms, now_ms + rules.timestamp_after_max_ms
    return f"timestamp {record.timestamp_ms}, expected one in [{earliest}, {latest}]"


def _settle_create_time(
    records: bytearray | memoryview, position: int, header: BatchHeader, latest_ms: int
) -> None:
    """Correct a header that claims another largest timestamp, or the log's time, as Kafka does silently."""
    if header.max_timestamp == latest_ms and not header.attributes & LOG_APPEND_TIME_BIT:
        return
    header.max_timestamp = latest_ms
    header.attributes &= ~LOG_APPEND_TIME_BIT
    rewrite_header(records, position, header)


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
