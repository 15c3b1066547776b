"""What a share fetch reads from a disk that does not always return what was written."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from leaselog.broker.lending import kept_reads as share_kept_reads
from leaselog.broker.lending.kept_reads import KeptReads
from leaselog.broker.lending.reading import MAX_READS, BatchesRead, ShareReader
from leaselog.log import Appended, LogConfig, PartitionLog
from leaselog.model import ErrorCode, Refused, Span, TopicId
from leaselog.testing.disk import SimDisk
from leaselog.wire.records import Record, build_batch

#: batches of three records
SPANS = [Span(0, 3), Span(3, 6), Span(6, 9)]
#: where the lowest byte of a batch's base offset is, and some byte under its checksum
OFFSET_AT, UNDER_CHECKSUM = 7, 40


class Disk:
    """One partition, and how often its log was read."""

    def __init__(self, value_bytes: int = 1) -> None:
        self.disk = SimDisk()
        self.disk.make_directory("data")
        self.log = PartitionLog.open(
            self.disk,
            "data/t-0",
            TopicId(UUID(int=7)),
            LogConfig.of({"durability": "os"}),
            now_ms=0,
            clean=True,
        )
        for span in SPANS:
            records = [Record(b"k", b"%d" % offset * value_bytes) for offset in range(span.start, span.end)]
            assert isinstance(self.log.append(build_batch(records), leader_epoch=0, now_ms=0), Appended)
        self.reads = 0

    def spoil(self, how: Callable[[bytes, int], bytes]) -> None:
        """Given what is there, and the number of the read."""

        def spoilt(path: str, data: bytes) -> bytes:
            if len(data) < 100:  # looks for a place, and reads no records
                return data
            self.reads += 1
            return how(data, self.reads)

        self.disk.spoils = spoilt

    def read(self, offset: int = 0) -> BatchesRead | Refused:
        return ShareReader(self.log, KeptReads()).read(
            offset, records=9, max_bytes=1 << 20, min_one_batch=True
        )


def flipped(data: bytes, at: int, bit: int = 0) -> bytes:
    wrong = bytearray(data)
    wrong[at] ^= 1 << bit
    return bytes(wrong)


def whole(read: BatchesRead | Refused) -> BatchesRead:
    assert isinstance(read, BatchesRead)
    assert read.spans == SPANS
    return read


@pytest.mark.parametrize("at", [OFFSET_AT, UNDER_CHECKSUM, 9])
def test_a_bit_that_is_flipped_once_does_not_come_through(at: int) -> None:
    disk = Disk()
    right = whole(disk.read()).data.tobytes()
    disk.spoil(lambda data, number: flipped(data, at) if number == 1 else data)
    assert whole(disk.read()).data.tobytes() == right


def test_a_short_read_is_read_again() -> None:
    disk = Disk()
    right = whole(disk.read()).data.tobytes()
    disk.spoil(lambda data, number: data[:-1] if number == 1 else data)
    assert whole(disk.read()).data.tobytes() == right


def test_offsets_that_are_wrong_for_once_are_no_gap() -> None:
    """Whoever believes that a batch begins later gives up the records before it."""
    disk = Disk()
    disk.spoil(lambda data, number: flipped(data, OFFSET_AT, 6) if number == 1 else data)
    whole(disk.read())
    assert disk.reads == 2


def test_a_disk_that_never_returns_the_same_is_refused() -> None:
    disk = Disk()
    disk.spoil(lambda data, number: flipped(data, UNDER_CHECKSUM + number))
    refused = disk.read()
    assert isinstance(refused, Refused)
    assert (refused.code, disk.reads) == (ErrorCode.CORRUPT_MESSAGE, MAX_READS)


def test_records_that_are_spoilt_for_good_go_to_the_consumer_who_rejects_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As on Apache Kafka. Held back they would hold up all that follow them, for ever."""
    disk = Disk()
    disk.spoil(lambda data, number: flipped(data, UNDER_CHECKSUM))
    whole(disk.read())
    assert "what was read is not what was written" in caplog.text


def test_what_compaction_took_is_a_gap_and_no_damage(caplog: pytest.LogCaptureFixture) -> None:
    disk = Disk()
    first, second, third = (len(whole(disk.read()).data) // 3 * n for n in (1, 2, 3))
    disk.spoil(lambda data, number: data[:first] + data[second:third])
    read = disk.read()
    assert isinstance(read, BatchesRead)
    assert read.spans == [SPANS[0], SPANS[2]]
    assert caplog.text == ""


def test_a_batch_that_began_before_is_read_once_if_it_was_read_before() -> None:
    disk = Disk(value_bytes=20_000)  # more than is kept in memory
    disk.spoil(lambda data, number: data)
    reader, reads = ShareReader(disk.log, KeptReads()), []
    for offset in (0, 1, 2):
        before = disk.reads
        read = reader.read(offset, records=1, max_bytes=1, min_one_batch=True)
        assert isinstance(read, BatchesRead)
        assert read.spans == SPANS[:1]
        reads.append(disk.reads - before)
    assert reads == [1, 1, 1]
    assert isinstance(
        ShareReader(disk.log, KeptReads()).read(1, records=1, max_bytes=1, min_one_batch=True), BatchesRead
    )
    assert disk.reads == 5, "whoever has not seen it begin looks twice"


def test_all_readers_together_keep_so_much_and_the_oldest_lets_go_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = KeptReads()
    readers = [ShareReader(Disk().log, kept) for _ in range(5)]

    def read(reader: ShareReader) -> None:
        assert isinstance(reader.read(0, records=1, max_bytes=1 << 20, min_one_batch=True), BatchesRead)

    read(readers[0])
    one = readers[0].kept_bytes
    assert one > 0
    monkeypatch.setattr(share_kept_reads, "MAX_KEPT_BYTES", 3 * one)
    for reader in readers[1:]:
        read(reader)
    assert [reader.kept_bytes for reader in readers] == [0, 0, one, one, one]
    assert kept.size_bytes == 3 * one
    for reader in readers:
        reader.forget_kept()
    assert kept.size_bytes == 0
    read(readers[0])
    assert readers[0].kept_bytes == one


def test_what_is_kept_counts_what_its_spans_take(monkeypatch: pytest.MonkeyPatch) -> None:
    disk, kept = Disk(), KeptReads()
    reader = ShareReader(disk.log, kept)
    assert isinstance(reader.read(0, records=1, max_bytes=1 << 20, min_one_batch=True), BatchesRead)
    assert reader.kept_bytes > disk.log.size_bytes() + 100 * len(SPANS)
