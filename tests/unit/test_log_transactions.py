"""Transactions in one partition's log: what is stable, which are aborted, and that a restart changes neither."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest

from leaselog.broker.records.partition import Partition
from leaselog.log import Appended, AppendRefused, LogConfig, MemoryFiles, Origin, PartitionLog
from leaselog.log.aborted_index import AbortedIndex, AbortedTransaction
from leaselog.model import ErrorCode, TopicId, TopicPartition
from leaselog.wire.end_markers import EndMarker, build_end_marker
from leaselog.wire.records import Record, build_batch

TOPIC = TopicId(UUID(int=7))
NOW_MS = 1_000_000
DIRECTORY = "data/t-0"


def open_log(
    files: MemoryFiles | None = None, *, clean: bool = False, recovery_point: int = 0, **settings: object
) -> PartitionLog:
    names = {name.replace("_", "."): value for name, value in settings.items()}
    return PartitionLog.open(
        MemoryFiles() if files is None else files,
        DIRECTORY,
        TOPIC,
        LogConfig.of({"durability": "os", **names}),
        now_ms=NOW_MS,
        clean=clean,
        recovery_point=recovery_point,
    )


class Writer:
    """A transactional producer, and its coordinator."""

    def __init__(self, log: PartitionLog, producer_id: int, epoch: int = 0) -> None:
        self.log, self.producer_id, self.epoch, self.sequence = log, producer_id, epoch, 0

    def write(self, count: int = 1, *, size: int = 1) -> int:
        records = [Record(b"k", b"v" * size, (), NOW_MS)] * count
        batch = build_batch(
            records,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=self.sequence,
            is_transactional=True,
        )
        outcome = self.log.append(batch, leader_epoch=0, now_ms=NOW_MS)
        assert isinstance(outcome, Appended), outcome
        self.sequence += count
        return outcome.first_offset

    def end(self, *, commit: bool, coordinator_epoch: int = 0) -> int:
        marker = EndMarker(commit, coordinator_epoch)
        batch = build_end_marker(self.producer_id, self.epoch, marker, now_ms=NOW_MS)
        outcome = self.log.append(batch, leader_epoch=0, now_ms=NOW_MS, origin=Origin.COORDINATOR)
        assert isinstance(outcome, Appended), outcome
        return outcome.first_offset


def plain(log: PartitionLog, count: int = 1, *, size: int = 1) -> None:
    outcome = log.append(
        build_batch([Record(b"k", b"v" * size, (), NOW_MS)] * count), leader_epoch=0, now_ms=NOW_MS
    )
    assert isinstance(outcome, Appended)


def sync(log: PartitionLog) -> None:
    job = log.pending_sync()
    assert job is not None
    job.run()
    log.synced(job)


def test_nothing_beyond_the_first_open_transaction_is_stable() -> None:
    log = open_log()
    plain(log, 3)
    assert log.last_stable_offset == 3
    one, other = Writer(log, 1), Writer(log, 2)
    one.write(2)
    other.write()
    plain(log)
    assert (log.last_stable_offset, log.high_watermark) == (3, 7)
    one.end(commit=True)
    assert log.last_stable_offset == 5
    other.end(commit=False)
    assert log.last_stable_offset == log.high_watermark == 9


def test_a_marker_that_is_not_durable_ends_nothing_for_readers() -> None:
    log = open_log(durability="fsync")
    writer = Writer(log, 1)
    writer.write(2)
    sync(log)
    assert (log.last_stable_offset, log.high_watermark) == (0, 2)
    writer.end(commit=False)
    assert (log.last_stable_offset, log.high_watermark) == (0, 2)
    sync(log)
    assert (log.last_stable_offset, log.high_watermark) == (3, 3)


def test_aborted_transactions_are_found_by_the_offsets_they_touch() -> None:
    log = open_log()
    one, other, third = Writer(log, 1), Writer(log, 2), Writer(log, 3)
    one.write(2)  # 0, 1
    other.write(2)  # 2, 3
    one.end(commit=False)  # 4
    third.write()  # 5
    other.end(commit=True)  # 6
    third.end(commit=False)  # 7
    first, last = AbortedTransaction(1, 0, 4, 2), AbortedTransaction(3, 5, 7, 8)
    assert log.aborted_in(0, 8) == [first, last]
    assert log.aborted_in(0, 5) == [first]
    assert log.aborted_in(4, 6) == [first, last]
    assert log.aborted_in(5, 6) == [last]
    assert log.aborted_in(8, 9) == []


def test_a_marker_without_a_transaction_is_no_aborted_transaction() -> None:
    log = open_log()
    Writer(log, 1).end(commit=False)
    assert (log.aborted_in(0, 1), log.last_stable_offset) == ([], 1)


def test_a_transaction_over_many_segments_is_in_the_index_of_the_one_with_its_marker() -> None:
    files = MemoryFiles()
    log = open_log(files, segment_bytes=300)
    writer = Writer(log, 1)
    for _ in range(6):
        writer.write(size=60)
    marker = writer.end(commit=False)
    plain(log, size=100)
    plain(log, size=100)
    names = [name for name in files.names(DIRECTORY) if name.endswith(".txnindex")]
    (base,) = (int(name[:20]) for name in names)
    assert base > 0
    assert files.open(f"{DIRECTORY}/{names[0]}").read_at(0, 99) == bytes_of(1, 0, marker, marker + 1)
    assert log.aborted_in(0, 1) == [AbortedTransaction(1, 0, marker, marker + 1)]


def bytes_of(*fields: int) -> bytes:
    return b"\0\0" + b"".join(field.to_bytes(8, "big") for field in fields)


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("segment_bytes", [400, 1 << 20])
def test_what_is_stable_open_and_aborted_outlives_a_restart(clean: bool, segment_bytes: int) -> None:
    files = MemoryFiles()
    log = open_log(files, segment_bytes=segment_bytes)
    one, other = Writer(log, 1), Writer(log, 2, epoch=4)
    for round_ in range(5):
        one.write(2, size=50)
        plain(log)
        one.end(commit=round_ % 2 == 0, coordinator_epoch=round_)
    other.write()
    plain(log)

    def told(log: PartitionLog) -> tuple[object, ...]:
        return (
            log.last_stable_offset,
            log.aborted_in(0, log.end_offset),
            sorted(log.producers()),
            log.is_in_transaction(2, 4),
        )

    before = told(log)
    if clean:
        log.close()
    again = open_log(files, clean=clean, segment_bytes=segment_bytes)
    assert told(again) == before
    Writer(again, 2, epoch=4).end(commit=False)
    assert again.last_stable_offset == again.end_offset
    told_last = told(again)
    again.close()
    assert told(open_log(files, clean=True, segment_bytes=segment_bytes)) == told_last


@pytest.mark.parametrize("damage", ["gone", "torn", "nonsense"])
def test_a_damaged_index_of_aborted_transactions_is_made_anew_from_the_batches(damage: str) -> None:
    files = MemoryFiles()
    log = open_log(files, segment_bytes=400)
    for producer_id in range(1, 8):
        writer = Writer(log, producer_id)
        writer.write(size=50)
        writer.end(commit=False)
    before = log.aborted_in(0, 100)
    assert len(before) == 7
    log.close()
    path = next(f"{DIRECTORY}/{name}" for name in files.names(DIRECTORY) if name.endswith(".txnindex"))
    file = files.open(path, writable=True)
    if damage == "torn":
        file.truncate(20)
    elif damage == "nonsense":
        file.write_at(0, b"\x7f" * 34)
    else:
        files.remove(path)
        # Nobody can tell it from one without aborted transactions, except where everything is read again.
        assert open_log(files, clean=False, segment_bytes=400).aborted_in(0, 100) == before
        return
    assert open_log(files, clean=True, segment_bytes=400).aborted_in(0, 100) == before
    assert open_log(files, clean=True, segment_bytes=400).aborted_in(0, 100) == before


def test_an_abort_that_a_power_cut_took_is_in_no_index() -> None:
    files = MemoryFiles()
    log = open_log(files)
    writer = Writer(log, 1)
    writer.write()
    size_bytes = log.size_bytes()
    writer.end(commit=False)
    log.close()
    files.open(f"{DIRECTORY}/{0:020d}.log", writable=True).truncate(size_bytes)
    cut = open_log(files)
    assert (cut.aborted_in(0, 9), cut.last_stable_offset, cut.end_offset) == ([], 0, 1)
    cut.close()
    assert open_log(files, clean=True).aborted_in(0, 9) == []


def test_delete_records_past_an_open_transaction_moves_what_is_stable_along() -> None:
    log = open_log()
    writer = Writer(log, 1)
    writer.write(4)
    plain(log)
    assert log.delete_records(3) == 3
    assert log.last_stable_offset == 3
    assert log.delete_records(5) == 5
    assert log.last_stable_offset == 5
    writer.end(commit=False)
    assert log.last_stable_offset == 6


def test_a_segment_takes_its_index_with_it() -> None:
    files = MemoryFiles()
    log = open_log(files, segment_bytes=200, retention_ms=1)
    for producer_id in (1, 2, 3):
        writer = Writer(log, producer_id)
        writer.write(size=80)
        writer.end(commit=False)
    work = log.apply_retention(NOW_MS * 2)
    assert work is not None
    assert sum(path.endswith(".txnindex.deleted") for path in work.paths) == 3
    assert log.aborted_in(log.start_offset, 100) == []


def test_a_marker_is_written_where_the_topics_batches_may_be_no_larger_than_nothing() -> None:
    log = open_log()
    writer = Writer(log, 1)
    writer.write()
    log.update_config(LogConfig.of({"durability": "os", "max.message.bytes": 10}))
    writer.end(commit=True)
    assert log.last_stable_offset == 2


def test_a_client_may_not_write_a_marker() -> None:
    log = open_log()
    batch = build_end_marker(1, 0, EndMarker(True, 0), now_ms=NOW_MS)
    outcome = log.append(batch, leader_epoch=0, now_ms=NOW_MS)
    assert isinstance(outcome, AppendRefused)
    assert outcome.code is ErrorCode.INVALID_RECORD


def test_an_index_of_aborted_transactions_ends_a_segment_when_it_is_full() -> None:
    log = open_log(segment_index_bytes=34 * 3)
    writer = Writer(log, 1)
    for _ in range(7):
        writer.write()
        writer.end(commit=False)
    assert len(log.segments()) == 3
    assert len(log.aborted_in(0, 100)) == 7


def test_bytes_that_no_index_was_ever_written_as_are_none() -> None:
    index = AbortedIndex()
    index.append(AbortedTransaction(1, 0, 4, 2))
    index.append(AbortedTransaction(3, 5, 7, 8))
    data = index.to_bytes()
    read = AbortedIndex.from_bytes(0, data)
    assert read is not None
    assert read.entries() == index.entries()
    assert AbortedIndex.from_bytes(5, data) is None  # the first marker lies before the segment
    assert AbortedIndex.from_bytes(0, data[34:] + data[:34]) is None
    assert AbortedIndex.from_bytes(0, b"\0\1" + data[2:]) is None
    assert AbortedIndex.from_bytes(0, data[:-1]) is None


def test_the_seam_writes_a_marker_and_answers_when_it_is_safe() -> None:
    async def story() -> None:
        log, dirty = open_log(durability="fsync"), list[Partition]()
        woken = list[int]()
        partition = Partition(
            TopicPartition("t", 0),
            TOPIC,
            log,
            mark_dirty=dirty.append,
            wake=lambda _: woken.append(log.last_stable_offset),
        )
        Writer(log, 1).write()
        sync(log)
        answer = partition.write_marker(1, 1, 5, True, now_ms=NOW_MS, transaction_version=2)
        assert not answer.done()
        assert dirty == [partition]
        sync(log)
        partition.synced()
        assert isinstance(await answer, Appended)
        assert woken == [2]
        stale = await partition.write_marker(1, 0, 5, True, now_ms=NOW_MS, transaction_version=2)
        fenced = await partition.write_marker(1, 2, 4, True, now_ms=NOW_MS, transaction_version=2)
        assert isinstance(stale, AppendRefused)
        assert isinstance(fenced, AppendRefused)
        assert stale.code is ErrorCode.INVALID_PRODUCER_EPOCH
        assert fenced.code is ErrorCode.TRANSACTION_COORDINATOR_FENCED

    asyncio.run(story())
