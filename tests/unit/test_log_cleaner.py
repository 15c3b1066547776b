"""Compaction: what it keeps, when it is worth it, and how it meets a log that goes on living."""

from __future__ import annotations

from uuid import UUID

import pytest

from leaselog.log import Appended, CleaningJob, LogConfig, MemoryFiles, Origin, PartitionLog, finish
from leaselog.log.cleaner import Candidate, Source, cleanable, group
from leaselog.model import TopicId
from leaselog.wire.end_markers import EndMarker, build_end_marker
from leaselog.wire.errors import CorruptBatch
from leaselog.wire.record_batch import BatchHeader, iterate_headers
from leaselog.wire.records import Record, build_batch, read_records

TOPIC = TopicId(UUID(int=7))
NOW_MS = 1_000_000


def open_log(files: MemoryFiles | None = None, **settings: object) -> PartitionLog:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    config = {
        "cleanup.policy": "compact",
        "segment.bytes": 250,
        "min.cleanable.dirty.ratio": 0.0,
        "delete.retention.ms": 500,
        **named,
    }
    return PartitionLog.open(
        files or MemoryFiles(), "data/t-0", TOPIC, LogConfig.of(config), now_ms=NOW_MS, clean=False
    )


def put(log: PartitionLog, *pairs: tuple[str, str | None], timestamp: int = 1000, **producer: int) -> None:
    records = [
        Record(key.encode(), None if value is None else value.encode(), (), timestamp) for key, value in pairs
    ]
    outcome = log.append(build_batch(records, **producer), leader_epoch=0, now_ms=NOW_MS)
    assert isinstance(outcome, Appended)


def settle(log: PartitionLog) -> None:
    """Everything so far may be cleaned."""
    log.roll(NOW_MS)
    log.flush()


def planned(log: PartitionLog, now_ms: int = NOW_MS) -> CleaningJob:
    job = log.plan_cleaning(now_ms)
    assert job is not None
    return job


def clean(log: PartitionLog, now_ms: int = NOW_MS) -> None:
    job = planned(log, now_ms)
    job.run()
    log.install(job, now_ms)


def headers(log: PartitionLog) -> list[tuple[BatchHeader, bytes]]:
    found, offset = [], log.start_offset
    while offset < log.high_watermark:
        data = log.read(offset, 10_000)
        assert isinstance(data, bytes)
        if not data:
            break
        for position, header in iterate_headers(data):
            found.append((header, data[position : position + header.size_bytes]))
            offset = header.end_offset
    return found


def values(log: PartitionLog) -> dict[int, tuple[str, str | None]]:
    return {
        record.offset: ((record.key or b"").decode(), None if record.value is None else record.value.decode())
        for header, batch in headers(log)
        for record in read_records(batch, header)
    }


def test_the_last_value_stays_at_its_offset() -> None:
    log = open_log()
    put(log, ("a", "1"), ("b", "1"))
    put(log, ("a", "2"))
    put(log, ("c", "1"))
    settle(log)
    clean(log)
    assert values(log) == {1: ("b", "1"), 2: ("a", "2"), 3: ("c", "1")}
    assert log.cleaned_to == log.end_offset == 4
    first, _ = headers(log)[0]
    assert (first.base_offset, first.end_offset, first.record_count) == (0, 2, 1)


def test_the_active_segment_is_not_cleaned() -> None:
    log = open_log(segment_bytes=10_000)
    put(log, ("a", "1"))
    put(log, ("a", "2"))
    log.flush()
    assert log.plan_cleaning(NOW_MS) is None


def test_what_is_not_durable_is_not_cleaned() -> None:
    log = open_log()
    put(log, ("a", "1"))
    put(log, ("a", "2"))
    log.roll(NOW_MS)
    assert log.plan_cleaning(NOW_MS) is None


def test_a_tombstone_is_kept_for_a_while_and_then_goes() -> None:
    log = open_log()
    put(log, ("a", "1"), ("b", "1"))
    put(log, ("a", None))
    settle(log)
    clean(log, NOW_MS)
    assert values(log) == {1: ("b", "1"), 2: ("a", None)}
    horizons = [header.base_timestamp for header, _ in headers(log) if header.has_delete_horizon]
    assert horizons == [NOW_MS + 500]
    for later, expected in ((NOW_MS + 499, {1, 2}), (NOW_MS + 500, {1})):
        log.cleaned_to = 0
        clean(log, later)
        assert values(log).keys() == expected


def test_timestamps_survive_the_delete_horizon() -> None:
    log = open_log()
    put(log, ("a", None), ("b", "1"), timestamp=777)
    settle(log)
    clean(log)
    stamps = [record.timestamp_ms for header, batch in headers(log) for record in read_records(batch, header)]
    assert stamps == [777, 777]


def test_records_without_a_key_go() -> None:
    log = open_log(cleanup_policy="delete")
    outcome = log.append(build_batch([Record(None, b"x"), Record(b"k", b"y")]), leader_epoch=0, now_ms=NOW_MS)
    assert isinstance(outcome, Appended)
    settle(log)
    log.update_config(LogConfig.of({"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.0}))
    clean(log)
    assert values(log) == {1: ("k", "y")}


def test_an_emptied_batch_stays_while_it_holds_its_producers_last_sequence() -> None:
    log = open_log()
    put(log, ("a", "1"), producer_id=5, producer_epoch=0, base_sequence=0)
    put(log, ("a", "2"), producer_id=5, producer_epoch=0, base_sequence=1)
    put(log, ("a", "3"), producer_id=6, producer_epoch=0, base_sequence=0)
    put(log, ("z", "1"))
    settle(log)
    clean(log)
    found = [(h.base_offset, h.producer_id, h.base_sequence, h.record_count) for h, _ in headers(log)]
    assert (0, 5, 0, 0) not in found
    assert (1, 5, 1, 0) in found
    assert (2, 6, 0, 1) in found


def test_a_cleaned_segment_ends_where_its_last_source_did() -> None:
    log = open_log()
    for number in range(12):
        put(log, ("same", str(number) * 30))
    settle(log)
    clean(log)
    infos = log.segments()
    assert [info.end_offset for info in infos[:-1]] == [info.base_offset for info in infos[1:]]
    assert headers(log)[0][0].record_count == 0
    assert values(log) == {11: ("same", "11" * 30)}
    assert finish(log.max_timestamp()) == (11, 1000, 0)


def test_small_segments_are_merged() -> None:
    log = open_log(segment_bytes=300)
    for number in range(8):
        put(log, (f"key {number}", "v" * 60))
    settle(log)
    before = len(log.segments())
    log.update_config(
        LogConfig.of({"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.0, "segment.bytes": 10_000})
    )
    clean(log)
    assert (before, len(log.segments())) == (5, 2)
    assert list(values(log)) == list(range(8))
    assert [log.read(offset, 10) for offset in range(8)] == [batch for _, batch in headers(log)]


def test_a_segment_that_loses_nothing_is_left_alone() -> None:
    files = MemoryFiles()
    log = open_log(files)
    put(log, ("a", "x" * 100))
    put(log, ("b", "x" * 100))
    settle(log)
    job = planned(log)
    job.run()
    assert [cleaned.segment for cleaned in job.done] == [None, None]
    assert log.install(job, NOW_MS) is None
    assert not [name for name in files.names("data/t-0") if name.endswith(".cleaned")]


def test_appends_and_reads_go_on_while_a_job_runs() -> None:
    log = open_log()
    for number in range(10):
        put(log, ("a", str(number) * 20))
    settle(log)
    job = planned(log)
    assert log.plan_cleaning(NOW_MS) is None, "one at a time"
    for number, _ in enumerate(job.steps()):
        put(log, ("a", f"later {number}"))
    put(log, ("b", "new"))
    log.flush()
    before_install = values(log)
    log.install(job, NOW_MS)
    assert values(log).items() < before_install.items()
    assert ("b", "new") in values(log).values()
    assert ("a", "9" * 20) in values(log).values()


def test_segments_that_retention_took_meanwhile_stay_away() -> None:
    files = MemoryFiles()
    log = open_log(files, cleanup_policy="compact,delete", segment_bytes=200)
    for number in range(6):
        put(log, ("a", str(number) * 60))
    settle(log)
    job = planned(log)
    job.run()
    log.delete_records(3)
    log.apply_retention(NOW_MS)
    log.install(job, NOW_MS)
    assert log.start_offset == 3
    assert list(values(log)) == [5]
    assert not [name for name in files.names("data/t-0") if name.endswith((".cleaned", ".swap"))]


def test_a_rotten_batch_fails_the_job_and_not_the_log() -> None:
    files = MemoryFiles()
    log = open_log(files)
    for number in range(6):
        put(log, ("a", str(number) * 60))
    settle(log)
    files.open("data/t-0/00000000000000000000.log", writable=True).write_at(80, b"\xff")
    job = planned(log)
    with pytest.raises(CorruptBatch):
        job.run()
    log.drop_cleaning(job)
    assert log.failure is None
    assert not [name for name in files.names("data/t-0") if name.endswith(".cleaned")]


def test_control_batches_stay() -> None:
    log = open_log()
    marker = build_batch(
        [Record(b"\0\0\0\1", b"\0\0\0\0\0\0")], is_control=True, producer_id=3, producer_epoch=0
    )
    assert isinstance(log.append(marker, leader_epoch=0, now_ms=NOW_MS, origin=Origin.COORDINATOR), Appended)
    put(log, ("a", "1"))
    settle(log)
    clean(log)
    assert [header.is_control for header, _ in headers(log)] == [True, False]


def candidate(base: int, size: int, *, first_ms: int = 0, last_ms: int = 0) -> Candidate:
    return Candidate(base, base + 10, size, first_ms, last_ms)


def test_cleaning_waits_until_enough_is_dirty() -> None:
    config = LogConfig(min_cleanable_dirty_ratio=0.5)
    sealed = [candidate(0, 100), candidate(10, 100), candidate(20, 100)]

    def count(cleaned_to: int) -> int:
        return cleanable(sealed, config, now_ms=NOW_MS, cleaned_to=cleaned_to, safe_end=100)

    assert [count(0), count(10), count(20), count(30)] == [3, 3, 0, 0]


def test_cleaning_does_not_wait_beyond_the_longest_lag() -> None:
    config = LogConfig(min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=100)
    sealed = [candidate(0, 100, first_ms=900), candidate(10, 1, first_ms=950)]
    assert cleanable(sealed, config, now_ms=1000, cleaned_to=0, safe_end=100) == 0
    assert cleanable(sealed, config, now_ms=1001, cleaned_to=0, safe_end=100) == 2


def test_young_and_unsafe_segments_wait() -> None:
    config = LogConfig(min_cleanable_dirty_ratio=0.0, min_compaction_lag_ms=100)
    sealed = [candidate(0, 100, last_ms=900), candidate(10, 100, last_ms=901), candidate(20, 100)]
    assert cleanable(sealed, config, now_ms=1000, cleaned_to=0, safe_end=100) == 1
    assert cleanable(sealed, config, now_ms=1000, cleaned_to=0, safe_end=9) == 0


def test_groups_fit_a_segment_and_its_relative_offsets() -> None:
    config = LogConfig(segment_bytes=100)
    sizes = [60, 40, 1, 99, 100]
    sources = [Source("", i, i + 1, size) for i, size in enumerate(sizes)]
    assert [[s.size_bytes for s in members] for members in group(sources, config)] == [
        [60, 40],
        [1, 99],
        [100],
    ]
    far = [Source("", 0, 10, 1), Source("", 10, 2**31 + 1, 1)]
    assert len(group(far, config)) == 2


def write(log: PartitionLog, key: str, producer: int, sequence: int = 0) -> None:
    record = Record(key.encode(), b"of %d" % producer, (), 1000)
    batch = build_batch(
        [record], producer_id=producer, producer_epoch=0, base_sequence=sequence, is_transactional=True
    )
    assert isinstance(log.append(batch, leader_epoch=0, now_ms=NOW_MS), Appended)


def end(log: PartitionLog, producer: int, *, commit: bool) -> None:
    batch = build_end_marker(producer, 0, EndMarker(commit, 0), now_ms=1000)
    assert isinstance(log.append(batch, leader_epoch=0, now_ms=NOW_MS, origin=Origin.COORDINATOR), Appended)


def data_values(log: PartitionLog) -> dict[int, tuple[str, str | None]]:
    markers = {header.base_offset for header, _ in headers(log) if header.is_control}
    return {offset: value for offset, value in values(log).items() if offset not in markers}


def test_an_aborted_record_goes_and_supersedes_nothing() -> None:
    log = open_log()
    put(log, ("a", "1"))
    write(log, "a", 7)
    end(log, 7, commit=False)
    settle(log)
    clean(log)
    assert data_values(log) == {0: ("a", "1")}


def test_a_committed_record_supersedes_what_came_before() -> None:
    log = open_log()
    put(log, ("a", "1"))
    write(log, "a", 7)
    end(log, 7, commit=True)
    settle(log)
    clean(log)
    assert data_values(log) == {1: ("a", "of 7")}


def test_nothing_from_an_open_transaction_on_is_cleaned() -> None:
    log = open_log()
    put(log, ("a", "1"))
    write(log, "b", 7)
    put(log, ("a", "2"))
    settle(log)
    assert log.plan_cleaning(NOW_MS) is None


def test_a_marker_outlives_its_transactions_batches_by_the_delete_horizon() -> None:
    log = open_log()
    write(log, "a", 7)
    end(log, 7, commit=False)
    write(log, "b", 7, 1)
    end(log, 7, commit=True)
    settle(log)

    def markers() -> list[int]:
        return [header.base_offset for header, _ in headers(log) if header.is_control and header.record_count]

    def clean_again(now_ms: int) -> None:
        log.cleaned_to = 0
        clean(log, now_ms)

    clean(log)  # takes the aborted record, and finds it still there
    assert markers() == [1, 3]
    clean_again(NOW_MS)  # finds nothing of the aborted transaction any more
    clean_again(NOW_MS + 499)
    assert markers() == [1, 3]
    clean_again(NOW_MS + 500)
    assert markers() == [3]
    assert data_values(log) == {2: ("b", "of 7")}


def test_a_marker_that_alone_tells_its_producers_epoch_keeps_its_header() -> None:
    log = open_log()
    end(log, 7, commit=True)
    put(log, ("a", "1"))
    settle(log)
    for now_ms in (NOW_MS, NOW_MS + 500, NOW_MS + 1000):
        log.cleaned_to = 0
        clean(log, now_ms)
    (marker, _), *_ = headers(log)
    assert (marker.is_control, marker.producer_id, marker.record_count) == (True, 7, 0)
