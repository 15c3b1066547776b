"""What a look-up may cost: few bytes read by offset, and a search by time gives others their turn."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from leaselog.log import Appended, File, LogConfig, MemoryFiles, PartitionLog, finish
from leaselog.model import Refused, TopicId
from leaselog.wire.compression import Codec
from leaselog.wire.record_batch import HEADER_BYTES, iterate_headers, read_header, rewrite_header
from leaselog.wire.records import Record, build_batch

TOPIC = TopicId(UUID(int=7))
NOW_MS = 1_000_000


def open_log(files: MemoryFiles | None = None, **settings: object) -> PartitionLog:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    config = LogConfig.of({"durability": "os", **named})
    files = MemoryFiles() if files is None else files
    return PartitionLog.open(files, "data/t-0", TOPIC, config, now_ms=NOW_MS, clean=True)


def batch(value: bytes, timestamp: int = NOW_MS) -> bytearray:
    return build_batch([Record(b"k", value, (), timestamp)])


def append(log: PartitionLog, value: bytes, timestamp: int = NOW_MS) -> None:
    assert isinstance(log.append(batch(value, timestamp), leader_epoch=0, now_ms=NOW_MS), Appended)


def offsets(data: bytes | Refused) -> list[int]:
    assert isinstance(data, bytes)
    return [header.base_offset for _, header in iterate_headers(data)]


def sync(log: PartitionLog) -> None:
    job = log.pending_sync()
    assert job is not None
    job.run()
    log.synced(job)


def test_a_batch_of_log_append_time_is_not_looked_into_for_a_time() -> None:
    log = open_log(message_timestamp_type="LogAppendTime")
    claims = 37_000
    assert isinstance(log.append(claiming(claims), leader_epoch=0, now_ms=NOW_MS), Appended)
    log.delete_records(5)
    for steps in (log.max_timestamp(), log.offset_for_timestamp(NOW_MS)):
        assert len(list(steps)) == 1, "a segment is a step, and there is no other"
    assert finish(log.max_timestamp()) == (5, NOW_MS, 0)
    assert finish(log.offset_for_timestamp(NOW_MS)) == (5, NOW_MS, 0)


def claiming(count: int) -> bytearray:
    """Ten bytes that pass for so many records."""
    data = batch(b"xx")
    header = read_header(data)
    header.attributes, header.size_bytes = int(Codec.ZSTD), HEADER_BYTES + len(data) - HEADER_BYTES
    header.record_count, header.last_offset_delta = count, count - 1
    assert header.size_bytes == len(data)
    rewrite_header(data, 0, header)
    return data


def test_a_search_by_time_gives_others_their_turn() -> None:
    log = open_log()
    records = [Record(b"k", b"v", (), NOW_MS + i) for i in range(5000)]
    log.append(build_batch(records), leader_epoch=0, now_ms=NOW_MS)
    assert len(list(log.max_timestamp())) > 5000 // 300
    assert len(list(log.offset_for_timestamp(NOW_MS + 4999))) > 5000 // 300
    assert finish(log.offset_for_timestamp(NOW_MS + 4999)) == (4999, NOW_MS + 4999, 0)


def test_a_batch_is_unpacked_for_a_search_elsewhere() -> None:
    log = open_log()
    large = build_batch([Record(b"k", bytes(1 << 20), (), NOW_MS)], codec=Codec.ZSTD)
    log.append(large, leader_epoch=0, now_ms=NOW_MS)
    for steps in (log.max_timestamp(), log.offset_for_timestamp(NOW_MS)):
        heavy = [step for step in steps if step is not None and step.run() is None]
        assert len(heavy) == 1


def test_the_largest_visible_timestamp_is_found_without_reading_every_header() -> None:
    """What is not safe yet has a larger one, as it has all day long under load."""
    log, files = log_of_one_record_batches(20_000, durability="fsync")
    sync(log)
    append(log, b"x", timestamp=NOW_MS + 20_000)
    files.read_bytes = 0
    assert finish(log.max_timestamp()) == (19_999, NOW_MS + 19_999, 0)
    assert files.read_bytes < 100_000


def test_the_largest_timestamp_behind_a_start_in_the_middle_of_a_segment() -> None:
    log, _ = log_of_one_record_batches(500)
    append(log, b"x", timestamp=NOW_MS - 1)
    log.delete_records(500)
    assert finish(log.max_timestamp()) == (500, NOW_MS - 1, 0)
    append(log, b"x", timestamp=NOW_MS)
    append(log, b"x", timestamp=NOW_MS - 2)
    assert finish(log.max_timestamp()) == (501, NOW_MS, 0)


@pytest.mark.parametrize("interval_bytes", [0, 4096, 2**31 - 1])
def test_a_look_up_reads_a_bounded_stretch_whatever_the_index_is_told(interval_bytes: int) -> None:
    log, files = log_of_one_record_batches(20_000, index_interval_bytes=interval_bytes)
    for offset in (10, 10_000, 19_000):
        files.read_bytes = 0
        assert offsets(log.read(offset, 1)) == [offset]
        assert files.read_bytes < 100_000


class CountingFiles(MemoryFiles):
    read_bytes = 0

    def open(self, path: str, *, writable: bool = False, create: bool = False) -> File:
        return CountedFile(self, super().open(path, writable=writable, create=create))


class CountedFile:
    def __init__(self, files: CountingFiles, file: File) -> None:
        self._files = files
        self._file = file

    def read_at(self, position: int, size_bytes: int) -> bytes:
        data = self._file.read_at(position, size_bytes)
        self._files.read_bytes += len(data)
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def log_of_one_record_batches(count: int, **settings: object) -> tuple[PartitionLog, CountingFiles]:
    files = CountingFiles()
    log = open_log(files, **settings)
    for i in range(count):
        append(log, b"x", timestamp=NOW_MS + i)
    return log, files


def test_segments_that_leave_during_a_search_are_passed_over() -> None:
    log = open_log(segment_bytes=300, index_interval_bytes=0, retention_bytes=300)
    for i in range(10):
        append(log, b"x" * 50, timestamp=NOW_MS + i)
    by_time, largest = log.offset_for_timestamp(NOW_MS), log.max_timestamp()
    next(by_time)
    next(largest)
    work = log.apply_retention(NOW_MS + 10)
    assert work is not None
    for path in work.paths:
        log._files.remove(path)
    assert (found := finish(by_time)) is not None
    assert found.offset >= log.start_offset
    assert finish(largest) == (9, NOW_MS + 9, 0)
