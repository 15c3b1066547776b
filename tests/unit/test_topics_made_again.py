"""A topic that is deleted and made again under its name has nothing of the one before, whatever dies in between."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest
from broker_in_a_box import in_a_box, run

from leaselog.broker.cluster.cluster import NewTopic
from leaselog.broker.config import BrokerConfig, TopicConfig
from leaselog.broker.records import log_checkpoints
from leaselog.broker.records.data_dir import DataDirectory
from leaselog.broker.records.flusher import Flusher
from leaselog.broker.records.log_store import LogStore
from leaselog.broker.records.partition import Partition
from leaselog.model import TopicId, TopicIdPartition
from leaselog.testing.disk import SimDisk
from leaselog.wire.records import Record, build_batch

OLD, NEW = TopicId(UUID(int=1001)), TopicId(UUID(int=1002))
CONFIG = TopicConfig.resolve(BrokerConfig.from_originals({}), {})
NOW_MS = 1_000_000


def begin(disk: SimDisk) -> LogStore:
    disk.make_directory("data")
    logs = LogStore(
        DataDirectory(disk, "data"),
        Flusher(pause_s=0, observe_sync=lambda seconds: None),
        log_settings=lambda: {"durability": "fsync"},
        wake=lambda partition: None,
        now_ms=lambda: NOW_MS,
    )
    logs.begin()
    return logs


def open_topic(logs: LogStore, topic_id: TopicId) -> Partition:
    logs.open_topic("t", topic_id, 1, CONFIG)
    logs.adopt()
    partition = logs.partition("t", 0)
    assert partition is not None
    return partition


def append(partition: Partition, count: int) -> None:
    """As many records, safe."""

    async def work() -> None:
        for _ in range(count):
            records = build_batch([Record(None, b"v", timestamp_ms=NOW_MS)])
            partition.append(records, now_ms=NOW_MS)
        partition.log.flush()
        partition.synced()

    asyncio.run(work())


def offsets(partition: Partition) -> tuple[int, int]:
    return partition.log.start_offset, partition.log.end_offset


def spoil_the_end(disk: SimDisk) -> None:
    """The last byte of the first segment is another."""
    path = "data/t-0/00000000000000000000.log"
    file = disk.open(path, writable=True)
    file.write_at(disk.size_bytes(path) - 1, b"\xff")
    file.sync()


def test_records_of_a_topic_made_again_survive_a_power_cut() -> None:
    disk = SimDisk()
    logs = begin(disk)
    partition = open_topic(logs, OLD)
    append(partition, 100)
    partition.log.delete_records(100)
    logs.checkpoint()
    logs.delete_topic("t")
    append(open_topic(logs, NEW), 10)
    disk.crash()
    assert offsets(open_topic(begin(disk), NEW)) == (0, 10)


def test_a_topic_made_again_begins_at_offset_0() -> None:
    disk = SimDisk()
    logs = begin(disk)
    partition = open_topic(logs, OLD)
    append(partition, 100)
    partition.log.delete_records(100)
    logs.close()
    logs = begin(disk)
    open_topic(logs, OLD)
    logs.delete_topic("t")
    partition = open_topic(logs, NEW)
    append(partition, 1)
    assert offsets(partition) == (0, 1)


def test_a_sealed_segment_of_a_topic_made_again_is_looked_at_after_a_power_cut() -> None:
    disk = SimDisk()
    logs = begin(disk)
    append(open_topic(logs, OLD), 100)
    logs.checkpoint()
    logs.delete_topic("t")
    partition = open_topic(logs, NEW)
    append(partition, 10)
    partition.log.roll(NOW_MS)
    append(partition, 1)
    spoil_the_end(disk)
    disk.crash()
    assert offsets(open_topic(begin(disk), NEW)) == (0, 9)


def test_checkpoints_forget_a_topic_when_it_is_deleted() -> None:
    disk = SimDisk()
    logs = begin(disk)
    partition = open_topic(logs, OLD)
    append(partition, 2)
    partition.log.delete_records(1)
    partition.log.cleaned_to = 1
    logs.checkpoint()
    logs.checkpoint_cleaned()
    assert logs.directory.start_offsets() == {TopicIdPartition(OLD, 0): 1}
    logs.delete_topic("t")
    disk.fails = lambda operation, path: operation == "rename"
    with pytest.raises(OSError):
        logs.purge()
    disk.fails = lambda operation, path: False
    logs.purge()
    assert logs.directory.start_offsets() == {}
    assert logs.directory.cleaner_offsets() == {}


def test_a_deletion_is_answered_when_the_checkpoints_have_forgotten_the_topic() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            cluster = box.broker.cluster
            await cluster.create_topics([NewTopic("t", 1)])
            await box.append("t", 1)
            partition = box.broker.logs.partition("t", 0)
            assert partition is not None
            partition.log.delete_records(1)
            box.broker.logs.checkpoint_starts()
            await cluster.delete_topics([partition.topic_id])
            assert box.broker.logs.directory.start_offsets() == {}

    run(story())


# -- what earlier versions kept by name ---------------------------------------------------------------------


def by_name(disk: SimDisk, name: str, offset: int) -> None:
    file = disk.open(f"data/{name}", writable=True, create=True)
    file.write_at(0, b"0\n1\nt 0 %d\n" % offset)
    file.sync()
    disk.sync_directory("data")


def kept_by_name(disk: SimDisk) -> list[str]:
    return [name for name in disk.names("data") if name.endswith("-checkpoint")]


def a_log_of_ten(disk: SimDisk) -> None:
    """Nine of them in a sealed segment."""
    partition = open_topic(begin(disk), NEW)
    append(partition, 9)
    partition.log.roll(NOW_MS)
    append(partition, 1)
    for name in [name for name in disk.names("data") if name.endswith("-by-id")]:
        disk.remove(f"data/{name}")


def test_a_start_offset_kept_by_name_is_kept_by_id_from_then_on() -> None:
    disk = SimDisk()
    a_log_of_ten(disk)
    by_name(disk, "log-start-offset-checkpoint", 4)
    logs = begin(disk)
    assert offsets(open_topic(logs, NEW)) == (4, 10)
    assert kept_by_name(disk) == []
    disk.crash()
    assert offsets(open_topic(begin(disk), NEW)) == (4, 10)


def test_a_start_offset_by_name_that_the_log_does_not_reach_is_another_topics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    monkeypatch.setattr(log_checkpoints.log, "warning", lambda event, **facts: said.append(event))
    disk = SimDisk()
    a_log_of_ten(disk)
    by_name(disk, "log-start-offset-checkpoint", 100)
    assert offsets(open_topic(begin(disk), NEW)) == (0, 10)
    assert said == ["a start offset of another topic is left out"]
    assert kept_by_name(disk) == []


def test_a_recovery_point_by_name_is_not_believed() -> None:
    disk = SimDisk()
    a_log_of_ten(disk)
    by_name(disk, "recovery-point-offset-checkpoint", 10)
    by_name(disk, "cleaner-offset-checkpoint", 10)
    spoil_the_end(disk)
    partition = open_topic(begin(disk), NEW)
    assert offsets(partition) == (0, 8)
    assert partition.log.cleaned_to == 0
    assert kept_by_name(disk) == []


def test_names_are_kept_until_their_ids_are_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaselog.broker.records.log_store.log.error", lambda event, **facts: None)
    disk = SimDisk()
    a_log_of_ten(disk)
    by_name(disk, "log-start-offset-checkpoint", 4)
    disk.fails = lambda operation, path: operation == "rename"
    assert offsets(open_topic(begin(disk), NEW)) == (4, 10)
    disk.fails = lambda operation, path: False
    disk.crash()
    assert offsets(open_topic(begin(disk), NEW)) == (4, 10)
