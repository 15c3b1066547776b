"""All partitions of a node: what upkeep does, and that a disk which refuses costs a line in the log and no more."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest

from leaselog.broker.config import BrokerConfig, TopicConfig
from leaselog.broker.records import log_store
from leaselog.broker.records.data_dir import DataDirectory
from leaselog.broker.records.flusher import Flusher
from leaselog.broker.records.log_store import LogStore
from leaselog.broker.records.partition import Partition
from leaselog.log import Appended
from leaselog.model import TopicId, TopicIdPartition
from leaselog.testing.disk import SimDisk
from leaselog.wire.records import Record, build_batch

TOPIC = TopicId(UUID(int=1))
NOW_MS = 1_000_000


class Scene:
    def __init__(self, disk: SimDisk | None = None, **settings: str) -> None:
        self.disk = SimDisk() if disk is None else disk
        self.disk.make_directory("data")
        self.now_ms = NOW_MS
        self.flusher = Flusher(pause_s=0, observe_sync=lambda seconds: None)
        self.logs = LogStore(
            DataDirectory(self.disk, "data"),
            self.flusher,
            log_settings=lambda: {"durability": "os"},
            wake=lambda partition: None,
            now_ms=lambda: self.now_ms,
        )
        self.logs.begin()
        config = TopicConfig.resolve(
            BrokerConfig.from_originals({}), {key.replace("_", "."): value for key, value in settings.items()}
        )
        self.logs.open_topic("t", TOPIC, 1, config)

    async def append(self, timestamp_ms: int) -> None:
        partition = self.logs.partition("t", 0)
        assert partition is not None
        records = build_batch([Record(key=None, value=b"v", timestamp_ms=timestamp_ms)])
        assert isinstance(await partition.append(records, now_ms=self.now_ms), Appended)


@pytest.fixture
def complaints(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr(log_store.log, "error", lambda event, **facts: said.append(event))
    return said


def test_upkeep_survives_a_full_disk_and_is_done_when_there_is_room(complaints: list[str]) -> None:
    async def story() -> None:
        scene = Scene()
        await scene.append(NOW_MS)
        scene.disk.capacity_bytes = 0
        await scene.logs.do_upkeep(with_retention=True)
        assert complaints == ["upkeep failed, to be tried again"] * 2  # recovery points, start offsets
        scene.disk.capacity_bytes = None
        await scene.logs.do_upkeep(with_retention=True)
        assert len(complaints) == 2
        assert scene.logs.directory.recovery_points() == {TopicIdPartition(TOPIC, 0): 0}

    asyncio.run(story())


def test_files_that_make_no_sense_for_once_put_retention_off(complaints: list[str]) -> None:
    """Found by simulation: a short read ended the broker."""

    async def story() -> None:
        scene = Scene(retention_ms="1000", segment_ms="100")
        for _ in range(3):
            await scene.append(scene.now_ms)
            scene.now_ms += 200
        scene.logs.close()
        scene = Scene(scene.disk, retention_ms="1000", segment_ms="100")  # the files are asked
        partition = scene.logs.partition("t", 0)
        assert partition is not None
        scene.now_ms += 100_000
        scene.disk.spoils = lambda path, data: data[:5]
        await scene.logs.do_upkeep(with_retention=True)
        assert complaints == ["retention left out, to be tried again"]
        assert partition.log.start_offset == 0
        scene.disk.spoils = lambda path, data: data
        await scene.logs.do_upkeep(with_retention=True)
        assert partition.log.start_offset == 3

    asyncio.run(story())


def test_retention_takes_what_whoever_keeps_something_there_lets_go() -> None:
    async def story() -> None:
        scene = Scene(retention_ms="1000", segment_ms="100")
        for at_ms in (NOW_MS, NOW_MS + 200, NOW_MS + 400):
            await scene.append(at_ms)
        scene.now_ms = NOW_MS + 1300
        partition = scene.logs.partition("t", 0)
        assert partition is not None
        asked: list[int] = []

        async def may_cut(_: Partition, before: int) -> bool:
            asked.append(before)
            await scene.append(scene.now_ms)
            scene.now_ms += 300  # meanwhile one more has become too old, which nobody was asked about
            return len(asked) > 1

        scene.logs.may_cut = may_cut
        await scene.logs.apply_retention()
        assert (asked, partition.log.start_offset) == ([2], 0)
        await scene.logs.apply_retention()
        assert (asked, partition.log.start_offset) == ([2, 3], 3)
        assert partition.log.end_offset == 5

    asyncio.run(story())


def test_retired_segments_are_removed_when_their_time_has_come() -> None:
    async def story() -> None:
        scene = Scene(retention_ms="1000", segment_ms="100", file_delete_delay_ms="5000")
        await scene.append(NOW_MS)
        await scene.append(NOW_MS + 500)
        scene.now_ms = NOW_MS + 1400
        await scene.logs.do_upkeep(with_retention=True)
        assert any(name.endswith(".deleted") for name in scene.disk.names("data/t-0"))
        scene.now_ms += 5000
        await scene.logs.do_upkeep(with_retention=False)
        assert not any(name.endswith(".deleted") for name in scene.disk.names("data/t-0"))

    asyncio.run(story())


def test_a_deleted_topic_is_renamed_at_once_and_removed_later() -> None:
    scene = Scene(file_delete_delay_ms="5000")
    asyncio.run(scene.append(NOW_MS))
    scene.logs.delete_topic("t")
    assert scene.logs.partition("t", 0) is None
    left = [name for name in scene.disk.names("data") if name.startswith("t-0")]
    assert [name.endswith("-delete") for name in left] == [True]
    scene.now_ms += 5000
    scene.logs.remove_doomed()
    assert not [name for name in scene.disk.names("data") if name.startswith("t-0")]


def test_a_topic_costs_the_disk_nothing_until_it_has_records() -> None:
    scene = Scene()
    before = scene.disk.operations
    many = TopicConfig.resolve(BrokerConfig.from_originals({}), {})
    scene.logs.open_topic("many", TopicId(UUID(int=2)), 1000, many)
    scene.logs.delete_topic("many")
    assert scene.disk.operations == before
    assert not [name for name in scene.disk.names("data") if name.startswith("many")]


def test_a_topic_whose_making_failed_can_be_deleted_and_made_again() -> None:
    async def story() -> None:
        scene = Scene()
        scene.disk.fails = lambda operation, path: path.endswith("partition.metadata.tmp")
        with pytest.raises(AssertionError):
            await scene.append(NOW_MS)
        scene.disk.fails = lambda operation, path: False
        assert "t-0" in scene.disk.names("data")
        scene.logs.delete_topic("t")
        other = TopicConfig.resolve(BrokerConfig.from_originals({}), {})
        scene.logs.open_topic("t", TopicId(UUID(int=2)), 1, other)
        await scene.append(NOW_MS)

    asyncio.run(story())


def test_directories_of_unknown_topics_go_at_the_start() -> None:
    scene = Scene()
    asyncio.run(scene.append(NOW_MS))
    assert "t-0" in scene.disk.names("data")
    scene.logs.remove_strays({"other": TopicId(UUID(int=9))})
    scene.logs.remove_doomed()
    assert not [name for name in scene.disk.names("data") if name.startswith("t-0")]


def test_a_tail_that_was_cut_off_is_told_with_its_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[str, object]] = []
    monkeypatch.setattr(log_store.log, "info", lambda event, **facts: said.append((event, None)))
    monkeypatch.setattr(
        log_store.log, "warning", lambda event, **facts: said.append((event, facts["cut_bytes"]))
    )
    scene = Scene()
    asyncio.run(scene.append(NOW_MS))
    path = "data/t-0/00000000000000000000.log"
    file = scene.disk.open(path, writable=True, create=False)
    file.write_at(scene.disk.size_bytes(path), b"torn")
    logs = LogStore(
        DataDirectory(scene.disk, "data"),
        scene.flusher,
        log_settings=lambda: {"durability": "os"},
        wake=lambda partition: None,
        now_ms=lambda: NOW_MS,
    )
    logs.begin()
    logs.open_topic("t", TOPIC, 1, TopicConfig.resolve(BrokerConfig.from_originals({}), {}))
    assert said == [("recovering after an unclean stop", None), ("cut off the half-written end of a log", 4)]
