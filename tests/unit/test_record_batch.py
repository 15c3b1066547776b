"""The batch header in its bytes, the records inside, and everything a batch can get wrong."""

from __future__ import annotations

import struct

import pytest

from leaselog.wire.compression import Codec, compress
from leaselog.wire.errors import BadLength, BadValue, CorruptBatch, DecodeError, OldFormat, Truncated
from leaselog.wire.record_batch import (
    HEADER_BYTES,
    MAX_SEQUENCE,
    BatchHeader,
    TimestampType,
    check_crc,
    iterate_headers,
    parse_header,
    read_header,
    rewrite_header,
    stamp,
    stamp_append_time,
)
from leaselog.wire.records import (
    Record,
    ScannedRecord,
    build_batch,
    read_records,
    rebuild_batch,
    recompress_batch,
    scan_records,
)

NOW = 1_700_000_000_000
RECORDS = [
    Record(b"k", b"v", (("h", b"x"), ("none", None)), NOW),
    Record(None, b"v" * 300, (), NOW + 5),
    Record(b"gone", None, (), NOW - 7),
]
# A batch of one record (key k, value v, header h=x, timestamp 5) with LZ4, as aiokafka writes it.
FROM_AIOKAFKA = bytes.fromhex(
    "000000000000000000000051ffffffff023c2716d000030000000000000000000000050000000000000005ffffffffffffffffffffff"
    "ffffff0000000104224d187040ad0d00008018000000026b02760202680278f889a3f100000000"
)


def placed(records: list[Record], base_offset: int) -> list[Record]:
    return [record._replace(offset=base_offset + i) for i, record in enumerate(records)]


def sealed(batch: bytearray, body: bytes | None = None, **changes: int) -> bytearray:
    """The batch with header fields of one's choice and a checksum that holds."""
    header = parse_header(batch)
    for name, value in changes.items():
        setattr(header, name, value)
    body = bytes(batch[HEADER_BYTES:]) if body is None else body
    header.size_bytes = HEADER_BYTES + len(body)
    out = bytearray(HEADER_BYTES) + body
    rewrite_header(out, 0, header)
    return out


def zigzag(value: int) -> bytes:
    raw = (value << 1) ^ (value >> 63)
    out = bytearray()
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    return bytes((*out, raw))


def record_of(*parts: int | bytes) -> bytes:
    content = b"\0" + b"".join(zigzag(p) if isinstance(p, int) else p for p in parts)
    return zigzag(len(content)) + content


# -- the header ----------------------------------------------------------------------------------------------


def test_a_header_says_what_the_batch_was_built_with() -> None:
    batch = build_batch(
        RECORDS,
        base_offset=40,
        leader_epoch=3,
        producer_id=9,
        producer_epoch=2,
        base_sequence=7,
        codec=Codec.ZSTD,
    )
    header = read_header(batch)
    assert (header.base_offset, header.end_offset, header.size_bytes) == (40, 43, len(batch))
    assert (header.leader_epoch, header.magic, header.record_count) == (3, 2, 3)
    assert (header.base_timestamp, header.max_timestamp) == (NOW, NOW + 5)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 2, 7)
    assert (header.last_sequence, header.has_producer) == (9, True)
    assert (header.compression, header.timestamp_type) == (Codec.ZSTD, TimestampType.CREATE_TIME)
    assert not header.is_control
    assert not header.is_transactional
    assert not header.has_delete_horizon


def test_the_last_sequence_wraps_to_zero() -> None:
    batch = build_batch(RECORDS, producer_id=9, producer_epoch=0, base_sequence=MAX_SEQUENCE - 1)
    assert read_header(batch).last_sequence == 0


def test_batches_follow_each_other() -> None:
    first, second = build_batch(RECORDS), build_batch(RECORDS[:1], base_offset=3)
    found = list(iterate_headers(memoryview(first + second)))
    assert [(position, header.base_offset) for position, header in found] == [(0, 0), (len(first), 3)]


def test_a_cut_batch_is_truncated_wherever_it_is_cut() -> None:
    batch = build_batch(RECORDS)
    for size in range(1, len(batch)):
        with pytest.raises(Truncated):
            list(iterate_headers(batch[:size]))


def test_stamping_moves_the_batch_and_keeps_its_checksum() -> None:
    buffer = build_batch(RECORDS) + build_batch(RECORDS)
    position = len(buffer) // 2
    stamp(memoryview(buffer), position, 1000, 8)
    header = read_header(buffer, position)
    assert (header.base_offset, header.leader_epoch) == (1000, 8)
    check_crc(buffer, header, position)
    assert read_header(buffer).base_offset == 0


def test_append_time_replaces_every_timestamp_and_makes_the_checksum_anew() -> None:
    batch = build_batch(RECORDS)
    stamp_append_time(batch, 0, read_header(batch), NOW + 99)
    header = read_header(batch)
    check_crc(batch, header)
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert {record.timestamp_ms for record in read_records(batch, header)} == {NOW + 99}


def test_the_checksum_covers_everything_from_the_attributes_on() -> None:
    batch = build_batch(RECORDS)
    header = read_header(batch)
    for position in range(21, len(batch)):
        batch[position] ^= 0x10
        with pytest.raises(CorruptBatch):
            check_crc(batch, header)
        batch[position] ^= 0x10
    check_crc(batch, header)


def test_the_checksum_of_a_batch_that_is_not_all_there_is_not_taken() -> None:
    batch = build_batch(RECORDS)
    with pytest.raises(Truncated):
        check_crc(batch[:-1], read_header(batch))


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("size", [26, 200])
def test_message_sets_of_old_are_named(magic: int, size: int) -> None:
    message = bytearray(size)
    struct.pack_into(">i", message, 8, size - 12)
    message[16] = magic
    with pytest.raises(OldFormat, match=str(magic)):
        read_header(message)


@pytest.mark.parametrize(("magic", "size"), [(3, 100), (0xFF, 100), (7, 30)])
def test_a_magic_from_nowhere_is_a_bad_value(magic: int, size: int) -> None:
    message = bytearray(size)
    message[16] = magic
    with pytest.raises(BadValue):
        read_header(message)


@pytest.mark.parametrize("length", [-5, 0, 20, 48])
def test_a_length_too_small_for_a_header_is_a_bad_length(length: int) -> None:
    batch = build_batch(RECORDS)
    struct.pack_into(">i", batch, 8, length)
    with pytest.raises(BadLength):
        read_header(batch)
    with pytest.raises(BadLength):
        read_header(batch[:30])


@pytest.mark.parametrize(
    "changes",
    [
        {"record_count": 4},
        {"record_count": -1},
        {"last_offset_delta": -1},
        {"last_offset_delta": -1, "record_count": 0},
        {"base_offset": -1},
        {"base_offset": 2**63 - 1},
        {"attributes": 5},
    ],
)
def test_counts_offsets_and_codecs_that_no_log_holds_are_refused(changes: dict[str, int]) -> None:
    with pytest.raises(DecodeError):
        read_header(sealed(build_batch(RECORDS), **changes))


# -- the records ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", Codec)
def test_records_come_back_as_they_were(codec: Codec) -> None:
    batch = build_batch(RECORDS, base_offset=12, codec=codec)
    header = read_header(batch)
    check_crc(batch, header)
    assert list(read_records(batch, header)) == placed(RECORDS, 12)


def test_a_scan_tells_offset_timestamp_key_and_tombstone() -> None:
    batch = build_batch(RECORDS, base_offset=12)
    assert list(scan_records(batch, read_header(batch))) == [
        ScannedRecord(12, NOW, b"k", True),
        ScannedRecord(13, NOW + 5, None, True),
        ScannedRecord(14, NOW - 7, b"gone", False),
    ]


def test_what_another_client_wrote_is_read() -> None:
    header = read_header(FROM_AIOKAFKA)
    check_crc(FROM_AIOKAFKA, header)
    assert list(read_records(FROM_AIOKAFKA, header)) == [Record(b"k", b"v", (("h", b"x"),), 5, 0)]


def test_a_header_key_that_is_not_utf8_survives_being_read_and_written() -> None:
    body = record_of(0, 0, -1, -1, 1, 2, b"\xff\xfe", -1)
    batch = sealed(build_batch([Record(None, None)]), body)
    header = read_header(batch)
    assert rebuild_batch(header, list(read_records(batch, header))) == batch


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="no record"),
        pytest.param(zigzag(500) + bytes(20), id="record longer than the batch"),
        pytest.param(zigzag(-1) + bytes(20), id="negative record length"),
        pytest.param(b"\xff" * 12, id="endless varint"),
        pytest.param(b"\xff" * 9 + b"\x7f" + bytes(20), id="varint over 64 bits"),
        pytest.param(record_of(0, 1, -1, -1, 0), id="offset delta beyond the last"),
        pytest.param(record_of(0, -1, -1, -1, 0), id="negative offset delta"),
        pytest.param(record_of(0, 0, 900, b"k", -1, 0), id="key longer than the record"),
        pytest.param(record_of(0, 0, -2, -1, 0), id="key length -2"),
        pytest.param(record_of(0, 0, -1, 900, b"v", 0), id="value longer than the record"),
        pytest.param(record_of(0, 0, -1, -7, 0), id="value length -7"),
        pytest.param(record_of(0, 0, 1, b"k", 1, b"v"), id="no header count"),
        pytest.param(record_of(0, 0, -1, -1, 0, b"more"), id="bytes behind the record"),
        pytest.param(record_of(0, 0, -1, -1, 900), id="more headers than bytes"),
        pytest.param(record_of(0, 0, -1, -1, -3), id="negative header count"),
        pytest.param(record_of(0, 0, -1, -1, 1, -1, -1), id="header without a key"),
        pytest.param(record_of(0, 0, -1, -1, 1, 99, b"k", -1), id="header key longer than the record"),
        pytest.param(record_of(0, 0, -1, -1, 1, 1, b"k"), id="header without a value"),
        pytest.param(record_of(0, 0, -1, -1, 1, 1, b"k", -1, b"x"), id="bytes behind the headers"),
        pytest.param(record_of(2**63 - 1, 0, -1, -1, 0), id="timestamp over 64 bits"),
        pytest.param(record_of(0, 0, -1, -1, 0) * 2, id="more records than counted"),
    ],
)
def test_a_record_that_does_not_add_up_is_a_corrupt_batch(body: bytes) -> None:
    batch = sealed(build_batch([Record(None, None, (), NOW)]), body)
    with pytest.raises(CorruptBatch):
        list(read_records(batch, read_header(batch)))


def test_fewer_records_than_counted_is_a_corrupt_batch() -> None:
    batch = sealed(build_batch(RECORDS), record_count=4, last_offset_delta=3)
    with pytest.raises(CorruptBatch):
        list(scan_records(batch, read_header(batch)))


def test_offset_deltas_must_ascend() -> None:
    body = record_of(0, 1, -1, -1, 0) + record_of(0, 0, -1, -1, 0)
    batch = sealed(build_batch(RECORDS[:2]), body)
    with pytest.raises(CorruptBatch):
        list(scan_records(batch, read_header(batch)))


def test_a_count_of_billions_is_refused_by_the_size_of_the_batch() -> None:
    batch = sealed(build_batch(RECORDS), record_count=2**31 - 1, last_offset_delta=2**31 - 2)
    with pytest.raises(CorruptBatch, match="2147483647 records in"):
        list(scan_records(batch, read_header(batch)))


def test_a_batch_that_unpacks_beyond_the_limit_is_refused() -> None:
    batch = build_batch([Record(None, bytes(1_000_000))], codec=Codec.ZSTD)
    with pytest.raises(BadLength):
        list(read_records(batch, read_header(batch), limit_bytes=100_000))


def test_records_that_are_not_what_the_codec_says_are_a_decode_error() -> None:
    for codec in Codec:
        batch = sealed(build_batch(RECORDS), b"rubbish of some length", attributes=codec)
        with pytest.raises(DecodeError):
            list(read_records(batch, read_header(batch)))


def test_a_batch_needs_a_record() -> None:
    with pytest.raises(ValueError, match="needs a record"):
        build_batch([])


# -- batches made anew ---------------------------------------------------------------------------------------


def test_another_codec_changes_nothing_but_the_bytes() -> None:
    batch = build_batch(RECORDS, base_offset=5, producer_id=1, producer_epoch=0, base_sequence=4)
    header = read_header(batch)
    for codec in (Codec.LZ4, Codec.GZIP, Codec.NONE):
        remade = recompress_batch(batch, header, 0, codec)
        header = read_header(remade)
        check_crc(remade, header)
        assert header.compression is codec
        assert list(read_records(remade, header)) == placed(RECORDS, 5)
        batch = remade
    assert batch == build_batch(RECORDS, base_offset=5, producer_id=1, producer_epoch=0, base_sequence=4)


def compacted(keep: list[int], **options: int) -> tuple[BatchHeader, bytearray]:
    batch = build_batch(
        RECORDS,
        base_offset=5,
        leader_epoch=2,
        producer_id=1,
        producer_epoch=0,
        base_sequence=4,
        codec=Codec.LZ4,
    )
    header = read_header(batch)
    records = list(read_records(batch, header))
    remade = rebuild_batch(header, [records[i] for i in keep], **options)
    check_crc(remade, read_header(remade))
    return header, remade


def test_compaction_keeps_offsets_sequence_and_codec() -> None:
    before, batch = compacted([0, 2])
    after = read_header(batch)
    assert [record.offset for record in read_records(batch, after)] == [5, 7]
    assert (after.base_offset, after.end_offset, after.last_sequence) == (5, 8, before.last_sequence)
    assert (after.record_count, after.compression, after.leader_epoch) == (2, Codec.LZ4, 2)
    assert after.max_timestamp == NOW  # the record of NOW + 5 is gone


def test_a_delete_horizon_takes_the_base_timestamps_place_and_leaves_the_records_times() -> None:
    _, batch = compacted([0, 2], delete_horizon_ms=NOW + 86_400_000)
    after = read_header(batch)
    assert (after.has_delete_horizon, after.base_timestamp) == (True, NOW + 86_400_000)
    assert [record.timestamp_ms for record in read_records(batch, after)] == [NOW, NOW - 7]


def test_an_emptied_batch_is_a_header_that_still_knows_its_producer() -> None:
    before, batch = compacted([])
    after = read_header(batch)
    assert len(batch) == HEADER_BYTES
    assert list(read_records(batch, after)) == []
    assert (after.end_offset, after.producer_id, after.last_sequence) == (8, 1, before.last_sequence)
    assert after.max_timestamp == before.max_timestamp


def test_an_empty_batch_with_a_codec_has_no_records() -> None:
    batch = sealed(build_batch(RECORDS), b"", record_count=0, attributes=Codec.GZIP)
    assert list(read_records(batch, read_header(batch))) == []
    batch = sealed(build_batch(RECORDS), compress(Codec.GZIP, b""), record_count=0, attributes=Codec.GZIP)
    assert list(read_records(batch, read_header(batch))) == []
