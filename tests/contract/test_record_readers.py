"""One contract for whoever reads the records of a batch for a client: our decoder, and aiokafka's compiled one."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable

import pytest

from leaselog.client.compiled_records import (
    RecordReader,
    _parser,
    has_parser,
    read_records_compiled,
    record_reader,
)
from leaselog.wire.compression import Codec
from leaselog.wire.errors import CorruptBatch, DecodeError
from leaselog.wire.record_batch import read_header
from leaselog.wire.records import Record, build_batch, read_records, rebuild_batch

T = 1_700_000_000_000
PLAIN = [Record(b"k%d" % n, b"v" * n, (), T + n) for n in range(200)]
RICH = [
    Record(None, b"no key", (), T),
    Record(b"no value", None, (("trace", b"1"), ("empty", b""), ("null", None)), T - 5_000),
    Record(b"", b"", (("ü", b"umlaut"),), T + 1),
]
#: offset delta of the second record of two that have neither key, value nor headers
DELTA_AT = 61 + 7 + 3
RECORD_COUNT_AT, LAST_OFFSET_DELTA_AT = 57, 23


@pytest.fixture(params=["ours", "compiled"])
def read(request: pytest.FixtureRequest) -> RecordReader:
    if request.param == "ours":
        return read_records
    assert has_parser(), "aiokafka is among the development dependencies"
    return read_records_compiled


def records_in(read: RecordReader, data: bytes | bytearray, position: int = 0) -> list[Record]:
    return list(read(data, read_header(data, position), position))


def numbered(records: Iterable[Record], base_offset: int = 0) -> list[Record]:
    return [record._replace(offset=base_offset + n) for n, record in enumerate(records)]


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("records", [PLAIN, RICH], ids=["plain", "rich"])
def test_what_was_written_is_read(read: RecordReader, codec: Codec, records: list[Record]) -> None:
    assert records_in(read, build_batch(records, base_offset=7, codec=codec)) == numbered(records, 7)


def test_a_batch_is_read_where_it_lies(read: RecordReader) -> None:
    first, second = build_batch(PLAIN), build_batch(RICH, base_offset=200)
    data = bytes(first + second)
    assert records_in(read, data, len(first)) == numbered(RICH, 200)
    assert records_in(read, memoryview(data), len(first)) == numbered(RICH, 200)


def test_the_time_of_appending_is_everybodys(read: RecordReader) -> None:
    read_back = records_in(read, build_batch(RICH, log_append_time_ms=T + 99))
    assert {record.timestamp_ms for record in read_back} == {T + 99}


@pytest.mark.parametrize("times", [(-1, -1), (0, 5), (-3, 8), (5, -3)])
def test_odd_times_are_read_as_they_are(read: RecordReader, times: tuple[int, int]) -> None:
    written = [Record(None, b"v", (), time) for time in times]
    assert [record.timestamp_ms for record in records_in(read, build_batch(written))] == list(times)


def test_what_compaction_left_keeps_its_offsets(read: RecordReader) -> None:
    batch = build_batch(PLAIN, base_offset=10)
    kept = [record for record in numbered(PLAIN, 10) if record.offset % 3 == 0]
    assert records_in(read, rebuild_batch(read_header(batch), kept)) == kept


def test_a_header_key_that_is_no_text_keeps_its_bytes(read: RecordReader) -> None:
    batch = build_batch([Record(b"k", b"v", (("aXb", b"1"),), T)])
    at = batch.index(b"aXb")
    batch[at : at + 3] = b"a\xffb"
    (record,) = records_in(read, batch)
    assert record.headers[0][0].encode("utf-8", "surrogateescape") == b"a\xffb"


@pytest.mark.parametrize(
    ("at", "field", "value"),
    [
        (RECORD_COUNT_AT, ">i", 3),
        (RECORD_COUNT_AT, ">i", 1),
        (RECORD_COUNT_AT, ">i", 1 << 30),
        (LAST_OFFSET_DELTA_AT, ">i", 0),
        (DELTA_AT, ">B", 0),  # the same offset twice
        (DELTA_AT, ">B", 1),  # an offset below the batch
        (DELTA_AT - 3, ">B", 0x7E),  # a record that goes on behind the batch
        (DELTA_AT + 1, ">B", 0x7E),  # so does a key
        (DELTA_AT + 3, ">B", 2),  # a header is promised
    ],
)
def test_what_no_log_has_written_is_refused(read: RecordReader, at: int, field: str, value: int) -> None:
    batch = build_batch([Record(None, None, (), T), Record(None, None, (), T)])
    struct.pack_into(field, batch, at, value)
    with pytest.raises(CorruptBatch):
        records_in(read, batch)


def test_a_batch_that_cannot_be_unpacked_is_refused(read: RecordReader) -> None:
    batch = build_batch(PLAIN, codec=Codec.GZIP)
    batch[70:90] = bytes(20)
    with pytest.raises(DecodeError):
        records_in(read, batch)


def test_without_the_package_there_is_no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiokafka.record._crecords", None)
    _parser.cache_clear()
    try:
        assert not has_parser()
        assert record_reader(checked=True) is read_records
    finally:
        _parser.cache_clear()


def test_the_parser_gets_nothing_that_no_checksum_vouches_for() -> None:
    assert record_reader(checked=False) is read_records
    assert record_reader(checked=True) is read_records_compiled
