"""Dying at every operation a log makes on its disk: nothing synced is lost, and nothing is invented."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

import pytest

from leaselog.log import Appended, LogConfig, PartitionLog, remove_tree
from leaselog.model import TopicId
from leaselog.testing.disk import PowerCut, SimDisk
from leaselog.wire.record_batch import iterate_headers
from leaselog.wire.records import Record, build_batch, read_records

TOPIC = TopicId(UUID(int=7))
DIRECTORY = "data/t-0"
SEEDS = range(4)
#: the data directory's
SETUP_OPERATIONS = 2


@dataclass
class Story:
    """What the world outside the disk knows."""

    #: every batch handed to the log, as it was stamped, by its offset
    written: dict[int, bytes] = field(default_factory=dict)
    #: promised: all below survives
    acknowledged: int = 0
    #: what the data directory's checkpoint says
    recovery_point: int = 0
    #: readers were told that nothing below is left
    start: int = 0

    def append(self, log: PartitionLog, count: int, size: int) -> None:
        records = [Record(b"k%d" % i, b"v" * size, (), 1000 + log.end_offset + i) for i in range(count)]
        batch = build_batch(records)
        self.written[log.end_offset] = b""
        outcome = log.append(batch, leader_epoch=log.end_offset // 20, now_ms=5000)
        assert isinstance(outcome, Appended)
        self.written[outcome.first_offset] = bytes(batch)

    def sync(self, log: PartitionLog) -> None:
        job = log.pending_sync()
        if job is not None:
            job.run()
            log.synced(job)
        self.acknowledged = log.high_watermark


def new_disk() -> SimDisk:
    """With a data directory, which is the broker's to make durable."""
    disk = SimDisk()
    disk.make_directory("data")
    disk.sync_directory("")
    return disk


def open_log(disk: SimDisk, story: Story, *, clean: bool = False, **settings: object) -> PartitionLog:
    config = LogConfig.of({"segment.bytes": 700, "index.interval.bytes": 150, **settings})
    return PartitionLog.open(
        disk, DIRECTORY, TOPIC, config, now_ms=5000, clean=clean, recovery_point=story.recovery_point
    )


def contents(log: PartitionLog) -> dict[int, bytes]:
    """Every batch a reader can get."""
    found, offset = {}, log.start_offset
    while offset < log.high_watermark:
        data = log.read(offset, 300)
        assert isinstance(data, bytes)
        assert data
        for position, header in iterate_headers(data):
            found[header.base_offset] = data[position : position + header.size_bytes]
            offset = header.end_offset
    return found


def names_on(disk: SimDisk) -> list[str]:
    return disk.names(DIRECTORY) if disk.exists(DIRECTORY) else []


def everything_on(disk: SimDisk) -> dict[str, bytes]:
    paths = [f"{DIRECTORY}/{name}" for name in names_on(disk)]
    return {path: disk.open(path).read_at(0, disk.size_bytes(path)) for path in paths}


def a_day(disk: SimDisk, story: Story) -> None:
    """Appends, rolls, syncs, a checkpoint, DeleteRecords, retention, a clean stop and a second morning."""
    log = open_log(disk, story)
    for i in range(12):
        story.append(log, 1 + i % 3, 40 * (i % 4))
        if i % 3 == 2:
            story.sync(log)
        if i == 6:
            story.recovery_point = log.durable_end
    story.start = log.high_watermark // 2
    assert log.delete_records(story.start) == story.start
    work = log.apply_retention(5000)
    assert work is not None
    for path in work.paths:
        disk.remove(path)
    for i in range(5):
        story.append(log, 2, 30 * i)
    log.close()
    story.acknowledged = story.recovery_point = log.end_offset
    log = open_log(disk, story, clean=True)
    story.append(log, 3, 10)
    story.sync(log)
    story.append(log, 1, 500)


def check_recovered(disk: SimDisk, story: Story) -> None:
    log = open_log(disk, story)
    survived = contents(log)
    assert log.end_offset == log.high_watermark >= story.acknowledged
    for offset, batch in survived.items():
        assert story.written[offset] in (batch, b""), f"batch at {offset} is not what was written"
    promised = {offset for offset in story.written if story.start <= offset < story.acknowledged}
    assert promised <= survived.keys()
    known = sorted(offset for offset in story.written if log.start_offset <= offset < log.end_offset)
    assert sorted(survived) == known, "a hole, or a batch nobody wrote"
    once = everything_on(disk)
    again = open_log(disk, story)
    assert contents(again) == survived
    assert everything_on(disk) == once
    story.append(again, 2, 20)
    story.sync(again)
    assert again.high_watermark == again.end_offset
    assert len(contents(again)) == len(survived) + 1


def count_operations() -> int:
    disk = new_disk()
    a_day(disk, Story())
    return disk.operations


@pytest.mark.parametrize("seed", SEEDS)
def test_dying_at_any_operation_loses_nothing_acknowledged(seed: int) -> None:
    for cut_at in range(SETUP_OPERATIONS + 1, count_operations() + 1):
        disk, story = new_disk(), Story()
        disk.cut_at = cut_at
        with pytest.raises(PowerCut):
            a_day(disk, story)
        disk.crash(seed * 1000 + cut_at)
        try:
            check_recovered(disk, story)
        except Exception as error:
            raise AssertionError(f"replay with seed={seed} cut_at={cut_at}") from error


def test_dying_again_during_recovery_loses_nothing_either() -> None:
    first_deaths = range(40, count_operations(), 9)
    for cut_at in first_deaths:
        for second_cut in range(1, 60, 3):
            disk, story = new_disk(), Story()
            disk.cut_at = cut_at
            with pytest.raises(PowerCut):
                a_day(disk, story)
            disk.crash(cut_at)
            disk.cut_at = disk.operations + second_cut
            try:
                open_log(disk, story)
            except PowerCut:
                disk.crash(second_cut)
            disk.cut_at = None
            try:
                check_recovered(disk, story)
            except Exception as error:
                raise AssertionError(f"replay with cut_at={cut_at} second_cut={second_cut}") from error


@pytest.mark.parametrize("seed", SEEDS)
def test_a_killed_process_leaves_nothing_that_a_later_power_cut_takes(seed: int) -> None:
    for killed_at in range(SETUP_OPERATIONS + 1, count_operations() + 1, 3):
        disk, story = new_disk(), Story()
        disk.cut_at = killed_at
        with pytest.raises(PowerCut):
            a_day(disk, story)  # the process dies, the machine does not
        disk.cut_at = None
        log = open_log(disk, story)
        story.append(log, 2, 30)
        story.sync(log)
        disk.crash(seed * 1000 + killed_at)
        try:
            check_recovered(disk, story)
        except Exception as error:
            raise AssertionError(f"replay with seed={seed} killed_at={killed_at}") from error


def first_records(disk: SimDisk, names: dict[int, Story]) -> None:
    """Each partition of a topic that was just made gets a batch, one after the other, and each is synced."""
    logs = {i: _open_partition(disk, i) for i in names}
    for i, story in names.items():
        story.append(logs[i], 2, 30)
        story.sync(logs[i])


def _open_partition(disk: SimDisk, index: int) -> PartitionLog:
    return PartitionLog.open(disk, f"data/t-{index}", TOPIC, LogConfig(), now_ms=5000, clean=False)


@pytest.mark.parametrize("seed", SEEDS)
def test_dying_while_a_new_topic_gets_its_first_records_leaves_a_topic_that_works(seed: int) -> None:
    counted = new_disk()
    first_records(counted, {i: Story() for i in range(3)})
    for cut_at in range(SETUP_OPERATIONS + 1, counted.operations + 1):
        disk, stories = new_disk(), {i: Story() for i in range(3)}
        disk.cut_at = cut_at
        with pytest.raises(PowerCut):
            first_records(disk, stories)
        disk.crash(seed * 1000 + cut_at)
        for i, story in stories.items():
            log = _open_partition(disk, i)
            assert log.end_offset >= story.acknowledged, f"replay with seed={seed} cut_at={cut_at}"
            story.append(log, 1, 10)
            story.sync(log)
            assert log.end_offset_for_epoch(0) == (0, log.end_offset)
            held = contents(log)
            disk.crash(seed)
            assert contents(_open_partition(disk, i)) == held


def test_a_full_disk_ends_writing_and_keeps_what_was_written() -> None:
    disk, story = new_disk(), Story()
    log = open_log(disk, story, **{"segment.bytes": 100_000})
    story.append(log, 2, 100)
    story.sync(log)
    before = contents(log)
    disk.capacity_bytes = disk.used_bytes() + 150
    refused = log.append(build_batch([Record(b"k", b"v" * 500)]), leader_epoch=0, now_ms=5000)
    assert not isinstance(refused, Appended)
    assert refused.code.name == "KAFKA_STORAGE_ERROR"
    assert log.failure is not None
    assert log.failure.strerror == "No space left on device"
    assert contents(log) == before
    disk.capacity_bytes = None
    assert not isinstance(
        log.append(build_batch([Record(b"k", b"v")]), leader_epoch=0, now_ms=5000), Appended
    )
    assert contents(open_log(disk, story)) == before


def test_a_failed_sync_is_not_tried_again() -> None:
    disk, story = new_disk(), Story()
    log = open_log(disk, story)
    story.append(log, 2, 100)
    story.sync(log)
    story.append(log, 2, 10)
    disk.fails = lambda operation, path: operation == "sync"
    job = log.pending_sync()
    assert job is not None
    with pytest.raises(OSError) as failed:
        job.run()
    log.sync_failed(job, failed.value)
    disk.fails = lambda operation, path: False
    assert log.high_watermark == log.durable_end == 2
    assert log.failure is failed.value
    assert log.pending_sync() is None
    with pytest.raises(OSError):
        log.flush()
    assert not isinstance(
        log.append(build_batch([Record(b"k", b"v")]), leader_epoch=0, now_ms=5000), Appended
    )
    assert list(contents(log)) == [0]


def test_a_failed_write_is_cut_away() -> None:
    disk, story = new_disk(), Story()
    log = open_log(disk, story)
    story.append(log, 2, 100)
    size = disk.size_bytes(f"{DIRECTORY}/00000000000000000000.log")
    disk.fails = lambda operation, path: operation == "write"
    assert not isinstance(
        log.append(build_batch([Record(b"k", b"v")]), leader_epoch=0, now_ms=5000), Appended
    )
    assert disk.size_bytes(f"{DIRECTORY}/00000000000000000000.log") == size
    assert log.end_offset == 2


def test_an_unreadable_sector_refuses_the_reader() -> None:
    disk, story = new_disk(), Story()
    log = open_log(disk, story)
    story.append(log, 2, 100)
    story.sync(log)
    disk.fails = lambda operation, path: operation == "read"
    refused = log.read(0, 1000)
    assert not isinstance(refused, bytes)
    assert refused.code.name == "KAFKA_STORAGE_ERROR"


def test_the_directory_can_be_removed_while_open() -> None:
    disk, story = new_disk(), Story()
    log = open_log(disk, story)
    story.append(log, 2, 100)
    log.abandon()
    disk.rename(DIRECTORY, "data/t-0.x-delete")
    remove_tree(disk, "data/t-0.x-delete")
    assert disk.names("data") == []


@dataclass
class KeyedStory:
    """A compacted topic's: every record written, by its offset."""

    records: list[tuple[bytes, bytes | None]] = field(default_factory=list)
    acknowledged: int = 0
    recovery_point: int = 0

    def append(self, log: PartitionLog, number: int) -> None:
        del self.records[log.end_offset :]
        value = None if number % 5 == 4 else b"value %d" % number * (number % 4)
        pairs = [(b"key %d" % (number % 7), value), (b"key %d" % (number * 3 % 5), b"second %d" % number)]
        self.records += pairs
        outcome = log.append(
            build_batch([Record(key, value, (), 1000) for key, value in pairs]), leader_epoch=0, now_ms=5000
        )
        assert isinstance(outcome, Appended)


COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.0, "delete.retention.ms": 100_000}


def open_compacted(disk: SimDisk, story: KeyedStory) -> PartitionLog:
    config = LogConfig.of({"segment.bytes": 500, "index.interval.bytes": 150, **COMPACTED})
    return PartitionLog.open(
        disk, DIRECTORY, TOPIC, config, now_ms=5000, clean=False, recovery_point=story.recovery_point
    )


def clean_and_remove(disk: SimDisk, log: PartitionLog) -> None:
    job = log.plan_cleaning(5000)
    assert job is not None
    job.run()
    work = log.install(job, 5000)
    assert work is not None
    for path in work.paths:
        disk.remove(path)


def a_compacted_day(disk: SimDisk, story: KeyedStory) -> None:
    log = open_compacted(disk, story)
    for number in range(24):
        story.append(log, number)
        if number % 4 == 3:
            log.flush()
            story.acknowledged = log.high_watermark
        if number in (11, 23):
            # The recovery point is only written down now and then: cleaning goes on above the one on disk.
            clean_and_remove(disk, log)
        if number == 12:
            story.recovery_point = log.durable_end


def check_compacted(disk: SimDisk, story: KeyedStory) -> None:
    log = open_compacted(disk, story)
    assert log.end_offset >= story.acknowledged
    found: dict[bytes, bytes | None] = {}
    for offset, batch in contents(log).items():
        for header in [header for _, header in iterate_headers(batch)]:
            assert header.base_offset == offset
            for record in read_records(batch, header):
                assert story.records[record.offset] == (record.key, record.value)
                assert record.key is not None
                found[record.key] = record.value
    assert found == dict(story.records[: log.end_offset])
    left = [name for name in names_on(disk) if name.endswith((".cleaned", ".swap", ".deleted", ".tmp"))]
    assert left == []
    once = everything_on(disk)
    open_compacted(disk, story)
    assert everything_on(disk) == once
    for number in range(5):
        story.append(log, number)
    log.flush()
    clean_and_remove(disk, log)


@pytest.mark.parametrize("seed", SEEDS)
def test_dying_while_cleaning_loses_no_last_value(seed: int) -> None:
    counted = new_disk()
    a_compacted_day(counted, KeyedStory())
    for cut_at in range(SETUP_OPERATIONS + 1, counted.operations + 1):
        disk, story = new_disk(), KeyedStory()
        disk.cut_at = cut_at
        with pytest.raises(PowerCut):
            a_compacted_day(disk, story)
        disk.crash(seed * 1000 + cut_at)
        try:
            check_compacted(disk, story)
        except Exception as error:
            raise AssertionError(f"replay with seed={seed} cut_at={cut_at}") from error
