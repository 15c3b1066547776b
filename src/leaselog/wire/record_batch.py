"""The 61 byte header of a record batch (magic 2), read and patched where it lies.

The hot path knows a batch only through this file: one struct, no look inside. What the batch holds is
``records.py``'s business. Base offset and leader epoch lie before the checksummed part, which is why a
broker may stamp them without touching the checksum; everything from the attributes on is under it.

    base_offset:8 length:4 leader_epoch:4 magic:1 crc:4 | attributes:2 last_offset_delta:4
    base_timestamp:8 max_timestamp:8 producer_id:8 producer_epoch:2 base_sequence:4 record_count:4
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from struct import Struct
from struct import error as StructError  # noqa: N812 - struct spells it like a module

from crc32c import crc32c

from leaselog.wire.compression import Codec
from leaselog.wire.errors import BadLength, BadValue, CorruptBatch, OldFormat, Truncated
from leaselog.wire.primitives import Buffer

__all__ = [
    "CURRENT_MAGIC",
    "HEADER_BYTES",
    "MAX_SEQUENCE",
    "NO_PRODUCER_EPOCH",
    "NO_PRODUCER_ID",
    "NO_SEQUENCE",
    "NO_TIMESTAMP",
    "PREFIX_BYTES",
    "BatchHeader",
    "TimestampType",
    "check_crc",
    "iterate_headers",
    "parse_header",
    "read_header",
    "rewrite_header",
    "span_of",
    "stamp",
    "stamp_append_time",
    "whole_batches",
]

CURRENT_MAGIC = 2
#: base offset and length, which the length itself does not count
PREFIX_BYTES = 12
HEADER_BYTES = 61
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_TIMESTAMP = -1
MAX_SEQUENCE = 2**31 - 1

#: nothing lies behind it
_LAST_OFFSET = 2**63 - 2
_MAGIC_AT = 16
_CRC_AT = 17
#: where the checksummed part begins
CRC_START = 21
_LAST_CODEC = max(Codec)

_HEADER = Struct(">qiibIhiqqqhii")
_LENGTH = Struct(">i")
_OFFSET = Struct(">q")
_EPOCH = Struct(">i")
_CRC = Struct(">I")
_ATTRIBUTES = Struct(">h")
_EPOCH_AT = 12
_MAX_TIMESTAMP_AT = 35

_CODEC_MASK = 0x07
LOG_APPEND_TIME_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40


class TimestampType(IntEnum):
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


@dataclass(slots=True)
class BatchHeader:
    """What a batch says of itself. Not frozen: made by the million, and freezing triples the cost."""

    base_offset: int
    #: the whole batch, the 12 byte prefix included
    size_bytes: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    #: the delete horizon instead, when ``has_delete_horizon``
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    #: at most last_offset_delta + 1; fewer after compaction
    record_count: int

    @property
    def end_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def compression(self) -> Codec:
        return Codec(self.attributes & _CODEC_MASK)

    @property
    def has_known_codec(self) -> bool:
        return self.attributes & _CODEC_MASK <= _LAST_CODEC

    @property
    def timestamp_type(self) -> TimestampType:
        return (
            TimestampType.LOG_APPEND_TIME
            if self.attributes & LOG_APPEND_TIME_BIT
            else TimestampType.CREATE_TIME
        )

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_BIT)

    @property
    def has_delete_horizon(self) -> bool:
        """Whether a cleaner has written into base_timestamp when tombstones here may go (KIP-534)."""
        return bool(self.attributes & DELETE_HORIZON_BIT)

    @property
    def has_producer(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def last_sequence(self) -> int:
        """The sequence of the last offset, wrapped to 0 after 2^31-1; ``NO_SEQUENCE`` without a base one."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & MAX_SEQUENCE


def parse_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header at ``position`` as it stands, its counts and codec unjudged. The body need not be there.

    Raises ``Truncated`` short of 61 bytes, ``OldFormat`` for magic 0 and 1, ``BadLength`` or ``BadValue`` for a
    length or magic no batch can have. Log and clients want ``read_header``; this is for who words its own
    refusals.
    """
    try:
        fields = _HEADER.unpack_from(buffer, position)
    except StructError:
        raise _short_header(buffer, position) from None
    length, magic = fields[1], fields[3]
    if magic != CURRENT_MAGIC:
        raise _wrong_magic(magic)
    if length < HEADER_BYTES - PREFIX_BYTES:
        raise BadLength(f"batch length {length}, smaller than its header")
    return BatchHeader(fields[0], length + PREFIX_BYTES, *fields[2:])


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """``parse_header``, and ``CorruptBatch`` or ``BadValue`` for counts, offsets and codecs no log can hold."""
    header = parse_header(buffer, position)
    delta = header.last_offset_delta
    if not (
        0 <= header.record_count <= delta + 1 and delta >= 0 <= header.base_offset <= _LAST_OFFSET - delta
    ):
        span = f"offset {header.base_offset} and delta {header.last_offset_delta}"
        raise CorruptBatch(f"batch of {header.record_count} records at {span}")
    if not header.has_known_codec:
        raise BadValue(f"compression codec {header.attributes & _CODEC_MASK}, expected at most {_LAST_CODEC}")
    return header


def iterate_headers(buffer: Buffer) -> Iterator[tuple[int, BatchHeader]]:
    """Each batch's position and header, in order. Raises where a batch is malformed or not wholly there."""
    position, size = 0, len(buffer)
    while position < size:
        header = read_header(buffer, position)
        if header.size_bytes > size - position:
            raise Truncated(f"batch of {header.size_bytes} bytes at {position}, only {size - position} there")
        yield position, header
        position += header.size_bytes


def whole_batches(buffer: Buffer) -> Iterator[tuple[int, BatchHeader]]:
    """Batches that are wholly there: a broker may cut the last one at the size it was asked for."""
    position = 0
    while len(buffer) - position > PREFIX_BYTES:
        size_bytes = int.from_bytes(buffer[position + 8 : position + PREFIX_BYTES], "big") + PREFIX_BYTES
        if size_bytes > len(buffer) - position:
            return
        yield position, read_header(buffer, position)
        position += size_bytes


def span_of(batches: Buffer) -> tuple[int, int]:
    """The first offset of whole batches, and one past their last. Raises as ``read_header``, and without any."""
    position, last = 0, 0
    while position < len(batches):
        last = position
        position += int.from_bytes(batches[position + 8 : position + PREFIX_BYTES], "big") + PREFIX_BYTES
    return read_header(batches).base_offset, read_header(batches, last).end_offset


def check_crc(buffer: Buffer, header: BatchHeader, position: int = 0) -> None:
    """Raises ``CorruptBatch`` unless the checksum of the batch at ``position`` holds. One pass over the bytes."""
    end = position + header.size_bytes
    if end > len(buffer):
        raise Truncated(
            f"batch of {header.size_bytes} bytes at {position}, only {len(buffer) - position} there"
        )
    found = crc32c(memoryview(buffer)[position + CRC_START : end])
    if found != header.crc:
        raise CorruptBatch(f"batch checksum {header.crc:#010x}, its bytes give {found:#010x}")


def stamp(buffer: bytearray | memoryview, position: int, base_offset: int, leader_epoch: int) -> None:
    """Give the batch its place in the log, in the buffer itself. Neither field is under the checksum."""
    _OFFSET.pack_into(buffer, position, base_offset)
    _EPOCH.pack_into(buffer, position + _EPOCH_AT, leader_epoch)


def stamp_append_time(
    buffer: bytearray | memoryview, position: int, header: BatchHeader, now_ms: int
) -> None:
    """Turn the batch into one of log append time, in the buffer and in ``header``; the checksum is made anew.

    The records keep the timestamps their producer wrote: readers of such a batch use max_timestamp alone.
    """
    header.attributes |= LOG_APPEND_TIME_BIT
    header.max_timestamp = now_ms
    _ATTRIBUTES.pack_into(buffer, position + CRC_START, header.attributes)
    _OFFSET.pack_into(buffer, position + _MAX_TIMESTAMP_AT, now_ms)
    header.crc = seal(buffer, position, header.size_bytes)


def rewrite_header(buffer: bytearray | memoryview, position: int, header: BatchHeader) -> None:
    """Put ``header``, changed by the caller, in its batch's place; the checksum is made anew, there too."""
    buffer[position : position + HEADER_BYTES] = write_header(header)
    header.crc = seal(buffer, position, header.size_bytes)


def seal(buffer: bytearray | memoryview, position: int, size_bytes: int) -> int:
    """Write the checksum of the batch at ``position``, and say what it is."""
    crc = crc32c(memoryview(buffer)[position + CRC_START : position + size_bytes])
    _CRC.pack_into(buffer, position + _CRC_AT, crc)
    return crc


def write_header(header: BatchHeader) -> bytes:
    """The header's 61 bytes as they stand, checksum included."""
    return _HEADER.pack(
        header.base_offset,
        header.size_bytes - PREFIX_BYTES,
        header.leader_epoch,
        header.magic,
        header.crc,
        header.attributes,
        header.last_offset_delta,
        header.base_timestamp,
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.record_count,
    )


def _wrong_magic(magic: int) -> OldFormat | BadValue:
    if magic in (0, 1):
        return OldFormat(f"message format {magic}, only {CURRENT_MAGIC} is supported")
    return BadValue(f"batch magic {magic}, expected {CURRENT_MAGIC}")


def _short_header(buffer: Buffer, position: int) -> OldFormat | BadValue | BadLength | Truncated:
    """Why there is no header: a message of magic 0 or 1 may well be shorter than 61 bytes."""
    left = len(buffer) - position
    if left > _MAGIC_AT:
        magic = buffer[position + _MAGIC_AT]
        if magic != CURRENT_MAGIC:
            return _wrong_magic(magic)
        length = _LENGTH.unpack_from(buffer, position + 8)[0]
        if length < HEADER_BYTES - PREFIX_BYTES:
            return BadLength(f"batch length {length}, smaller than its header")
    return Truncated(f"{left} bytes where a batch header of {HEADER_BYTES} should be")
