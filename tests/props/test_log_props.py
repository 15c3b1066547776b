"""What holds for every log: look-ups agree with a plain scan, recovery gives a prefix, compaction the last values."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from leaselog.log import Appended, LogConfig, MemoryFiles, PartitionLog, finish
from leaselog.model import Refused, TopicId
from leaselog.wire.compression import Codec
from leaselog.wire.record_batch import iterate_headers
from leaselog.wire.records import Record, build_batch, read_records

TOPIC = TopicId(UUID(int=7))
NOW_MS = 10_000_000
DAY_MS = 86_400_000


class Batch(NamedTuple):
    start: int
    end: int
    data: bytes


def open_log(
    files: MemoryFiles, *, clean: bool = False, recovery_point: int = 0, **settings: object
) -> PartitionLog:
    config = LogConfig.of(
        {"segment.bytes": 2000, "index.interval.bytes": 200, "durability": "os", **settings}
    )
    return PartitionLog.open(
        files, "d/t-0", TOPIC, config, now_ms=NOW_MS, clean=clean, recovery_point=recovery_point
    )


def append(log: PartitionLog, records: list[Record], codec: Codec = Codec.NONE) -> Batch:
    data = build_batch(records, codec=codec)
    outcome = log.append(data, leader_epoch=0, now_ms=NOW_MS)
    assert isinstance(outcome, Appended)
    return Batch(outcome.first_offset, outcome.end_offset, bytes(data))


def read_all(log: PartitionLog) -> list[Batch]:
    found: list[Batch] = []
    offset = log.start_offset
    while offset < log.high_watermark:
        data = log.read(offset, 700)
        assert not isinstance(data, Refused)
        if not data:
            break
        for position, header in iterate_headers(data):
            whole = data[position : position + header.size_bytes]
            found.append(Batch(header.base_offset, header.end_offset, whole))
            offset = header.end_offset
    return found


sizes = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 400)), min_size=1, max_size=40)


def written(files: MemoryFiles, shape: list[tuple[int, int]]) -> tuple[PartitionLog, list[Batch]]:
    log = open_log(files)
    batches = []
    for i, (count, size) in enumerate(shape):
        records = [Record(b"%d" % i, b"v" * size, (), 1000 + 37 * ((i * 7) % 11) + j) for j in range(count)]
        batches.append(append(log, records))
    return log, batches


@given(shape=sizes, data=st.data(), reopens=st.booleans())
def test_a_read_is_what_a_plain_scan_finds(
    shape: list[tuple[int, int]], data: st.DataObject, reopens: bool
) -> None:
    files = MemoryFiles()
    log, batches = written(files, shape)
    bases = {info.base_offset for info in log.segments()}
    if reopens:
        log.close()
        log = open_log(files, clean=True)
    start = data.draw(st.integers(0, log.end_offset))
    end = data.draw(st.sampled_from([batch.end for batch in batches]))
    max_bytes = data.draw(st.integers(0, 3000))
    min_one = data.draw(st.booleans())
    expected = b""
    for batch in batches:
        if batch.end <= start or batch.end > end:
            continue
        if expected and batch.start in bases:
            break
        if len(expected) + len(batch.data) > max_bytes and (expected or not min_one):
            break
        expected += batch.data
    assert log.read(start, max_bytes, end, min_one_batch=min_one) == expected


@given(shape=sizes, timestamp=st.integers(990, 1500), start=st.integers(0, 60))
def test_a_timestamp_is_found_where_a_plain_scan_finds_it(
    shape: list[tuple[int, int]], timestamp: int, start: int
) -> None:
    log, batches = written(MemoryFiles(), shape)
    log.delete_records(min(start, log.end_offset))
    records = [
        record
        for batch in batches
        for _, header in iterate_headers(batch.data)
        for record in read_records(batch.data, header)
        if record.offset >= log.start_offset
    ]
    later = [record for record in records if record.timestamp_ms >= timestamp]
    found = finish(log.offset_for_timestamp(timestamp))
    assert (found and (found.offset, found.timestamp)) == (
        (later[0].offset, later[0].timestamp_ms) if later else None
    )
    newest = max(records, key=lambda record: (record.timestamp_ms, -record.offset), default=None)
    largest = finish(log.max_timestamp())
    assert (largest and (largest.offset, largest.timestamp)) == (
        (newest.offset, newest.timestamp_ms) if newest else None
    )


def logs_of(files: MemoryFiles) -> list[str]:
    return [f"d/t-0/{name}" for name in files.names("d/t-0") if name.endswith(".log")]


def everything_on(files: MemoryFiles) -> dict[str, bytes]:
    names = [f"d/t-0/{name}" for name in files.names("d/t-0")]
    return {name: files.open(name).read_at(0, 1 << 20) for name in names}


@given(shape=sizes, data=st.data())
def test_a_log_cut_at_any_byte_recovers_to_a_prefix(
    shape: list[tuple[int, int]], data: st.DataObject
) -> None:
    files = MemoryFiles()
    _, batches = written(files, shape)
    path = data.draw(st.sampled_from(logs_of(files)))
    size = files.size_bytes(path)
    cut = data.draw(st.integers(0, size))
    expected, position = [], 0
    for batch in batches:
        if batch.start >= int(path[-24:-4]):
            position += len(batch.data)
        if position > cut and cut < size:
            break
        expected.append(batch)
    files.open(path, writable=True).truncate(cut)
    recovered = open_log(files)
    assert read_all(recovered) == expected
    once = everything_on(files)
    assert read_all(open_log(files)) == read_all(recovered)
    assert everything_on(files) == once


@given(shape=sizes, data=st.data())
def test_a_byte_gone_bad_ends_the_log_before_it(shape: list[tuple[int, int]], data: st.DataObject) -> None:
    files = MemoryFiles()
    _, batches = written(files, shape)
    victim = data.draw(st.integers(0, len(batches) - 1))
    # The base offset and the leader epoch are not under the checksum; the rest is.
    places = [*range(8, 12), *range(16, len(batches[victim].data))]
    at = data.draw(st.sampled_from(places))
    path = next(path for path in reversed(logs_of(files)) if int(path[-24:-4]) <= batches[victim].start)
    position = files.open(path).read_at(0, 1 << 20).index(batches[victim].data) + at
    file = files.open(path, writable=True)
    flipped = file.read_at(position, 1)[0] ^ data.draw(st.integers(1, 255))
    file.write_at(position, bytes([flipped]))
    recovered = open_log(files)
    assert read_all(recovered) == batches[:victim]
    added = append(recovered, [Record(b"k", b"new", (), 1000)])
    assert read_all(recovered) == [*batches[:victim], added]


keyed = st.lists(
    st.lists(
        st.tuples(st.integers(0, 6), st.one_of(st.none(), st.binary(max_size=30))), min_size=1, max_size=4
    ),
    min_size=1,
    max_size=40,
)


def records_of(log: PartitionLog) -> list[Record]:
    return [
        record
        for batch in read_all(log)
        for _, header in iterate_headers(batch.data)
        for record in read_records(batch.data, header)
    ]


def clean(log: PartitionLog, now_ms: int, *, max_keys: int = 1_000_000) -> bool:
    job = log.plan_cleaning(now_ms)
    if job is None:
        return False
    job.max_keys = max_keys
    job.run()
    log.install(job, now_ms)
    assert log.failure is None
    return True


@given(history=keyed, codec=st.sampled_from([Codec.NONE, Codec.GZIP, Codec.ZSTD]), max_keys=st.integers(1, 8))
def test_compaction_keeps_exactly_the_last_value_of_each_key(
    history: list[list[tuple[int, bytes | None]]], codec: Codec, max_keys: int
) -> None:
    files = MemoryFiles()
    settings = {
        "cleanup.policy": "compact",
        "segment.bytes": 600,
        "min.cleanable.dirty.ratio": 0.0,
        "durability": "fsync",
        "delete.retention.ms": DAY_MS,
    }
    log = open_log(files, **settings)
    before: list[Record] = []
    for batch in history:
        records = [Record(b"%d" % key, value, (), 1000) for key, value in batch]
        appended = append(log, records, codec)
        before += [record._replace(offset=appended.start + i) for i, record in enumerate(records)]
    log.roll(NOW_MS)
    log.flush()
    while clean(log, NOW_MS, max_keys=max_keys):
        pass
    last = {record.key: record for record in before}
    expected = sorted(last.values(), key=lambda record: record.offset)
    assert records_of(log) == expected
    assert log.end_offset == len(before)
    log.cleaned_to = 0
    clean(log, NOW_MS + DAY_MS - 1)
    assert records_of(log) == expected
    log.cleaned_to = 0
    clean(log, NOW_MS + DAY_MS)
    survivors = [record for record in expected if record.value is not None]
    assert records_of(log) == survivors
    recovered = open_log(files, **settings)
    assert records_of(recovered) == survivors
    assert recovered.end_offset == len(before)
