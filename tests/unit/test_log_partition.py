"""The partition log as the broker uses it: append, read, sync, forget, reopen."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import UUID

import pytest

from leaselog.log import (
    Appended,
    AppendRefused,
    Files,
    FileSlice,
    LogConfig,
    MemoryFiles,
    OpenSegments,
    Origin,
    OsFiles,
    PartitionLog,
    SyncJob,
    UnusableLog,
    finish,
)
from leaselog.model import ErrorCode, Refused, TopicId
from leaselog.wire.record_batch import iterate_headers
from leaselog.wire.records import Record, build_batch

TOPIC = TopicId(UUID(int=7))
NOW_MS = 1_000_000


def open_log(
    files: Files | None = None,
    *,
    clean: bool = True,
    start_offset: int = 0,
    opened: OpenSegments | None = None,
    directory: str = "data/t-0",
    **settings: object,
) -> PartitionLog:
    return PartitionLog.open(
        MemoryFiles() if files is None else files,
        directory,
        TOPIC,
        LogConfig.of(
            {"durability": "os", **{name.replace("_", "."): value for name, value in settings.items()}}
        ),
        now_ms=NOW_MS,
        clean=clean,
        start_offset=start_offset,
        opened=opened,
    )


def batch(*values: bytes, timestamp: int = NOW_MS, **producer: int) -> bytearray:
    return build_batch([Record(b"k", value, (), timestamp) for value in values], **producer)


def append(log: PartitionLog, *values: bytes, epoch: int = 0, timestamp: int = NOW_MS) -> Appended:
    outcome = log.append(batch(*values, timestamp=timestamp), leader_epoch=epoch, now_ms=NOW_MS)
    assert isinstance(outcome, Appended)
    return outcome


def offsets(data: bytes | Refused) -> list[int]:
    assert isinstance(data, bytes)
    return [header.base_offset for _, header in iterate_headers(data)]


def sync(log: PartitionLog) -> None:
    job = log.pending_sync()
    assert job is not None
    job.run()
    log.synced(job)


def test_offsets_are_dense_and_stamped() -> None:
    log = open_log()
    assert append(log, b"a", b"b") == Appended(0, 2, -1, 0)
    assert append(log, b"c", epoch=3) == Appended(2, 3, -1, 0)
    data = log.read(0, 1000)
    assert isinstance(data, bytes)
    headers = [header for _, header in iterate_headers(data)]
    assert [(header.base_offset, header.end_offset, header.leader_epoch) for header in headers] == [
        (0, 2, 0),
        (2, 3, 3),
    ]


def test_a_read_begins_with_the_batch_that_holds_the_offset() -> None:
    log = open_log()
    append(log, b"a", b"b")
    append(log, b"c")
    assert offsets(log.read(1, 1000)) == [0, 2]
    assert offsets(log.read(2, 1000)) == [2]


def test_reads_outside_the_log_are_refused_and_at_its_end_empty() -> None:
    log = open_log()
    append(log, b"a")
    assert log.read(1, 1000) == b""
    for offset in (-1, 2):
        refused = log.read(offset, 1000)
        assert isinstance(refused, Refused)
        assert refused.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_batch_larger_than_asked_for_comes_alone_or_not_at_all() -> None:
    log = open_log()
    append(log, b"a" * 500)
    append(log, b"b")
    assert offsets(log.read(0, 10)) == [0]
    assert log.read(0, 10, min_one_batch=False) == b""


def test_a_slice_says_where_the_bytes_lie() -> None:
    log = open_log()
    append(log, b"a")
    append(log, b"b")
    found = log.locate(1, 1000)
    assert isinstance(found, FileSlice)
    assert found.file.read_at(found.position, found.size_bytes) == log.read(1, 1000)


def test_a_slice_outlives_the_segment_it_lies_in() -> None:
    log = open_log(segment_bytes=150, retention_bytes=0)
    append(log, b"a" * 50)
    append(log, b"b" * 50)
    found, data = log.locate(0, 1000), log.read(0, 1000)
    assert isinstance(found, FileSlice)
    assert log.apply_retention(NOW_MS) is not None
    assert found.file.read_at(found.position, found.size_bytes) == data


def test_what_is_not_durable_is_not_read_when_fsync_is_asked_for() -> None:
    log = open_log(durability="fsync")
    append(log, b"a")
    assert (log.high_watermark, log.durable_end, log.end_offset) == (0, 0, 1)
    assert log.read(0, 1000) == b""
    job = log.pending_sync()
    assert isinstance(job, SyncJob)
    append(log, b"b")
    assert log.pending_sync() is None, "one at a time"
    job.run()
    log.synced(job)
    assert (log.high_watermark, log.end_offset) == (1, 2)
    assert offsets(log.read(0, 1000)) == [0]
    sync(log)
    assert log.high_watermark == 2
    assert log.pending_sync() is None


@pytest.mark.parametrize("durability", ["interval", "os"])
def test_the_other_modes_show_records_at_once(durability: str) -> None:
    log = open_log(durability=durability)
    append(log, b"a")
    assert log.high_watermark == 1
    assert log.durable_end == 0


def test_os_mode_syncs_what_is_sealed_and_after_flush_messages() -> None:
    log = open_log(segment_bytes=150)
    append(log, b"a" * 50)
    assert log.pending_sync() is None
    append(log, b"b" * 50)
    sync(log)
    assert log.durable_end == 1
    log.update_config(LogConfig.of({"durability": "os", "flush.messages": 2}))
    assert log.pending_sync() is None
    append(log, b"c")
    sync(log)
    assert log.durable_end == 3


def test_a_repeated_batch_is_written_once_and_told_where() -> None:
    log = open_log()
    append(log, b"before")
    first = log.append(
        batch(b"a", b"b", producer_id=9, producer_epoch=0, base_sequence=0), leader_epoch=0, now_ms=1
    )
    again = log.append(
        batch(b"a", b"b", producer_id=9, producer_epoch=0, base_sequence=0), leader_epoch=0, now_ms=1
    )
    assert first == Appended(1, 3, -1, 0)
    assert again == Appended(1, 3, NOW_MS, 0, is_duplicate=True)
    assert log.end_offset == 3


@pytest.mark.parametrize("clean", [True, False])
def test_a_repetition_is_still_known_after_a_restart(clean: bool) -> None:
    files = MemoryFiles()
    log = open_log(files, segment_bytes=300)
    for sequence in range(6):
        sent = batch(b"x" * 40, producer_id=9, producer_epoch=0, base_sequence=sequence)
        assert isinstance(log.append(sent, leader_epoch=0, now_ms=NOW_MS), Appended)
    if clean:
        log.close()
    log = open_log(files, clean=clean)
    last = batch(b"x" * 40, producer_id=9, producer_epoch=0, base_sequence=5)
    assert log.append(last, leader_epoch=0, now_ms=NOW_MS) == Appended(5, 6, NOW_MS, 0, is_duplicate=True)
    ahead = batch(b"x", producer_id=9, producer_epoch=0, base_sequence=8)
    refused = log.append(ahead, leader_epoch=0, now_ms=NOW_MS)
    assert isinstance(refused, AppendRefused)
    assert refused.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert [producer.producer_id for producer in log.producers()] == [9]


def test_a_damaged_producer_snapshot_is_replaced_by_reading_the_log() -> None:
    files = MemoryFiles()
    log = open_log(files)
    log.append(batch(b"x", producer_id=9, producer_epoch=0, base_sequence=0), leader_epoch=0, now_ms=NOW_MS)
    log.close()
    path = "data/t-0/00000000000000000001.snapshot"
    files.open(path, writable=True).write_at(8, b"\xff")
    log = open_log(files)
    assert [producer.last_sequence for producer in log.producers()] == [0]
    assert not files.exists(path)


@pytest.mark.parametrize("base_offset", [2**31 + 1, 2**40, 2**63 - 9, 2**63 - 1])
def test_recovery_ends_the_log_at_a_base_offset_that_no_segment_reaches(base_offset: int) -> None:
    """It is not under the checksum, so one that a disk has spoiled looks like any other."""
    files = MemoryFiles()
    log = open_log(files)
    append(log, b"kept")
    append(log, b"spoiled")
    log.flush()
    second = [position for position, _ in iterate_headers(log.read(0, 1000))][1]
    path = "data/t-0/00000000000000000000.log"
    files.open(path, writable=True).write_at(second, base_offset.to_bytes(8, "big"))
    log = open_log(files, clean=False)
    assert (log.end_offset, offsets(log.read(0, 1000))) == (1, [0])
    assert append(log, b"next").first_offset == 1


def test_a_log_that_was_stopped_in_good_order_and_does_not_read_is_unusable() -> None:
    files = MemoryFiles()
    log = open_log(files, segment_bytes=150)
    for value in (b"x" * 50, b"y" * 50):
        append(log, value)
    log.close()
    files.open("data/t-0/00000000000000000000.log", writable=True).write_at(16, b"\x09")
    files.remove("data/t-0/leader-epoch-checkpoint")  # so that every batch is asked
    with pytest.raises(UnusableLog, match="batch magic 9"):
        open_log(files, segment_bytes=150)


def test_a_damaged_batch_does_not_shorten_its_segment() -> None:
    """Where its indexes have to be made anew, and cannot be: what was read of it before is read again."""
    files = MemoryFiles()
    log = open_log(files, segment_bytes=400)
    for value in (b"a" * 50, b"b" * 50, b"c" * 50, b"d" * 50):
        append(log, value)
    log.close()
    size_bytes, segment = log.size_bytes(), "data/t-0/00000000000000000000"
    second = [position for position, _ in iterate_headers(log.read(0, 1000))][1]
    files.open(f"{segment}.log", writable=True).write_at(second + 16, b"\x09")
    files.remove(f"{segment}.index")
    log = open_log(files, segment_bytes=400)
    for _ in range(2):
        assert log.read(2, 1000) == Refused(ErrorCode.CORRUPT_MESSAGE, "batch magic 9, expected 2")
        assert log.size_bytes() == size_bytes
    assert offsets(log.read(3, 1000)) == [3]


def test_the_brokers_own_batches_may_come_several_at_once() -> None:
    log = open_log()
    two = batch(b"a") + batch(b"b", b"c")
    refused = log.append(bytearray(two), leader_epoch=0, now_ms=NOW_MS)
    assert isinstance(refused, AppendRefused)
    assert log.append(two, leader_epoch=0, now_ms=NOW_MS, origin=Origin.COORDINATOR) == Appended(0, 3, -1, 0)
    assert offsets(log.read(0, 1000)) == [0, 1]


def test_bytes_that_cannot_be_stamped_are_copied() -> None:
    log = open_log()
    frozen = bytes(batch(b"a"))
    assert isinstance(log.append(memoryview(frozen), leader_epoch=5, now_ms=NOW_MS), Appended)
    assert log.end_offset == 1


def test_a_full_segment_is_followed_by_another() -> None:
    log = open_log(segment_bytes=300)
    for _ in range(4):
        append(log, b"x" * 100)
    assert [(info.base_offset, info.end_offset) for info in log.segments()] == [
        (0, 1),
        (1, 2),
        (2, 3),
        (3, 4),
    ]
    assert offsets(log.read(0, 10_000)) == [0], "one segment at a time, as Kafka"
    assert log.size_bytes() == sum(info.size_bytes for info in log.segments())


def test_segment_jitter_rolls_neighbours_at_different_times_and_never_late() -> None:
    ages = set()
    for partition in range(20):
        log = open_log(directory=f"data/t-{partition}", segment_ms=1000, segment_jitter_ms=500)
        append(log, b"first")
        age = next(
            ms
            for ms in range(0, 1100, 10)
            if append(log, b"x", timestamp=NOW_MS + ms) and len(log.segments()) > 1
        )
        assert 490 <= age <= 1010
        ages.add(age)
    assert len(ages) > 5


def test_segment_ms_counts_by_the_records_timestamps() -> None:
    log = open_log(segment_ms=1000)
    append(log, b"a", timestamp=5000)
    append(log, b"b", timestamp=6000)
    assert len(log.segments()) == 1
    append(log, b"c", timestamp=6001)
    assert [info.base_offset for info in log.segments()] == [0, 2]


def test_a_full_index_ends_the_segment() -> None:
    log = open_log(segment_index_bytes=24, index_interval_bytes=0)
    for i in range(6):
        append(log, b"x", timestamp=1000 + i)
    assert [info.base_offset for info in log.segments()] == [0, 2, 4]


def test_timestamps_find_records_across_segments() -> None:
    log = open_log(segment_bytes=300, index_interval_bytes=0)
    for i, timestamp in enumerate([100, 300, 200, 500, 400]):
        append(log, b"x" * 50, timestamp=timestamp, epoch=i)
    assert finish(log.offset_for_timestamp(0)) == (0, 100, 0)
    assert finish(log.offset_for_timestamp(101)) == (1, 300, 1)
    assert finish(log.offset_for_timestamp(301)) == (3, 500, 3)
    assert finish(log.offset_for_timestamp(501)) is None
    assert finish(log.max_timestamp()) == (3, 500, 3)
    assert finish(open_log().max_timestamp()) is None


def test_a_batch_of_log_append_time_is_found_by_that_time() -> None:
    log = open_log(message_timestamp_type="LogAppendTime")
    outcome = log.append(batch(b"a", b"b", timestamp=5), leader_epoch=0, now_ms=NOW_MS)
    assert outcome == Appended(0, 2, NOW_MS, 0)
    assert finish(log.offset_for_timestamp(6)) == (0, NOW_MS, 0)


def test_epochs_are_kept_and_answered() -> None:
    files = MemoryFiles()
    log = open_log(files)
    append(log, b"a", epoch=2)
    append(log, b"b", epoch=2)
    append(log, b"c", epoch=5)
    log.close()
    log = open_log(files)
    answers = [log.end_offset_for_epoch(epoch) for epoch in (-1, 0, 2, 3, 5, 6)]
    assert answers == [(-1, -1), (0, 0), (2, 2), (2, 2), (5, 3), (-1, -1)]
    assert files.open("data/t-0/leader-epoch-checkpoint").read_at(0, 100) == b"0\n2\n2 0\n5 2\n"


def test_a_lost_epoch_checkpoint_is_made_from_the_batches() -> None:
    files = MemoryFiles()
    log = open_log(files)
    append(log, b"a", epoch=2)
    append(log, b"c", epoch=5)
    log.close()
    files.open("data/t-0/leader-epoch-checkpoint", writable=True).truncate(3)
    log = open_log(files)
    assert log.end_offset_for_epoch(2) == (2, 1)
    assert files.open("data/t-0/leader-epoch-checkpoint").read_at(0, 100) == b"0\n2\n2 0\n5 1\n"


def test_an_epoch_that_wrote_nothing_is_gone_after_a_restart() -> None:
    files = MemoryFiles()
    log = open_log(files)
    append(log, b"a", epoch=2)
    log.assign_epoch(7)
    assert log.end_offset_for_epoch(7) == (7, 1)
    log.close()
    assert open_log(files).end_offset_for_epoch(7) == (-1, -1)


def test_delete_records_moves_the_start_and_never_back() -> None:
    log = open_log(segment_bytes=300)
    for _ in range(4):
        append(log, b"x" * 100)
    assert log.delete_records(2) == 2
    assert log.delete_records(1) == 2
    assert isinstance(log.delete_records(5), Refused)
    assert isinstance(log.read(1, 1000), Refused)
    work = log.apply_retention(NOW_MS)
    assert work is not None
    assert [info.base_offset for info in log.segments()] == [2, 3]
    assert work.due_ms == NOW_MS + 60_000
    assert all(path.endswith(".deleted") for path in work.paths)


def test_a_log_that_lost_its_end_begins_anew_at_its_start_offset() -> None:
    files = MemoryFiles()
    log = open_log(files)
    append(log, b"a")
    log = open_log(files, clean=False, start_offset=10)
    assert (log.start_offset, log.end_offset) == (10, 10)
    assert append(log, b"b").first_offset == 10
    assert open_log(files, clean=False, start_offset=10).end_offset == 11


def test_old_segments_go_by_their_largest_timestamp() -> None:
    log = open_log(segment_bytes=300, retention_ms=1000)
    for timestamp in (100, 5000, 200, 300):
        append(log, b"x" * 100, timestamp=timestamp)
    log.apply_retention(1101)
    assert log.start_offset == 1, "a young segment protects the older ones behind it"
    log.apply_retention(6001)
    assert log.start_offset == 4
    assert [info.base_offset for info in log.segments()] == [4]
    assert append(log, b"y").first_offset == 4


def test_size_retention_keeps_at_least_what_was_asked() -> None:
    log = open_log(segment_bytes=300, retention_bytes=400)
    for _ in range(4):
        append(log, b"x" * 100)
    one = log.segments()[0].size_bytes
    log.apply_retention(NOW_MS)
    assert len(log.segments()) == 3
    assert log.size_bytes() - one < 400 <= log.size_bytes()


def test_what_readers_have_not_been_offered_is_not_forgotten() -> None:
    log = open_log(durability="fsync", segment_bytes=300, retention_bytes=0)
    for _ in range(3):
        append(log, b"x" * 100)
    assert log.apply_retention(NOW_MS) is None
    sync(log)
    log.apply_retention(NOW_MS)
    assert log.start_offset == 3


def test_a_compacted_topic_keeps_what_is_old() -> None:
    log = open_log(segment_bytes=300, retention_ms=1, cleanup_policy="compact")
    for _ in range(3):
        append(log, b"x" * 100, timestamp=5)
    assert log.apply_retention(NOW_MS) is None


def test_a_clean_close_leaves_kafkas_files() -> None:
    files = MemoryFiles()
    log = open_log(files, segment_bytes=300)
    append(log, b"x" * 100)
    append(log, b"y" * 100)
    log.close()
    assert files.names("data/t-0") == [
        "00000000000000000000.index",
        "00000000000000000000.log",
        "00000000000000000000.timeindex",
        "00000000000000000001.index",
        "00000000000000000001.log",
        "00000000000000000001.snapshot",
        "00000000000000000001.timeindex",
        "00000000000000000002.snapshot",
        "leader-epoch-checkpoint",
        "partition.metadata",
    ]


def test_lost_indexes_are_made_again() -> None:
    files = MemoryFiles()
    log = open_log(files, segment_bytes=2000, index_interval_bytes=100)
    for i in range(40):
        append(log, b"x" * 50, timestamp=1000 + i)
    log.close()
    for name in files.names("data/t-0"):
        if name.endswith("index"):
            files.remove(f"data/t-0/{name}")
    log = open_log(files, segment_bytes=2000, index_interval_bytes=100)
    assert finish(log.offset_for_timestamp(1007)) == (7, 1007, 0)
    assert offsets(log.read(33, 150)) == [33]


def test_files_nobody_owns_are_swept() -> None:
    files = MemoryFiles()
    log = open_log(files)
    append(log, b"x")
    log.close()
    before = files.names("data/t-0")
    for name in (
        "00000000000000000000.log.deleted",
        "00000000000000000000.log.cleaned",
        "00000000000000000009.index",
        "leader-epoch-checkpoint.tmp",
        "00000000000000000009.snapshot",
    ):
        files.open(f"data/t-0/{name}", writable=True, create=True).close()
    open_log(files)
    assert files.names("data/t-0") == before


def test_anothers_directory_is_refused_and_left_alone() -> None:
    files = MemoryFiles()
    log = open_log(files)
    append(log, b"x")
    log.close()
    with pytest.raises(UnusableLog, match="belongs to topic id"):
        PartitionLog.open(files, "data/t-0", TopicId(UUID(int=8)), LogConfig(), now_ms=NOW_MS, clean=True)


def test_a_log_without_records_has_no_directory_and_is_read_as_empty() -> None:
    files = MemoryFiles()
    log = open_log(files, clean=False)
    found = log.locate(0, 1000)
    assert isinstance(found, FileSlice)
    assert log.read_slice(found) == log.read(0, 1000) == b""
    assert finish(log.offset_for_timestamp(0)) is None
    assert finish(log.max_timestamp()) is None
    assert log.apply_retention(NOW_MS) is None
    assert log.plan_cleaning(NOW_MS) is None
    assert log.delete_records(0) == 0
    assert log.pending_sync() is None
    log.close()
    assert log.failure is not None
    assert not files.exists("data")


def test_the_first_append_makes_the_directory_and_its_name_durable() -> None:
    files = MemoryFiles()
    files.make_directory("data")
    log = open_log(files, durability="fsync")
    append(log, b"x")
    assert "partition.metadata" in files.names("data/t-0")
    job = log.pending_sync()
    assert job is not None
    assert {"data", "data/t-0"} == set(job.directories)


def test_what_recovery_can_make_anew_is_synced_with_a_sealed_segment_and_not_before() -> None:
    files = MemoryFiles()
    log = open_log(files, durability="fsync", segment_bytes=200)
    append(log, b"x" * 60)
    job = log.pending_sync()
    assert job is not None
    assert job.paths == ()
    log.synced(job)
    append(log, b"x" * 60)
    job = log.pending_sync()
    assert job is not None
    assert set(job.paths) == {"data/t-0/partition.metadata", "data/t-0/leader-epoch-checkpoint"}


@pytest.mark.parametrize("name", ["partition.metadata", "leader-epoch-checkpoint"])
@pytest.mark.parametrize("left", [None, b"", b"0\n1\n0"])
def test_a_first_file_that_a_power_cut_took_is_made_anew(name: str, left: bytes | None) -> None:
    files = MemoryFiles()
    log = open_log(files)
    append(log, b"x", epoch=3)
    files.remove(f"data/t-0/{name}")
    if left is not None:
        files.open(f"data/t-0/{name}", writable=True, create=True).write_at(0, left)
    again = open_log(files, clean=False)
    assert offsets(again.read(0, 1000)) == [0]
    assert again.end_offset_for_epoch(3) == (3, 1)
    again.close()
    assert open_log(files).end_offset_for_epoch(3) == (3, 1)


def test_a_log_that_begins_late_and_has_no_directory_begins_there_again() -> None:
    files = MemoryFiles()
    log = open_log(files, start_offset=40)
    assert (log.start_offset, log.end_offset) == (40, 40)
    assert append(log, b"x").first_offset == 40
    log.close()
    assert offsets(open_log(files, start_offset=40).read(40, 1000)) == [40]


def test_a_closed_log_takes_no_more() -> None:
    log = open_log()
    log.close()
    refused = log.append(batch(b"x"), leader_epoch=0, now_ms=NOW_MS)
    assert isinstance(refused, AppendRefused)
    assert refused.code is ErrorCode.KAFKA_STORAGE_ERROR


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="counts descriptors")
@pytest.mark.parametrize("clean", [True, False])
def test_an_open_log_holds_no_descriptor_until_it_is_used(tmp_path: Path, clean: bool) -> None:
    before = open_descriptors()
    for i in range(20):
        log = open_log(OsFiles(), directory=f"{tmp_path}/t-{i}")
        append(log, b"x")
        log.close()
    logs = [open_log(OsFiles(), directory=f"{tmp_path}/t-{i}", clean=clean) for i in range(20)]
    assert open_descriptors() <= before
    assert [log.end_offset for log in logs] == [1] * 20


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="counts descriptors")
def test_old_segments_share_a_bounded_number_of_descriptors(tmp_path: Path) -> None:
    opened = OpenSegments(limit=3)
    log = open_log(OsFiles(), directory=f"{tmp_path}/t-0", opened=opened, segment_bytes=300)
    for _ in range(20):
        append(log, b"x" * 100)
    sync(log)
    before = open_descriptors() - len(opened)
    for offset in range(20):
        assert offsets(log.read(offset, 1000)) == [offset]
    assert len(opened) == 3
    assert open_descriptors() <= before + 3
