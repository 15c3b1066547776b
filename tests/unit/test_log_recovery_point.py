"""Recovery points: an unclean start reads little of a log, and finds what it would have found by reading all of it."""

from __future__ import annotations

import errno
from random import Random
from typing import Any
from uuid import UUID

import pytest

from leaselog.log import Appended, File, LogConfig, MemoryFiles, Origin, PartitionLog, finish
from leaselog.log.layout import INDEX, LOG, RECOVERY_POINT, TIME_INDEX, segment_path
from leaselog.log.recovery_point import RecoveryPoint, read_point
from leaselog.model import TopicId
from leaselog.wire.record_batch import iterate_headers
from leaselog.wire.records import Record, build_batch

TOPIC, OTHER_TOPIC = TopicId(UUID(int=7)), TopicId(UUID(int=8))
NOW_MS = 1_000_000
POINT_BYTES = LogConfig().recovery_point_interval_bytes
DIRECTORY = "data/t-0"
POINT = f"{DIRECTORY}/{RECOVERY_POINT}"


class WatchedFiles(MemoryFiles):
    def __init__(self) -> None:
        super().__init__()
        self.read_bytes = 0
        self.done: list[tuple[str, str]] = []
        self.refuses: str | None = None

    def open(self, path: str, *, writable: bool = False, create: bool = False) -> File:
        if create and self.refuses is not None and self.refuses in path:
            raise OSError(errno.ENOSPC, "no space left on device", path)
        return WatchedFile(self, path, super().open(path, writable=writable, create=create))

    def copy(self) -> WatchedFiles:
        """As the disk is after the process was killed."""
        other = WatchedFiles()
        other.make_directory(DIRECTORY)
        for name in self.names(DIRECTORY):
            path = f"{DIRECTORY}/{name}"
            size_bytes = self.size_bytes(path)
            other.open(path, writable=True, create=True).write_at(0, self.open(path).read_at(0, size_bytes))
        return other


class WatchedFile:
    def __init__(self, files: WatchedFiles, path: str, file: File) -> None:
        self._files, self._path, self._file = files, path.removeprefix(f"{DIRECTORY}/"), file

    def read_at(self, position: int, size_bytes: int) -> bytes:
        data = self._file.read_at(position, size_bytes)
        self._files.read_bytes += len(data)
        return data

    def write_at(self, position: int, data: Any) -> None:
        self._files.done.append(("write", self._path))
        self._file.write_at(position, data)

    def sync(self) -> None:
        self._files.done.append(("sync", self._path))
        self._file.sync()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def open_log(files: MemoryFiles, *, topic: TopicId = TOPIC, **settings: object) -> PartitionLog:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return PartitionLog.open(files, DIRECTORY, topic, LogConfig.of(named), now_ms=NOW_MS, clean=False)


def append(log: PartitionLog, size_bytes: int = 10, *, epoch: int = 0, **producer: int) -> None:
    batch = build_batch([Record(None, bytes(size_bytes), (), NOW_MS + log.end_offset)], **producer)
    outcome = log.append(batch, leader_epoch=epoch, now_ms=NOW_MS, origin=Origin.CLIENT)
    assert isinstance(outcome, Appended), outcome


def sync(log: PartitionLog) -> None:
    job = log.pending_sync()
    assert job is not None
    job.run()
    log.synced(job)


def killed(batches: int, **settings: object) -> WatchedFiles:
    """What a broker leaves that was killed: so many batches of one record, synced in hundreds."""
    files = WatchedFiles()
    log = open_log(files, **settings)
    for number in range(batches):
        append(log)
        if number % 100 == 99:
            sync(log)
    return files.copy()


def offsets(log: PartitionLog) -> list[int]:
    found, at = [], log.start_offset
    while at < log.end_offset:
        data = log.read(at, 1 << 20)
        assert isinstance(data, bytes)
        found += [header.base_offset for _, header in iterate_headers(data)]
        at = found[-1] + 1
    return found


def seen(log: PartitionLog) -> dict[str, object]:
    """Everything that recovery has to find out."""
    return {
        "offsets": offsets(log),
        "segments": log.segments(),
        "epochs": [log.end_offset_for_epoch(epoch) for epoch in range(12)],
        "producers": sorted((p.producer_id, p.epoch, p.last_sequence) for p in log.producers()),
        "largest": finish(log.max_timestamp()),
        "by time": [finish(log.offset_for_timestamp(NOW_MS + at)) for at in range(0, log.end_offset, 97)],
    }


def test_a_log_of_many_small_batches_is_recovered_by_reading_few_of_them() -> None:
    few, many = killed(10_000), killed(40_000)
    read = []
    for files, count in ((few, 10_000), (many, 40_000)):
        files.read_bytes = 0
        assert open_log(files).end_offset == count
        read.append(files.read_bytes)
    assert max(read) < 5 * POINT_BYTES
    files.remove(POINT)
    files.read_bytes = 0
    assert open_log(files).end_offset == 40_000
    assert files.read_bytes > 10 * POINT_BYTES, "what it is without one"


def test_a_log_asked_for_a_point_is_recovered_from_its_very_end() -> None:
    files = WatchedFiles()
    log = open_log(files)
    for _ in range(500):
        append(log)
    sync(log)
    assert log.pending_sync() is None
    assert log.ask_for_point()
    sync(log)
    assert not log.ask_for_point(), "there is nothing more to say"
    copy = files.copy()
    assert open_log(copy).end_offset == 500
    point = read_point(copy, DIRECTORY, TOPIC)
    assert point is not None
    assert point.end_offset == 500


@pytest.mark.parametrize("seed", range(12))
def test_with_a_point_recovery_finds_what_it_finds_without(seed: int) -> None:
    """Segments, epochs, producers, unsynced and torn ends; died at some moment."""
    chance = Random(seed)
    settings = {
        "segment_bytes": chance.choice((60_000, 1 << 20, 1 << 30)),
        "index_interval_bytes": chance.choice((0, 4096)),
    }
    files, epoch, sequences = WatchedFiles(), 0, dict.fromkeys(range(3), 0)
    log = open_log(files, **settings)
    for _ in range(chance.randrange(300, 1500)):
        if chance.random() < 0.01:
            epoch += 1
        producer: dict[str, int] = {}
        if chance.random() < 0.5:
            producer_id = chance.randrange(3)
            producer = {
                "producer_id": producer_id,
                "producer_epoch": 0,
                "base_sequence": sequences[producer_id],
            }
            sequences[producer_id] += 1
        append(log, chance.choice((1, 10, 3000)), epoch=epoch, **producer)
        if chance.random() < 0.1:
            if chance.random() < 0.3:
                log.ask_for_point()
            sync(log)
    copy = files.copy()
    path = f"{DIRECTORY}/{max(name for name in copy.names(DIRECTORY) if name.endswith(LOG))}"
    if chance.random() < 0.5:
        copy.open(path, writable=True).write_at(copy.size_bytes(path), b"torn" * 30)
    without = copy.copy()
    assert copy.exists(POINT)
    without.remove(POINT)
    recovered, read_whole = open_log(copy, **settings), open_log(without, **settings)
    assert seen(recovered) == seen(read_whole)
    append(recovered, epoch=epoch)
    sync(recovered)
    again = open_log(copy.copy(), **settings)
    assert offsets(again) == offsets(recovered)


def spoiled(point: RecoveryPoint, **changes: Any) -> bytes:
    return point._replace(**changes).to_bytes()


def test_a_point_that_does_not_fit_is_as_good_as_none() -> None:
    files = killed(10_000)
    point = read_point(files, DIRECTORY, TOPIC)
    assert point is not None
    log_path = segment_path(DIRECTORY, 0, LOG)
    whole = point.to_bytes()
    contents = {
        "empty": b"",
        "torn": whole[:-1],
        "rotten": whole[:40] + bytes([whole[40] ^ 1]) + whole[41:],
        "of another version": b"\x00\x02" + whole[2:],
        "of another topic": spoiled(point, topic_id=OTHER_TOPIC),
        "of another segment": spoiled(point, base_offset=5),
        "within a batch": spoiled(point, size_bytes=point.size_bytes - 1),
        "another offset": spoiled(point, end_offset=point.end_offset - 1),
        "beyond the file": spoiled(point, size_bytes=1 << 40),
        "of other index entries": spoiled(point, offsets=point.offsets._replace(crc=1)),
        "of more index entries": spoiled(point, times=point.times._replace(entries=10_000)),
    }
    for what, data in contents.items():
        copy = files.copy()
        file = copy.open(POINT, writable=True)
        file.truncate(0)
        file.write_at(0, data)
        log = open_log(copy)
        assert offsets(log) == list(range(10_000)), what
        assert finish(log.max_timestamp()) == (9_999, NOW_MS + 9_999, 0), what
    for suffix in (INDEX, TIME_INDEX):
        copy = files.copy()
        copy.open(segment_path(DIRECTORY, 0, suffix), writable=True).write_at(8, b"\xff")
        assert offsets(open_log(copy)) == list(range(10_000)), suffix
        copy.remove(segment_path(DIRECTORY, 0, suffix))
        assert offsets(open_log(copy)) == list(range(10_000)), suffix
    copy = files.copy()
    copy.open(log_path, writable=True).write_at(point.last_batch_at + 65, b"\xff")
    assert open_log(copy).end_offset == point.end_offset - 1, "the batch before it is the last that is whole"


def test_a_point_is_written_when_all_below_it_is_on_the_disk() -> None:
    files = WatchedFiles()
    log = open_log(files)
    for _ in range(100):
        append(log, 5000)
    files.done.clear()
    job = log.pending_sync()
    assert job is not None
    assert ("write", f"{RECOVERY_POINT}.tmp") not in files.done
    job.run()
    synced = files.done.index(("sync", f"{0:020d}.log"))
    assert files.done.index(("write", f"{RECOVERY_POINT}.tmp")) > synced
    files.done.clear()


@pytest.mark.parametrize("refused", [RECOVERY_POINT, INDEX, TIME_INDEX])
def test_a_point_that_could_not_be_written_fails_nothing_and_the_next_says_everything(refused: str) -> None:
    files = WatchedFiles()
    log = open_log(files)
    for attempt in range(3):
        files.refuses = refused if attempt == 1 else None
        for _ in range(100):
            append(log, 5000)
        sync(log)
    assert log.failure is None
    assert log.durable_end == 300
    copy = files.copy()
    point = read_point(copy, DIRECTORY, TOPIC)
    assert point is not None
    assert point.end_offset == 300
    copy.read_bytes = 0
    assert offsets(open_log(copy)) == list(range(300))


def test_a_point_ahead_of_a_log_that_lost_what_it_had_synced_is_gone_for_good() -> None:
    files = killed(10_000)
    path = segment_path(DIRECTORY, 0, LOG)
    files.open(path, writable=True).truncate(files.size_bytes(path) // 2)
    log = open_log(files)
    assert 0 < log.end_offset < 10_000
    assert not files.exists(POINT)


def test_a_log_that_was_synced_to_its_end_is_not_synced_again_at_the_start() -> None:
    """Of ten thousand partitions most are at rest when the broker dies."""
    for batches, recovery_point, syncs in ((300, 300, False), (300, 299, True), (301, 300, True)):
        files = killed(batches)
        files.done.clear()
        log = PartitionLog.open(
            files,
            DIRECTORY,
            TOPIC,
            LogConfig(),
            now_ms=NOW_MS,
            clean=False,
            recovery_point=recovery_point,
        )
        assert log.end_offset == batches
        assert (("sync", f"{0:020d}.log") in files.done) is syncs
    files = killed(300)
    path = segment_path(DIRECTORY, 0, LOG)
    files.open(path, writable=True).write_at(files.size_bytes(path), b"torn")
    files.done.clear()
    log = PartitionLog.open(
        files, DIRECTORY, TOPIC, LogConfig(), now_ms=NOW_MS, clean=False, recovery_point=300
    )
    assert ("sync", f"{0:020d}.log") in files.done, "what was cut off is not to come back"


def test_without_syncs_there_are_no_points() -> None:
    files = WatchedFiles()
    log = open_log(files, durability="os")
    for _ in range(100):
        append(log, 5000)
    assert not log.ask_for_point()
    assert log.pending_sync() is None
    assert not files.exists(POINT)


# -- what recovery cuts off ----------------------------------------------------------------------------------


def test_what_is_cut_off_is_gone_from_the_file() -> None:
    files = killed(300)
    path = segment_path(DIRECTORY, 0, LOG)
    whole_bytes = files.size_bytes(path)
    files.open(path, writable=True).write_at(whole_bytes, b"torn" * 100)
    log = open_log(files)
    assert log.cut_bytes == 400
    assert files.size_bytes(path) == log.size_bytes() == whole_bytes


def test_a_batch_behind_a_torn_one_does_not_come_back_when_the_log_has_grown_over_the_gap() -> None:
    """Of equal size, so that the old one would follow the new one without a seam."""
    files = killed(3)
    path = segment_path(DIRECTORY, 0, LOG)
    batch_bytes = files.size_bytes(path) // 3
    files.open(path, writable=True).write_at(batch_bytes + 65, b"\xff")
    log = open_log(files)
    assert log.end_offset == 1
    append(log)
    assert offsets(open_log(files.copy())) == [0, 1]
