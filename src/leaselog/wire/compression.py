"""The codecs of a batch's records: bytes in, bytes out, in the framings Kafka's clients write and read.

Decompression is bounded, because a few kilobytes on the wire may claim to be gigabytes. Whatever a codec
finds wrong with its input leaves here as ``CorruptBatch``.
"""

from __future__ import annotations

import zlib
from enum import IntEnum
from mmap import mmap
from struct import Struct

import cramjam

from leaselog.model import BrokenInvariant
from leaselog.wire.errors import BadLength, CorruptBatch
from leaselog.wire.primitives import Buffer

__all__ = ["DEFAULT_LEVELS", "MAX_DECOMPRESSED_BYTES", "Codec", "compress", "decompress", "most_unpacked"]


class Codec(IntEnum):
    """A batch's compression, by the number its attributes carry."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


#: What one batch may unpack to. A producer's batches are bounded before compression (``batch.size``, one record
#: at least) and the largest common ``max.message.bytes`` are some ten megabytes, so this leaves honest batches
#: room and keeps what a hostile one can allocate to a known amount. A caller that knows better passes its own.
MAX_DECOMPRESSED_BYTES = 64 * 1024 * 1024

#: `compression.<codec>.level`, Kafka's defaults. Snappy has no levels.
DEFAULT_LEVELS = {Codec.GZIP: -1, Codec.LZ4: 9, Codec.ZSTD: 3}

#: how many bytes one byte can become: deflate's longest match for its shortest code, snappy's 64 bytes for 3, LZ4's
#: lengths of 255 a byte, zstd's block of 128 KiB for 4
_MOST_GROWTH = {Codec.NONE: 1, Codec.GZIP: 1032, Codec.SNAPPY: 22, Codec.LZ4: 256, Codec.ZSTD: 32 * 1024}

_INT = Struct(">i")
_UINT_LE = Struct("<I")

# xerial's stream, which Java's snappy writes and every Kafka client reads.
_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_VERSIONS = _INT.pack(1) + _INT.pack(1)
_XERIAL_HEADER_BYTES = 16
_XERIAL_BLOCK_BYTES = 32 * 1024

# An LZ4 frame of independent 64 KiB blocks without checksums, the last byte being the hash of the two before it.
# cramjam's own frames link their blocks, which the Java client refuses to read.
_LZ4_FRAME_HEAD = b"\x04\x22\x4d\x18\x60\x40\x82"
_LZ4_BLOCK_BYTES = 64 * 1024
_LZ4_STORED = 1 << 31
_LZ4_END = bytes(4)
#: behind the one block of a frame of cramjam's: the block's checksum, the end mark, the content's checksum
_LZ4_FRAME_TAIL_BYTES = 12

#: of the second member of a gzip stream, and of those behind it
_GZIP_PIECE_BYTES = 4 * 1024

_FIRST_ROOM_BYTES = 16 * 1024
_FIRST_ROOM_RATIO = 4
#: more than this comes from the kernel, a page at a time as it is needed
_CLEARED_BYTES = 256 * 1024
#: how cramjam says that the output did not fit, which it reports like any broken stream
_OUT_OF_ROOM = "whole buffer"


def compress(codec: Codec, data: Buffer, level: int | None = None) -> bytes:
    """The data as ``codec`` writes it. ``level`` is the codec's `compression.*.level`, None its default."""
    match codec:
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            gzip = zlib.compressobj(DEFAULT_LEVELS[Codec.GZIP] if level is None else level, zlib.DEFLATED, 31)
            return gzip.compress(data) + gzip.flush()
        case Codec.SNAPPY:
            return _compress_xerial(memoryview(data))
        case Codec.LZ4:
            return _compress_lz4(memoryview(data), DEFAULT_LEVELS[Codec.LZ4] if level is None else level)
        case Codec.ZSTD:
            return bytes(cramjam.zstd.compress(data, DEFAULT_LEVELS[Codec.ZSTD] if level is None else level))


def most_unpacked(codec: Codec, packed_bytes: int) -> int:
    """What so many bytes can unpack to at most, whatever they are; none of them has to be looked at."""
    if codec is Codec.NONE:
        return packed_bytes
    return min(_MOST_GROWTH[codec] * packed_bytes, MAX_DECOMPRESSED_BYTES)


def decompress(codec: Codec, data: Buffer, limit_bytes: int = MAX_DECOMPRESSED_BYTES) -> Buffer:
    """What ``data`` unpacks to. ``BadLength`` beyond the limit, ``CorruptBatch`` for bytes the codec rejects."""
    try:
        match codec:
            case Codec.NONE:
                return data
            case Codec.GZIP:
                return _decompress_gzip(data, limit_bytes)
            case Codec.SNAPPY:
                return _decompress_snappy(memoryview(data), limit_bytes)
            case Codec.LZ4:
                return _decompress_frames(cramjam.lz4, data, limit_bytes)
            case Codec.ZSTD:
                return _decompress_frames(cramjam.zstd, data, limit_bytes)
    except (cramjam.DecompressionError, zlib.error) as bad:
        raise CorruptBatch(f"{codec.name.lower()}: {bad}") from None


def _too_large(limit_bytes: int) -> BadLength:
    return BadLength(f"records unpack to more than {limit_bytes} bytes")


def _decompress_gzip(data: Buffer, limit_bytes: int) -> bytes:
    """All members of the stream: gzip files may be concatenated, and Java's reader goes on too."""
    packed, pieces = memoryview(data), list[bytes]()
    room, position = limit_bytes, 0
    while position < len(packed):
        member = zlib.decompressobj(31)
        # zlib copies what lies behind a member. There is nearly always one; of a million, each would copy the rest.
        step = _GZIP_PIECE_BYTES if pieces else len(packed)
        while not member.eof:
            if position == len(packed):
                raise CorruptBatch("gzip: stream ends too early")
            given = packed[position : position + step]
            # The one byte too many tells a stream that fills the limit from one that exceeds it.
            pieces.append(member.decompress(given, room + 1))
            room -= len(pieces[-1])
            if room < 0:
                raise _too_large(limit_bytes)
            position += len(given) - len(member.unused_data)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _decompress_frames(codec: object, data: Buffer, limit_bytes: int) -> memoryview:
    """LZ4 and zstd need not say how large they get: guess, and try again with all the room there may be.

    Room for the limit at once was measured at 36 ms for any batch, however small, because Python clears what it
    allocates. The kernel clears a page when it is first written to, and only then is it there.
    """
    room = _FIRST_ROOM_BYTES + _FIRST_ROOM_RATIO * len(data)
    while True:
        # One byte more than may be used, so that a batch exactly as large as the limit still succeeds.
        wanted = min(room, limit_bytes) + 1
        unpacked = bytearray(wanted) if wanted <= _CLEARED_BYTES else mmap(-1, wanted)
        try:
            size: int = codec.decompress_into(data, unpacked)  # type: ignore[attr-defined]
        except cramjam.DecompressionError as bad:
            if _OUT_OF_ROOM not in str(bad):
                raise
            size = len(unpacked)
        if size <= min(room, limit_bytes):
            return memoryview(unpacked)[:size]
        if room >= limit_bytes:
            raise _too_large(limit_bytes)
        room = limit_bytes


def _compress_xerial(data: memoryview) -> bytes:
    pieces = [_XERIAL_MAGIC, _XERIAL_VERSIONS]
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK_BYTES]))
        pieces += (_INT.pack(len(block)), block)
    return b"".join(pieces)


def _decompress_snappy(data: memoryview, limit_bytes: int) -> bytes:
    """xerial's blocks, or one raw block, as librdkafka writes it. Java takes both."""
    if bytes(data[: len(_XERIAL_MAGIC)]) != _XERIAL_MAGIC:
        return _decompress_snappy_block(data, limit_bytes)
    pieces, room, position = [], limit_bytes, _XERIAL_HEADER_BYTES
    if len(data) < position:
        raise CorruptBatch("snappy: stream header ends too early")
    while position < len(data):
        start = position + 4
        size = _INT.unpack_from(data, position)[0] if start <= len(data) else -1
        if not 0 <= size <= len(data) - start:
            raise CorruptBatch(f"snappy: block of {size} bytes at {position} of {len(data)}")
        position = start + size
        piece = _decompress_snappy_block(data[start:position], room)
        pieces.append(piece)
        room -= len(piece)
    return b"".join(pieces)


def _decompress_snappy_block(block: memoryview, room: int) -> bytes:
    # The block says its length up front, so a lie is caught before anything is allocated for it.
    if cramjam.snappy.decompress_raw_len(block) > room:
        raise BadLength(f"records unpack to more than the {room} bytes left of the limit")
    return bytes(cramjam.snappy.decompress_raw(block))


def _compress_lz4(data: memoryview, level: int) -> bytes:
    pieces = [_LZ4_FRAME_HEAD]
    for start in range(0, len(data), _LZ4_BLOCK_BYTES):
        block = data[start : start + _LZ4_BLOCK_BYTES]
        packed = _compress_lz4_block(block, level)
        if len(packed) < len(block):
            pieces += (_UINT_LE.pack(len(packed)), packed)
        else:
            pieces += (_UINT_LE.pack(len(block) | _LZ4_STORED), bytes(block))
    pieces.append(_LZ4_END)
    return b"".join(pieces)


def _compress_lz4_block(block: memoryview, level: int) -> bytes:
    # The default level means the fast compressor and every other the thorough one, as in Java's client,
    # whose levels came later than its default.
    if level == DEFAULT_LEVELS[Codec.LZ4]:
        return bytes(cramjam.lz4.compress_block(block, store_size=False))
    # cramjam's block compressor takes a level and ignores it, its frames do not: a frame of one block, opened.
    frame = bytes(cramjam.lz4.compress(block, level))
    start = len(_LZ4_FRAME_HEAD) + _UINT_LE.size
    size = _UINT_LE.unpack_from(frame, len(_LZ4_FRAME_HEAD))[0] & ~_LZ4_STORED
    if start + size + _LZ4_FRAME_TAIL_BYTES != len(frame):
        raise BrokenInvariant(
            f"an LZ4 frame of {len(frame)} bytes with a first block of {size}, expected one"
        )
    return frame[start : start + size]
