"""Varints and the few other encodings that are not a fixed-size number."""

from __future__ import annotations

from typing import TypeAlias

from leaselog.wire.errors import BadLength, BadValue, Truncated

__all__ = [
    "LONGEST_TEXT_BYTES",
    "MAX_TAGGED_FIELDS",
    "UVARINTS",
    "Buffer",
    "cut_text",
    "encode_text_length",
    "encode_uvarint",
    "read_long_uvarint",
    "read_uvarint",
]

Buffer: TypeAlias = bytes | bytearray | memoryview

#: Kafka's classes neither write nor read a longer one
LONGEST_TEXT_BYTES = 32_767
#: of one struct. Nobody has defined more than ten for any; each that is not known costs the time to skip it.
MAX_TAGGED_FIELDS = 1_000
#: one-byte varints, ready made: most lengths on the wire are below 128
UVARINTS = tuple(bytes((n,)) for n in range(128))


def encode_uvarint(value: int) -> bytes:
    if 0 <= value < 128:
        return UVARINTS[value]
    if value < 0:
        raise BadValue(f"varint {value} is negative")
    out = bytearray()
    while value > 127:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def cut_text(text: str) -> bytes:
    """As much of it as a text may have."""
    data = text.encode()
    if len(data) <= LONGEST_TEXT_BYTES:
        return data
    return data[:LONGEST_TEXT_BYTES].decode(errors="ignore").encode()


def encode_text_length(value: int) -> bytes:
    """One more than the text's length, which is in bytes."""
    if value > LONGEST_TEXT_BYTES + 1:
        raise BadLength(f"{value - 1} bytes of text, {LONGEST_TEXT_BYTES} at most")
    return encode_uvarint(value)


def read_long_uvarint(buffer: Buffer, position: int, first: int) -> tuple[int, int]:
    """The rest of a varint whose first byte, already read, says that more follows; value and next position."""
    value, shift = first & 0x7F, 7
    while True:
        if position >= len(buffer):
            raise Truncated(f"varint runs past the end at byte {position}")
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 128:
            if value > 0xFFFFFFFF:
                raise BadLength(f"varint {value} does not fit 32 bits")
            return value, position
        shift += 7
        if shift > 28:
            raise BadLength("varint is longer than five bytes")


def read_uvarint(buffer: Buffer, position: int) -> tuple[int, int]:
    if position >= len(buffer):
        raise Truncated(f"varint runs past the end at byte {position}")
    first = buffer[position]
    if first < 128:
        return first, position + 1
    return read_long_uvarint(buffer, position + 1, first)
