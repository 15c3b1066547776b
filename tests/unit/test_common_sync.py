"""Very many logs are made durable by one sync of their file system, and promise what each promised by itself."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import UUID

import pytest
from broker_in_a_box import in_a_box

from leaselog.broker.cluster.cluster import NewTopic
from leaselog.broker.config import BrokerConfig, TopicConfig
from leaselog.broker.records.data_dir import CLEAN_SHUTDOWN, META_PROPERTIES, DataDirectory
from leaselog.broker.records.flusher import Flusher
from leaselog.broker.records.log_store import LogStore
from leaselog.broker.records.partition import Partition
from leaselog.log import Appended
from leaselog.model import TopicId
from leaselog.testing.disk import SimDisk
from leaselog.wire.records import Record, build_batch

TOPIC = TopicId(UUID(int=1))
NOW_MS = 1_000_000
MANY, FEW = 6, 2


class WatchedDisk(SimDisk):
    """Notes what is synced; ``refused`` and the paths with ``lost`` in them fail."""

    def __init__(self) -> None:
        super().__init__()
        self.synced: list[str] = []
        self.refused, self.lost = False, "nothing"
        self.fails = self._fails
        self.make_directory("data")
        self.open(f"data/{META_PROPERTIES}", writable=True, create=True)
        self.sync_directory("data")
        self.sync_directory("")

    def _fails(self, operation: str, path: str) -> bool:
        return (operation == "sync_file_system" and self.refused) or (
            operation == "sync" and self.lost in path
        )

    def step(self, operation: str, path: str) -> None:
        if operation.startswith("sync"):
            self.synced.append("everything" if operation == "sync_file_system" else path)
        super().step(operation, path)

    def syncs_of_logs(self) -> list[str]:
        found = [path for path in self.synced if path == "everything" or "/t-" in path]
        self.synced.clear()
        return found


@pytest.fixture
def disk() -> WatchedDisk:
    return WatchedDisk()


def opened(disk: SimDisk, *, few: int = FEW) -> LogStore:
    logs = LogStore(
        DataDirectory(disk, "data"),
        Flusher(pause_s=0, observe_sync=lambda seconds: None),
        log_settings=lambda: {"durability": "fsync"},
        wake=lambda partition: None,
        now_ms=lambda: NOW_MS,
        few_syncs=few,
    )
    logs.begin()
    logs.open_topic("t", TOPIC, MANY, TopicConfig.resolve(BrokerConfig.from_originals({}), {}))
    logs.adopt()
    return logs


def partition_of(logs: LogStore, index: int) -> Partition:
    partition = logs.partition("t", index)
    assert partition is not None
    return partition


def append(logs: LogStore, *indexes: int) -> None:
    for index in indexes or range(MANY):
        batch = build_batch([Record(key=None, value=b"v%d" % index, timestamp_ms=NOW_MS)])
        assert isinstance(
            partition_of(logs, index).log.append(batch, leader_epoch=0, now_ms=NOW_MS), Appended
        )


def ends(logs: LogStore) -> list[int]:
    """What readers may see of each."""
    return [partition_of(logs, index).log.high_watermark for index in range(MANY)]


def died(disk: WatchedDisk) -> None:
    """A broker was killed that had written to every log, and had synced nothing."""
    append(opened(disk))
    disk.synced.clear()


def test_what_is_recovered_of_many_logs_outlives_a_power_cut(disk: WatchedDisk) -> None:
    for seed in range(20):
        disk = WatchedDisk()
        died(disk)
        assert ends(opened(disk)) == [1] * MANY
        disk.crash(seed)
        assert ends(opened(disk)) == [1] * MANY


def test_what_is_recovered_of_few_logs_outlives_a_power_cut() -> None:
    """Found by reading: the directory of a log's first records was not synced before they were read."""
    for seed in range(20):
        disk = WatchedDisk()
        died(disk)
        assert ends(opened(disk, few=MANY)) == [1] * MANY
        disk.crash(seed)
        assert ends(opened(disk, few=MANY)) == [1] * MANY


def test_a_few_logs_are_synced_one_by_one_and_all_others_at_once(disk: WatchedDisk) -> None:
    died(disk)
    logs = opened(disk)
    assert disk.syncs_of_logs() == [
        "data/t-0/00000000000000000000.log",
        "data/t-0",
        "data/t-1/00000000000000000000.log",
        "data/t-1",
        "everything",
    ]
    append(logs, 5)
    job = partition_of(logs, 5).log.pending_sync()
    assert job is not None
    assert (job.paths, job.directories) == ((), ()), "what was synced is not synced again"


def test_logs_are_synced_one_by_one_where_all_at_once_is_refused(disk: WatchedDisk) -> None:
    died(disk)
    disk.refused = True
    assert ends(opened(disk)) == [1] * MANY
    assert disk.syncs_of_logs().count("everything") == 1
    disk.crash(1)
    assert ends(opened(disk)) == [1] * MANY


def test_a_log_on_another_disk_is_synced_by_itself(disk: WatchedDisk) -> None:
    died(disk)
    disk.elsewhere = ("data/t-4",)
    opened(disk)
    assert disk.syncs_of_logs()[-2:] == ["data/t-4/00000000000000000000.log", "data/t-4"]


def test_what_could_not_be_written_at_once_is_told_by_its_own_log(disk: WatchedDisk) -> None:
    died(disk)
    disk.lost = "t-3/"
    logs = opened(disk)
    disk.lost = "nothing"
    assert [logs.partition("t", index) is None for index in range(MANY)] == [False] * 3 + [True] + [False] * 2
    disk.crash(1)
    assert ends(opened(disk)) == [1, 1, 1, 0, 1, 1]


def test_what_an_earlier_failed_sync_has_lost_is_not_believed_behind_a_sync_of_everything(
    disk: WatchedDisk,
) -> None:
    """It is still in memory; whoever was told of it is dead, and nobody is told of it again."""
    logs = opened(disk)
    append(logs)
    disk.lost = "t-3/00000000000000000000.log"
    job = partition_of(logs, 3).log.pending_sync()
    assert job is not None
    with pytest.raises(OSError):
        job.run()
    disk.lost = "nothing"
    logs = opened(disk)
    assert "everything" in disk.syncs_of_logs()
    assert ends(logs) == [1, 1, 1, 0, 1, 1]


def test_closing_many_logs_is_one_sync_and_leaves_all_of_them_whole(disk: WatchedDisk) -> None:
    for seed in range(20):
        disk = WatchedDisk()
        logs = opened(disk)
        append(logs)
        disk.synced.clear()
        logs.close()
        assert disk.syncs_of_logs() == ["everything"]
        disk.crash(seed)
        logs = opened(disk)
        assert logs.is_clean
        assert ends(logs) == [1] * MANY


def test_closing_few_logs_syncs_each(disk: WatchedDisk) -> None:
    logs = opened(disk)
    append(logs, 0, 1)
    disk.synced.clear()
    logs.close()
    assert "everything" not in disk.syncs_of_logs()
    disk.crash(1)
    assert ends(opened(disk)) == [1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("lost", ["t-3/00000000000000000000.log", "t-3/00000000000000000000.timeindex"])
def test_a_stop_is_not_clean_if_something_could_not_be_written(disk: WatchedDisk, lost: str) -> None:
    logs = opened(disk)
    append(logs)
    disk.lost = lost
    logs.close()
    disk.lost = "nothing"
    assert not disk.exists(f"data/{CLEAN_SHUTDOWN}")
    disk.crash(1)
    assert ends(opened(disk)) in ([1] * MANY, [1, 1, 1, 0, 1, 1])


def test_a_stop_is_clean_all_the_same_where_all_at_once_is_refused(disk: WatchedDisk) -> None:
    logs = opened(disk)
    append(logs)
    disk.refused = True
    logs.close()
    disk.crash(1)
    logs = opened(disk)
    assert logs.is_clean
    assert ends(logs) == [1] * MANY


def test_a_broker_closes_many_logs_on_a_real_disk(tmp_path: Path) -> None:
    async def story() -> None:
        async with in_a_box(f"{tmp_path}/data") as box:
            await box.broker.cluster.create_topics([NewTopic("t", 30)])
            for index in range(30):
                await box.append("t", NOW_MS, partition=index)
        async with in_a_box(f"{tmp_path}/data") as box:
            assert box.broker.logs.is_clean
            assert [p.log.high_watermark for p in box.broker.logs.partitions()] == [1] * 30

    asyncio.run(story())
