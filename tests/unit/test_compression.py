"""Codecs as Kafka's clients frame them, and what hostile input gets."""

from __future__ import annotations

import cramjam
import pytest

from leaselog.wire.compression import Codec, compress, decompress
from leaselog.wire.errors import BadLength, CorruptBatch, DecodeError

TEXT = b"the same few words, the same few words, " * 5000
PACKED = [codec for codec in Codec if codec is not Codec.NONE]


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize(
    "data", [b"", b"x", TEXT, bytes(range(256)) * 300], ids=["empty", "one", "text", "bytes"]
)
def test_what_a_codec_writes_it_reads(codec: Codec, data: bytes) -> None:
    assert bytes(decompress(codec, memoryview(compress(codec, memoryview(data))))) == data


@pytest.mark.parametrize(
    ("codec", "level"),
    [(Codec.GZIP, 1), (Codec.GZIP, 9), (Codec.LZ4, 1), (Codec.LZ4, 17), (Codec.ZSTD, -5), (Codec.ZSTD, 19)],
)
def test_every_level_gives_the_same_data_back(codec: Codec, level: int) -> None:
    assert bytes(decompress(codec, compress(codec, TEXT, level))) == TEXT


def test_a_thorough_lz4_level_packs_tighter_than_the_default() -> None:
    data = b"".join(b"record %x, %x;" % (n * n * 7919, n * 31) for n in range(20_000))
    assert len(compress(Codec.LZ4, data, 12)) < len(compress(Codec.LZ4, data))


@pytest.mark.parametrize("codec", PACKED)
def test_data_as_large_as_the_limit_is_let_through_and_a_byte_more_is_not(codec: Codec) -> None:
    packed = compress(codec, bytes(1_000_000))
    assert len(decompress(codec, packed, 1_000_000)) == 1_000_000
    with pytest.raises(BadLength):
        decompress(codec, packed, 999_999)


@pytest.mark.parametrize("codec", PACKED)
def test_a_cut_or_foreign_stream_is_a_corrupt_batch(codec: Codec) -> None:
    packed = compress(codec, TEXT)
    for damaged in (packed[:-5], packed[: len(packed) // 2], b"not compressed at all", b"\xff" * 40):
        with pytest.raises(DecodeError):
            decompress(codec, damaged)


def test_java_reads_our_lz4_because_its_blocks_are_independent_and_its_header_hash_right() -> None:
    frame = compress(Codec.LZ4, TEXT)
    assert frame[:4] == b"\x04\x22\x4d\x18"
    assert frame[4] & 0b0010_0000
    assert frame.endswith(bytes(4))
    assert bytes(cramjam.lz4.decompress(frame)) == TEXT  # the reference library checks the hash


def test_lz4_frames_with_linked_blocks_and_checksums_are_read() -> None:
    assert bytes(decompress(Codec.LZ4, bytes(cramjam.lz4.compress(TEXT)))) == TEXT


def test_incompressible_lz4_blocks_are_stored() -> None:
    noise = bytes(cramjam.zstd.compress(b"".join(n.to_bytes(4, "big") for n in range(50_000)), 19))[:70_000]
    packed = compress(Codec.LZ4, noise)
    assert len(packed) < len(noise) + 64
    assert bytes(decompress(Codec.LZ4, packed)) == noise


def test_snappy_is_written_as_java_frames_it() -> None:
    packed = compress(Codec.SNAPPY, bytes(70_000))
    assert packed[:16] == b"\x82SNAPPY\x00" + b"\x00\x00\x00\x01" * 2
    first = int.from_bytes(packed[16:20], "big")
    assert cramjam.snappy.decompress_raw_len(packed[20 : 20 + first]) == 32 * 1024


def test_snappy_is_read_raw_as_librdkafka_writes_it() -> None:
    assert bytes(decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT)))) == TEXT


def test_a_snappy_block_that_claims_gigabytes_is_refused_before_anything_is_allocated() -> None:
    with pytest.raises(BadLength):
        decompress(Codec.SNAPPY, b"\xff\xff\xff\xff\x0f" + b"x" * 20)


@pytest.mark.parametrize("block", [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x00\x00"])
def test_a_xerial_block_longer_than_its_stream_is_a_corrupt_batch(block: bytes) -> None:
    with pytest.raises(CorruptBatch):
        decompress(Codec.SNAPPY, b"\x82SNAPPY\x00" + b"\x00\x00\x00\x01" * 2 + block)


def test_concatenated_gzip_members_are_one_stream_and_share_the_limit() -> None:
    two = compress(Codec.GZIP, b"a" * 1000) * 2
    assert decompress(Codec.GZIP, two) == b"a" * 2000
    with pytest.raises(BadLength):
        decompress(Codec.GZIP, two, 1999)
