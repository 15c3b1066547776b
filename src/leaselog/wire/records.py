"""The records inside a batch: reading them, passing over them, writing them.

Nobody on the hot path comes here. A record is lengths and varints, so every step is checked against the end
of the record and of the batch: what does not add up is ``CorruptBatch``, and nothing is allocated on the
word of a length that the bytes do not back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from leaselog.wire.compression import MAX_DECOMPRESSED_BYTES, Codec, compress, decompress, most_unpacked
from leaselog.wire.errors import CorruptBatch
from leaselog.wire.primitives import Buffer
from leaselog.wire.record_batch import (
    CONTROL_BIT,
    CURRENT_MAGIC,
    DELETE_HORIZON_BIT,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
    TimestampType,
    seal,
    write_header,
)

__all__ = [
    "Record",
    "ScannedRecord",
    "build_batch",
    "most_records",
    "read_records",
    "rebuild_batch",
    "recompress_batch",
    "repack_batch",
    "scan_records",
    "scan_times",
    "unpack_records",
]

#: A record header: its key and, perhaps, its value. Keys that are not UTF-8 keep their bytes as surrogates, so that
#: a record read and written again is the same record.
RecordHeader = tuple[str, bytes | None]


class Record(NamedTuple):
    """One record. A tuple rather than a dataclass because it is made a million times a second."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[RecordHeader] = ()
    timestamp_ms: int = NO_TIMESTAMP
    #: -1 while no log has given it one
    offset: int = -1


class ScannedRecord(NamedTuple):
    """What compaction, time look-ups and ingest want of a record without building it."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    #: False for a tombstone
    has_value: bool


#: a Record without the detour over its own __new__, which would double what it costs
_new = tuple.__new__
#: a record with neither key, value nor headers: seven varints and attributes of one byte each
_SMALLEST_RECORD_BYTES = 7
_INT64_END = 1 << 63


# -- reading -----------------------------------------------------------------------------------------------


def read_records(
    buffer: Buffer,
    header: BatchHeader,
    position: int = 0,
    *,
    limit_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> Iterator[Record]:
    """Every record of the batch at ``position``, unpacked as it is asked for.

    Raises ``CorruptBatch`` or ``BadLength`` at the first thing that does not add up, which may be after some
    records. The checksum is the caller's to check.
    """
    body = _body(buffer, header, position, limit_bytes)
    for offset, timestamp_ms, start, key_end, value_start, value_end, end in _walk(body, header):
        key = None if key_end < 0 else body[start:key_end]
        value = None if value_end < 0 else body[value_start:value_end]
        headers_start = value_start if value_end < 0 else value_end
        headers = () if body[headers_start] == 0 else _read_headers(body, headers_start, end)
        if headers == () and headers_start + 1 != end:
            raise CorruptBatch(f"record at offset {offset} ends {end - headers_start - 1} bytes early")
        yield _new(Record, (key, value, headers, timestamp_ms, offset))


def scan_records(
    buffer: Buffer,
    header: BatchHeader,
    position: int = 0,
    *,
    limit_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> Iterator[ScannedRecord]:
    """Offset, timestamp and key of every record; values and headers are passed over, headers unchecked."""
    body = _body(buffer, header, position, limit_bytes)
    for offset, timestamp_ms, start, key_end, _, value_end, _ in _walk(body, header):
        yield ScannedRecord(
            offset, timestamp_ms, None if key_end < 0 else body[start:key_end], value_end >= 0
        )


def scan_times(records: Buffer, header: BatchHeader) -> Iterator[tuple[int, int, bool]]:
    """Offset, timestamp and whether there is a key, of what ``unpack_records`` gave. Nothing is copied."""
    for offset, timestamp_ms, _, key_end, _, _, _ in _walk(records, header):
        yield offset, timestamp_ms, key_end >= 0


def most_records(header: BatchHeader) -> int:
    """How many records the bytes of the batch can hold at most, whatever they are; no look inside."""
    packed_bytes = header.size_bytes - HEADER_BYTES
    return most_unpacked(header.compression, packed_bytes) // _SMALLEST_RECORD_BYTES


def unpack_records(
    buffer: Buffer, header: BatchHeader, position: int = 0, *, limit_bytes: int = MAX_DECOMPRESSED_BYTES
) -> Buffer:
    """The records of the batch in one piece: a view of the buffer unless they are compressed.

    Raises ``BadLength`` beyond the limit, ``CorruptBatch`` for what is not wholly there or does not unpack.
    """
    packed = memoryview(buffer)[position + HEADER_BYTES : position + header.size_bytes]
    if len(packed) != header.size_bytes - HEADER_BYTES:
        raise CorruptBatch(f"batch of {header.size_bytes} bytes is not wholly there")
    # A cleaner that keeps an emptied batch writes no body at all, not even the codec's idea of nothing.
    return decompress(header.compression, packed, limit_bytes) if packed else b""


def _body(buffer: Buffer, header: BatchHeader, position: int, limit_bytes: int) -> bytes:
    """As bytes, because slices of these are bytes, too."""
    return bytes(unpack_records(buffer, header, position, limit_bytes=limit_bytes))


def _walk(  # noqa: C901 - see above
    body: Buffer, header: BatchHeader
) -> Iterator[tuple[int, int, int, int, int, int, int]]:
    """Offset, timestamp, key start and end, value start and end, record end. An end of -1 means null.

    Short varints are read in place: a call for each would be half of what reading a record costs.
    """
    if header.record_count * _SMALLEST_RECORD_BYTES > len(body):
        raise CorruptBatch(f"{header.record_count} records in {len(body)} bytes")
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    append_time = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    p, size, previous = 0, len(body), -1
    try:
        for _ in range(header.record_count):
            byte = body[p]
            if byte < 0x80:
                length, p = (byte >> 1) ^ -(byte & 1), p + 1
            elif (after := body[p + 1]) < 0x80:
                length, p = ((byte & 0x7F | after << 7) >> 1) ^ -(byte & 1), p + 2
            else:
                length, p = _varint(body, p)
            end = p + length
            if length < 0 or end > size:
                raise CorruptBatch(f"record of {length} bytes with {size - p} left")
            p += 1  # the record's attributes, which mean nothing yet
            byte = body[p]
            delta_ms, p = ((byte >> 1) ^ -(byte & 1), p + 1) if byte < 0x80 else _varint(body, p)
            byte = body[p]
            delta, p = ((byte >> 1) ^ -(byte & 1), p + 1) if byte < 0x80 else _varint(body, p)
            if not previous < delta <= header.last_offset_delta:
                raise CorruptBatch(f"offset delta {delta} after {previous} of {header.last_offset_delta}")
            previous = delta
            byte = body[p]
            key_bytes, key_start = ((byte >> 1) ^ -(byte & 1), p + 1) if byte < 0x80 else _varint(body, p)
            key_end = key_start + key_bytes
            p = key_end if key_bytes >= 0 else key_start
            byte = body[p]
            if byte < 0x80:
                value_bytes, value_start = (byte >> 1) ^ -(byte & 1), p + 1
            elif (after := body[p + 1]) < 0x80:
                value_bytes, value_start = ((byte & 0x7F | after << 7) >> 1) ^ -(byte & 1), p + 2
            else:
                value_bytes, value_start = _varint(body, p)
            value_end = value_start + value_bytes
            if max(value_start, value_end) >= end or key_bytes < -1 or value_bytes < -1:
                raise CorruptBatch(f"key of {key_bytes} and value of {value_bytes} bytes in {length}")
            timestamp_ms = header.max_timestamp if append_time else base_timestamp + delta_ms
            if not -_INT64_END <= timestamp_ms < _INT64_END:
                raise CorruptBatch(f"timestamp {timestamp_ms} does not fit 64 bits")
            yield (
                base_offset + delta,
                timestamp_ms,
                key_start,
                key_end if key_bytes >= 0 else -1,
                value_start,
                value_end if value_bytes >= 0 else -1,
                end,
            )
            p = end
    except IndexError:
        raise CorruptBatch(f"records run past the {size} bytes of their batch") from None
    if p != size:
        raise CorruptBatch(f"{size - p} bytes behind the last of {header.record_count} records")


def _varint(body: Buffer, position: int) -> tuple[int, int]:
    """A zigzag varint and where it ends; ``IndexError`` past the end."""
    raw = body[position]
    if raw < 0x80:
        return (raw >> 1) ^ -(raw & 1), position + 1
    raw &= 0x7F
    shift = 7
    while True:
        position += 1
        byte = body[position]
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            if raw >= 1 << 64:
                raise CorruptBatch(f"varint {raw} does not fit 64 bits")
            return (raw >> 1) ^ -(raw & 1), position + 1
        shift += 7
        if shift > 63:
            raise CorruptBatch("varint is longer than ten bytes")


def _read_headers(body: bytes, position: int, end: int) -> tuple[RecordHeader, ...]:
    headers = []
    try:
        count, position = _varint(body, position)
        if not 0 <= count <= end - position:
            raise CorruptBatch(f"{count} headers in {end - position} bytes")
        for _ in range(count):
            key, position = _read_bytes(body, position, end)
            value, position = _read_bytes(body, position, end)
            if key is None:
                raise CorruptBatch("record header without a key")
            headers.append((key.decode("utf-8", "surrogateescape"), value))
    except IndexError:
        raise CorruptBatch("record headers run past their batch") from None
    if position != end:
        raise CorruptBatch(f"record ends {end - position} bytes behind its headers")
    return tuple(headers)


def _read_bytes(body: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    size, start = _varint(body, position)
    if size == -1:
        return None, start
    if not 0 <= size <= end - start:
        raise CorruptBatch(f"record header of {size} bytes with {end - start} left")
    return body[start : start + size], start + size


# -- writing -----------------------------------------------------------------------------------------------


def build_batch(
    records: Iterable[Record],
    *,
    base_offset: int = 0,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    leader_epoch: int = -1,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    log_append_time_ms: int | None = None,
    is_transactional: bool = False,
    is_control: bool = False,
) -> bytearray:
    """A batch of the records, numbered densely from ``base_offset`` whatever offsets they carry.

    With ``log_append_time_ms`` it is a batch of log append time, else of create time.
    """
    attributes = (TRANSACTIONAL_BIT if is_transactional else 0) | (CONTROL_BIT if is_control else 0)
    if log_append_time_ms is not None:
        attributes |= LOG_APPEND_TIME_BIT
    placed = list(records)
    if not placed:
        raise ValueError("a batch needs a record")
    header = BatchHeader(
        base_offset=base_offset,
        size_bytes=0,
        leader_epoch=leader_epoch,
        magic=CURRENT_MAGIC,
        crc=0,
        attributes=attributes,
        last_offset_delta=len(placed) - 1,
        base_timestamp=placed[0].timestamp_ms,
        max_timestamp=NO_TIMESTAMP if log_append_time_ms is None else log_append_time_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=0,
    )
    return _write_batch(header, placed, range(len(placed)), codec, level)


def rebuild_batch(
    header: BatchHeader,
    records: Sequence[Record],
    *,
    codec: Codec | None = None,
    level: int | None = None,
    delete_horizon_ms: int | None = None,
) -> bytearray:
    """The batch of ``header`` with only these of its records, as compaction leaves it.

    Offsets, producer, sequence and leader epoch stay, so a follower of the log sees gaps and nothing else.
    Without records the header alone remains: it still tells what its producer's last sequence was. A
    ``delete_horizon_ms`` takes the place of the base timestamp, as in Kafka (KIP-534).
    """
    kept = BatchHeader(*(getattr(header, name) for name in BatchHeader.__slots__))
    kept.attributes &= ~0x07
    if not records:
        kept.base_timestamp = NO_TIMESTAMP
        kept.attributes &= ~DELETE_HORIZON_BIT
        return _write_batch(kept, records, (), Codec.NONE, None)
    if delete_horizon_ms is not None:
        kept.base_timestamp = delete_horizon_ms
        kept.attributes |= DELETE_HORIZON_BIT
    if kept.timestamp_type is TimestampType.CREATE_TIME:
        kept.max_timestamp = NO_TIMESTAMP
    deltas = [record.offset - kept.base_offset for record in records]
    return _write_batch(kept, records, deltas, header.compression if codec is None else codec, level)


def recompress_batch(
    buffer: Buffer,
    header: BatchHeader,
    position: int,
    codec: Codec,
    *,
    level: int | None = None,
    limit_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> bytearray:
    """The same batch under another codec. The records are not decoded: packing them does not change them."""
    body = unpack_records(buffer, header, position, limit_bytes=limit_bytes)
    return repack_batch(body, header, codec, level=level)


def repack_batch(
    records: Buffer, header: BatchHeader, codec: Codec, *, level: int | None = None
) -> bytearray:
    """The batch of ``header`` under another codec, from what ``unpack_records`` gave; ``header`` is changed."""
    header.attributes = header.attributes & ~0x07 | codec
    return _seal_batch(header, compress(codec, records, level))


def _write_batch(
    header: BatchHeader,
    records: Sequence[Record],
    deltas: Sequence[int],
    codec: Codec,
    level: int | None,
) -> bytearray:
    """``deltas``: how far behind the base offset each record lies."""
    body = bytearray()
    base_timestamp, latest_ms = header.base_timestamp, header.max_timestamp
    for record, delta in zip(records, deltas, strict=True):
        timestamp_ms = record.timestamp_ms
        if timestamp_ms > latest_ms:
            latest_ms = timestamp_ms
        _write_record(body, record, timestamp_ms - base_timestamp, delta)
    if header.timestamp_type is TimestampType.CREATE_TIME:
        header.max_timestamp = latest_ms
    header.record_count = len(records)
    header.attributes |= codec
    return _seal_batch(header, body if codec is Codec.NONE else compress(codec, body, level))


def _seal_batch(header: BatchHeader, body: Buffer) -> bytearray:
    header.size_bytes = HEADER_BYTES + len(body)
    batch = bytearray(write_header(header))
    batch += body
    header.crc = seal(batch, 0, len(batch))
    return batch


def _write_record(out: bytearray, record: Record, delta_ms: int, delta: int) -> None:
    key, value, headers = record.key, record.value, record.headers
    content = b"".join(
        (
            b"\0",
            _ZIGZAG[delta_ms],
            _ZIGZAG[delta],
            _NULL if key is None else _ZIGZAG[len(key)] + key,
            _NULL if value is None else _ZIGZAG[len(value)] + value,
            _write_headers(headers) if headers else b"\0",
        )
    )
    out += _ZIGZAG[len(content)]
    out += content


def _write_headers(headers: Sequence[RecordHeader]) -> bytes:
    pieces = [_ZIGZAG[len(headers)]]
    for name, value in headers:
        key = name.encode("utf-8", "surrogateescape")
        pieces += (_ZIGZAG[len(key)], key)
        pieces.append(_NULL if value is None else _ZIGZAG[len(value)] + value)
    return b"".join(pieces)


def _encode_zigzag(value: int) -> bytes:
    raw = value << 1 if value >= 0 else (-value << 1) - 1
    out = bytearray()
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)


class _Zigzags(dict[int, bytes]):
    """The varint of any number. Lengths and deltas are nearly always small: these are there, others are made."""

    def __missing__(self, value: int) -> bytes:
        return _encode_zigzag(value)


_ZIGZAG = _Zigzags((value, _encode_zigzag(value)) for value in range(8192))
_NULL = _ZIGZAG[-1]
