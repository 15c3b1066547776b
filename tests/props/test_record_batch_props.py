"""Batches against two other clients' builders, in both directions, and against rubbish."""

from __future__ import annotations

import warnings
from contextlib import suppress

from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from hypothesis import given, settings
from hypothesis import strategies as st

from leaselog.log import AppendRefused, Origin
from leaselog.log.ingest import Ingested, ingest_at_once
from leaselog.log.ingest_rules import IngestRules
from leaselog.log.producer_state import ProducerState
from leaselog.wire.compression import Codec, compress, decompress
from leaselog.wire.errors import DecodeError, Truncated
from leaselog.wire.record_batch import (
    HEADER_BYTES,
    check_crc,
    iterate_headers,
    parse_header,
    read_header,
    rewrite_header,
)
from leaselog.wire.records import (
    Record,
    build_batch,
    read_records,
    rebuild_batch,
    recompress_batch,
    scan_records,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # its own imports warn
    from kafka.record.default_records import DefaultRecordBatch as OtherBatch
    from kafka.record.default_records import DefaultRecordBatchBuilder as OtherBuilder

NOW = 1_700_000_000_000
content = (
    st.none() | st.binary(max_size=80) | st.integers(0, 70_000).map(lambda size: b"%d" % size * (size // 5))
)
record_headers = st.lists(st.tuples(st.text(max_size=8), st.none() | st.binary(max_size=8)), max_size=3).map(
    tuple
)
one_record = st.builds(Record, content, content, record_headers, st.integers(0, 2**42))
some_records = st.lists(one_record, min_size=1, max_size=12)
codecs = st.sampled_from(Codec)


def placed(records: list[Record], base_offset: int) -> list[Record]:
    return [record._replace(offset=base_offset + i) for i, record in enumerate(records)]


@given(some_records, codecs, st.integers(0, 2**50))
def test_what_is_built_is_read(records: list[Record], codec: Codec, base_offset: int) -> None:
    batch = build_batch(records, base_offset=base_offset, codec=codec)
    header = read_header(batch)
    check_crc(batch, header)
    assert header.max_timestamp == max(record.timestamp_ms for record in records)
    assert list(read_records(batch, header)) == placed(records, base_offset)
    scanned = [(r.offset, r.timestamp_ms, r.key, r.value is not None) for r in placed(records, base_offset)]
    assert list(map(tuple, scan_records(batch, header))) == scanned


@given(some_records, codecs)
def test_aiokafka_reads_what_is_built(records: list[Record], codec: Codec) -> None:
    batch = DefaultRecordBatch(build_batch(records, base_offset=7, codec=codec))
    assert batch.validate_crc()
    found = [Record(r.key, r.value, tuple(r.headers), r.timestamp, r.offset) for r in batch]
    assert found == placed(records, 7)


@given(some_records, codecs)
def test_what_aiokafka_builds_is_read(records: list[Record], codec: Codec) -> None:
    builder = DefaultRecordBatchBuilder(2, int(codec), 0, 9, 3, 5, 1 << 24)
    for i, record in enumerate(records):
        builder.append(i, record.timestamp_ms, record.key, record.value, list(record.headers))
    batch = bytes(builder.build())
    header = read_header(batch)
    check_crc(batch, header)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 3, 5)
    assert list(read_records(batch, header)) == placed(records, 0)


@given(some_records, st.sampled_from([Codec.NONE, Codec.GZIP]))
def test_kafka_python_reads_and_builds_the_same(records: list[Record], codec: Codec) -> None:
    batch = OtherBatch(build_batch(records, codec=codec))
    assert batch.validate_crc()
    found = [Record(r.key, r.value, tuple(r.headers), r.timestamp, r.offset) for r in batch]
    assert found == placed(records, 0)
    builder = OtherBuilder(2, int(codec), False, -1, -1, -1, 1 << 24)
    for i, record in enumerate(records):
        builder.append(i, record.timestamp_ms, record.key, record.value, list(record.headers))
    theirs = bytes(builder.build())
    assert list(read_records(theirs, read_header(theirs))) == placed(records, 0)


@given(some_records, codecs, codecs, st.data())
def test_batches_made_anew_lose_nothing_they_should_keep(
    records: list[Record], codec: Codec, other: Codec, data: st.DataObject
) -> None:
    batch = build_batch(records, base_offset=20, codec=codec)
    header = read_header(batch)
    kept = [r for r in read_records(batch, header) if data.draw(st.booleans())]
    horizon = data.draw(st.none() | st.integers(0, 2**42))
    for made, expected in (
        (rebuild_batch(header, kept, delete_horizon_ms=horizon), kept),
        (recompress_batch(batch, header, 0, other), placed(records, 20)),
    ):
        after = read_header(made)
        check_crc(made, after)
        assert (after.base_offset, after.end_offset) == (20, 20 + len(records))
        assert list(read_records(made, after)) == expected


@given(st.lists(st.tuples(some_records, codecs), min_size=1, max_size=3), st.data())
def test_a_cut_gives_the_whole_batches_before_it_and_then_truncated(
    parts: list[tuple[list[Record], Codec]], data: st.DataObject
) -> None:
    batches = [bytes(build_batch(records, codec=codec)) for records, codec in parts]
    whole = b"".join(batches)
    size = data.draw(st.integers(0, len(whole)))
    ends = [sum(map(len, batches[: i + 1])) for i in range(len(batches))]
    positions, is_truncated = [], False
    try:
        for position, header in iterate_headers(whole[:size]):
            positions.append(position + header.size_bytes)
    except Truncated:
        is_truncated = True
    assert positions == [end for end in ends if end <= size]
    assert is_truncated == (size not in (0, *ends))


def read_everything(data: bytes) -> None:
    for position, header in iterate_headers(data):
        with suppress(DecodeError):
            check_crc(data, header, position)
        with suppress(DecodeError):
            list(scan_records(data, header, position, limit_bytes=1 << 20))
        list(read_records(data, header, position, limit_bytes=1 << 20))


@given(st.binary(max_size=300))
def test_rubbish_stays_in_the_error_family(data: bytes) -> None:
    with suppress(DecodeError):
        read_everything(data)
    for codec in Codec:
        with suppress(DecodeError):
            decompress(codec, data, 1 << 20)


@settings(max_examples=300)
@given(some_records, codecs, st.data())
def test_a_damaged_batch_stays_in_the_error_family(
    records: list[Record], codec: Codec, data: st.DataObject
) -> None:
    batch = build_batch(records, codec=codec)
    for _ in range(data.draw(st.integers(1, 4))):
        # Mostly the header and the first records: a flipped byte inside a long value says nothing.
        at = data.draw(st.integers(0, min(len(batch), 200) - 1))
        batch[at] = data.draw(st.integers(0, 255))
    with suppress(DecodeError):
        read_everything(bytes(batch))


@settings(max_examples=300)
@given(some_records, codecs, st.data())
def test_a_damaged_body_under_a_checksum_that_holds_stays_in_the_error_family(
    records: list[Record], codec: Codec, data: st.DataObject
) -> None:
    plain = build_batch(records)
    for _ in range(data.draw(st.integers(1, 4))):
        plain[data.draw(st.integers(HEADER_BYTES, min(len(plain), 200) - 1))] = data.draw(st.integers(0, 255))
    header = parse_header(plain)
    body = compress(codec, bytes(plain[HEADER_BYTES:]))
    header.attributes, header.size_bytes = int(codec), HEADER_BYTES + len(body)
    batch = bytearray(HEADER_BYTES) + body
    rewrite_header(batch, 0, header)
    with suppress(DecodeError):
        read_everything(bytes(batch))


@settings(max_examples=300)
@given(some_records, codecs, st.sampled_from([None, *Codec]), st.booleans(), st.data())
def test_ingest_answers_whatever_a_producer_sends(
    records: list[Record], codec: Codec, target: Codec | None, is_compacted: bool, data: st.DataObject
) -> None:
    batch = build_batch(records, codec=codec, producer_id=1, producer_epoch=0, base_sequence=0)
    for _ in range(data.draw(st.integers(0, 3))):
        batch[data.draw(st.integers(0, min(len(batch), 120) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        with suppress(DecodeError):
            rewrite_header(batch, 0, header) if (header := parse_header(batch)).size_bytes == len(
                batch
            ) else None
    rules = IngestRules(codec=target, is_compacted=is_compacted, timestamp_after_max_ms=2**42)
    outcome = ingest_at_once(
        batch, rules, ProducerState(), next_offset=5, leader_epoch=0, now_ms=NOW, origin=Origin.CLIENT
    )
    if isinstance(outcome, Ingested):
        (header,) = outcome.headers
        assert header == read_header(outcome.records)
        check_crc(outcome.records, header)
        assert (outcome.first_offset, outcome.end_offset) == (5, header.end_offset)
    else:
        assert isinstance(outcome, AppendRefused)
