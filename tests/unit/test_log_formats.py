"""The files beside the segments, byte for byte as Apache Kafka 4.3.1 writes them, and what is made of damaged ones."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from leaselog.log import (
    Durability,
    LogConfig,
    SegmentInfo,
    deleted_directory_name,
    directory_name,
    format_offsets_by_id,
    is_deleted_directory,
    parse_directory_name,
    parse_offsets,
    parse_offsets_by_id,
)
from leaselog.log.checkpoints import format_epochs, format_metadata, parse_epochs, parse_metadata
from leaselog.log.epochs import LeaderEpochs
from leaselog.log.index import OffsetIndex, TimeIndex
from leaselog.log.layout import offset_of, segment_path
from leaselog.log.retention import count_expired
from leaselog.model import TopicId, TopicIdPartition, TopicPartition

METADATA = b"version: 0\ntopic_id: sEbXysOWTXGlAkQSfJRk1w"


def test_partition_metadata_is_kafkas() -> None:
    topic_id = parse_metadata(METADATA)
    assert topic_id == UUID("b046d7ca-c396-4d71-a502-44127c9464d7")
    assert format_metadata(topic_id) == METADATA


@pytest.mark.parametrize(
    "damaged", [b"", b"version: 1\ntopic_id: x", METADATA[:20], b"\xff\xfe", b"nonsense"]
)
def test_damaged_metadata_is_a_value_error(damaged: bytes) -> None:
    with pytest.raises(ValueError):
        parse_metadata(damaged)


def test_checkpoints_are_kafkas() -> None:
    offsets = {TopicPartition("t1", 1): 6760, TopicPartition("t1", 0): 7}
    assert parse_offsets(b"0\n2\nt1 1 6760\nt1 0 7\n") == offsets
    assert parse_offsets(b"0\n0\n") == {}
    assert format_epochs([(0, 0), (3, 12)]) == b"0\n2\n0 0\n3 12\n"
    assert parse_epochs(b"0\n2\n0 0\n3 12\n") == [(0, 0), (3, 12)]


def test_checkpoints_of_our_own_go_by_topic_id() -> None:
    topic_id = TopicId(UUID("b046d7ca-c396-4d71-a502-44127c9464d7"))
    offsets = {TopicIdPartition(topic_id, 1): 6760, TopicIdPartition(topic_id, 0): 7}
    text = b"0\n2\nsEbXysOWTXGlAkQSfJRk1w 1 6760\nsEbXysOWTXGlAkQSfJRk1w 0 7\n"
    assert format_offsets_by_id(offsets) == text
    assert parse_offsets_by_id(text) == offsets
    for damaged in (b"0\n1\nt1 1 6760\n", b"0\n1\n\xff 1 2\n", text[:-4]):
        with pytest.raises(ValueError):
            parse_offsets_by_id(damaged)


@pytest.mark.parametrize(
    "damaged", [b"", b"0", b"1\n0\n", b"0\n2\n0 0\n", b"0\n1\n0 0 0\n", b"0\n1\nx y\n", b"0\n2\n3 5\n4 5\n"]
)
def test_a_damaged_epoch_checkpoint_is_a_value_error(damaged: bytes) -> None:
    with pytest.raises(ValueError):
        parse_epochs(damaged)


def test_names_lead_to_partitions_and_back() -> None:
    partition = TopicPartition("with-dash.and_dot", 12)
    assert directory_name(partition) == "with-dash.and_dot-12"
    assert parse_directory_name("with-dash.and_dot-12") == partition
    for stranger in ("no-number-", "t-01", "t", "meta.properties", "bad name-0"):
        assert parse_directory_name(stranger) is None
    doomed = deleted_directory_name(TopicPartition("x" * 249, 3), uuid4())
    assert len(doomed) == 255
    assert is_deleted_directory(doomed)
    assert parse_directory_name(doomed) is None
    assert segment_path("d", 42, ".log") == "d/00000000000000000042.log"
    assert offset_of("00000000000000000042.log.swap", ".log.swap") == 42
    assert offset_of("00000000000000000042.log.swap", ".log") is None


def test_the_offset_index_is_kafkas() -> None:
    index = OffsetIndex(1000)
    index.append(1010, 4200)
    index.append(1020, 8500)
    data = index.to_bytes()
    assert data == bytes.fromhex("0000000a000010680000001400002134")
    read = OffsetIndex.from_bytes(1000, data)
    assert read is not None
    assert [read.position_before(offset) for offset in (1000, 1009, 1010, 1019, 1020, 9999)] == [
        0,
        0,
        4200,
        4200,
        8500,
        8500,
    ]
    assert [read.boundary_before(position) for position in (0, 4199, 4200, 9000)] == [0, 0, 4200, 8500]
    assert read.to_bytes() == data


def test_the_time_index_is_kafkas() -> None:
    index = TimeIndex(1000)
    index.append(500, 1004)
    index.append(500, 1006)
    index.append(700, 1009)
    data = index.to_bytes()
    assert data == bytes.fromhex("00000000000001f40000000400000000000002bc00000009")
    read = TimeIndex.from_bytes(1000, data)
    assert read is not None
    assert read.last_entry() == (700, 1009)
    assert [read.offset_before(timestamp) for timestamp in (499, 500, 699, 700)] == [1000, 1004, 1004, 1009]


def test_an_index_of_a_killed_java_broker_reads_without_its_zeros() -> None:
    offsets = OffsetIndex.from_bytes(0, bytes.fromhex("0000000a00001068") + bytes(800))
    times = TimeIndex.from_bytes(0, bytes.fromhex("00000000000001f400000004") + bytes(1200))
    assert offsets is not None
    assert times is not None
    assert (len(offsets), len(times)) == (1, 1)
    empty = OffsetIndex.from_bytes(0, bytes(800)), TimeIndex.from_bytes(0, bytes(1200))
    assert [index is not None and len(index) for index in empty] == [0, 0]


def test_an_index_that_was_never_written_like_this_is_none() -> None:
    assert OffsetIndex.from_bytes(0, b"1234567") is None
    assert OffsetIndex.from_bytes(0, bytes.fromhex("00000014000021340000000a00001068")) is None
    assert OffsetIndex.from_bytes(0, bytes.fromhex("ffffffff00002134")) is None
    assert TimeIndex.from_bytes(0, b"1234567") is None
    assert TimeIndex.from_bytes(0, bytes.fromhex("00000000000002bc0000000900000000000001f40000000a")) is None
    assert TimeIndex.from_bytes(0, bytes.fromhex("00000000000001f40000000900000000000002bc00000004")) is None


def test_epochs_answer_as_kafkas_cache_does() -> None:
    epochs = LeaderEpochs([(2, 10), (4, 20), (7, 35)])
    ends = [epochs.end_offset(epoch, 50) for epoch in (-1, 0, 2, 3, 4, 6, 7, 8)]
    assert ends == [(-1, -1), (0, 10), (2, 20), (2, 20), (4, 35), (4, 35), (7, 50), (-1, -1)]
    assert [epochs.epoch_of(offset) for offset in (9, 10, 19, 20, 99)] == [-1, 2, 2, 4, 7]
    assert not epochs.assign(7, 60)
    assert epochs.cut_back(35)
    assert epochs.entries() == [(2, 10), (4, 20)]
    assert epochs.cut_front(15)
    assert epochs.entries() == [(2, 15), (4, 20)]
    assert epochs.cut_front(20)
    assert epochs.entries() == [(4, 20)]
    assert not epochs.cut_front(20)
    assert epochs.assign(5, 20)
    assert epochs.entries() == [(5, 20)], "an epoch that wrote nothing goes"


def test_config_reads_kafkas_names_and_text() -> None:
    config = LogConfig.of(
        {
            "cleanup.policy": "compact, delete",
            "segment.bytes": "1024",
            "min.cleanable.dirty.ratio": "0.25",
            "retention.ms": -1,
            "durability": "interval",
            "min.insync.replicas": 2,
            "preallocate": None,
        }
    )
    assert config.cleanup_policy == {"compact", "delete"}
    assert config.is_compacted
    assert config.deletes_old
    assert (config.segment_bytes, config.min_cleanable_dirty_ratio, config.retention_ms) == (1024, 0.25, -1)
    assert config.durability is Durability.INTERVAL
    assert LogConfig.of({}) == LogConfig()
    assert LogConfig.of({"cleanup.policy": ["compact"]}).cleanup_policy == {"compact"}
    with pytest.raises(ValueError):
        LogConfig.of({"segment.bytes": "many"})


def info(base: int, end: int, size: int = 100, largest_ms: int = 0) -> SegmentInfo:
    return SegmentInfo(base, end, size, largest_ms)


def expired(segments: list[SegmentInfo], config: LogConfig, *, start: int = 0, visible: int = 1000) -> int:
    return count_expired(segments, config, now_ms=1000, start_offset=start, visible_end=visible)


def test_retention_stops_at_the_first_segment_with_a_reason_to_stay() -> None:
    segments = [info(0, 10, largest_ms=1), info(10, 20, largest_ms=900), info(20, 30, largest_ms=1)]
    assert expired(segments, LogConfig(retention_ms=500)) == 1
    assert expired(segments, LogConfig(retention_ms=-1)) == 0
    assert expired(segments, LogConfig(retention_ms=-1), start=20) == 2
    assert expired(segments, LogConfig(retention_ms=0)) == 3
    assert expired(segments, LogConfig(retention_ms=0), visible=29) == 2
    assert expired(segments, LogConfig(retention_ms=0, cleanup_policy=frozenset({"compact"}))) == 0


def test_size_retention_never_goes_below_the_bound() -> None:
    segments = [info(0, 10), info(10, 20), info(20, 30, size=50)]
    sizes = [
        expired(segments, LogConfig(retention_ms=-1, retention_bytes=size))
        for size in (0, 50, 51, 150, 151, 250)
    ]
    assert sizes == [3, 2, 1, 1, 0, 0]


def test_an_empty_active_segment_stays() -> None:
    assert expired([info(0, 10), info(10, 10, size=0)], LogConfig(retention_ms=0)) == 1
