"""A log whose disk fails takes no writes for a while, and takes them again without a restart: nothing that was promised
is missing then, nothing is promised that the disk does not have, and the neighbours notice nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from uuid import UUID

import pytest

from leaselog.broker.config import BrokerConfig, TopicConfig
from leaselog.broker.records import (
    cleaner,
    doomed_files,
    log_store,
    partition,
    partition_directories,
    revival,
)
from leaselog.broker.records.cleaner import Cleaner
from leaselog.broker.records.data_dir import DataDirectory
from leaselog.broker.records.flusher import Flusher
from leaselog.broker.records.log_store import LogStore
from leaselog.broker.records.partition import Partition
from leaselog.broker.runtime.sync_threads import Outcomes, run_jobs
from leaselog.log import Appended, AppendRefused, PartitionLog, SyncJob
from leaselog.model import ErrorCode, Refused, TopicId, TopicIdPartition
from leaselog.testing.disk import SimDisk
from leaselog.wire.record_batch import iterate_headers
from leaselog.wire.records import Record, build_batch, read_records

NOW_MS = 1_000_000
T, U = TopicId(UUID(int=1001)), TopicId(UUID(int=1002))


class InlineSyncs:
    """What waits for the disk has not long to wait."""

    def run(self, jobs: Sequence[SyncJob], done: Callable[[Outcomes], None]) -> None:
        asyncio.get_running_loop().call_soon(lambda: done(run_jobs(jobs)))

    def close(self) -> None:
        pass


class Node:
    """One broker's logs, of topics `t` and `u` with a partition each."""

    def __init__(self, disk: SimDisk, *, durability: str = "fsync", **settings: str) -> None:
        disk.make_directory("data")
        disk.sync_directory("")
        self.disk = disk
        self.now_ms = NOW_MS
        self.woken: list[Partition] = []
        self.flusher = Flusher(pause_s=0, observe_sync=lambda seconds: None, syncs=InlineSyncs())
        self.running = asyncio.ensure_future(self.flusher.run())
        self.logs = LogStore(
            DataDirectory(disk, "data"),
            self.flusher,
            log_settings=lambda: {"durability": durability},
            wake=self.woken.append,
            now_ms=lambda: self.now_ms,
        )
        self.returned: list[Partition] = []
        self.logs.on_return = self.returned.append
        originals = {key.replace("_", "."): value for key, value in settings.items()}
        self.config = TopicConfig.resolve(BrokerConfig.from_originals({}), originals)
        self.logs.begin()
        self.logs.remove_strays({"t": T, "u": U})
        for name, topic_id in (("t", T), ("u", U)):
            self.logs.open_topic(name, topic_id, 1, self.config)

    def partition(self, name: str = "t") -> Partition:
        found = self.logs.partition(name, 0)
        assert found is not None
        return found

    async def append(self, *values: bytes, to: str = "t") -> list[Appended | AppendRefused]:
        """Each in a batch of its own."""
        outcomes = []
        for value in values:
            records = build_batch([Record(None, value, timestamp_ms=self.now_ms)])
            outcomes.append(await self.partition(to).append(records, now_ms=self.now_ms))
        return outcomes

    async def append_ok(self, *values: bytes, to: str = "t") -> None:
        assert all(isinstance(outcome, Appended) for outcome in await self.append(*values, to=to))

    def values(self, name: str = "t") -> list[bytes]:
        log, found = self.partition(name).log, list[bytes]()
        offset = log.start_offset
        while offset < log.high_watermark:
            data = log.read(offset, 1 << 20)
            assert isinstance(data, bytes)
            for position, header in iterate_headers(data):
                found += [record.value or b"" for record in read_records(data, header, position)]
                offset = header.end_offset
        return found

    def try_again(self) -> None:
        """As if the pauses were over."""
        revival = self.logs.revival
        due_s = revival.next_due_s(0.0)
        if due_s is not None:
            for key in revival.due(due_s + 1000):
                revival.retry(key, due_s + 1000)

    def power_cut(self, seed: int = 0) -> Node:
        self.disk.crash(seed)
        return self.again()

    def again(self) -> Node:
        """Another process on the same disk; whatever this one had is gone."""
        self.running.cancel()
        return Node(self.disk)


def fail(operation: str, place: str = "") -> Callable[[str, str], bool]:
    return lambda asked, path: asked == operation and place in path


def never(operation: str, path: str) -> bool:
    return False


def play(story: Callable[[], Coroutine[None, None, None]]) -> None:
    asyncio.run(story())


@pytest.fixture(autouse=True)
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    for module in (cleaner, doomed_files, log_store, partition, partition_directories, revival):
        for level in ("error", "warning", "info"):
            monkeypatch.setattr(module.log, level, lambda event, **facts: lines.append(event))
    return lines


# -- a disk that is full, and has room again ----------------------------------------------------------------


def test_a_log_takes_writes_again_when_the_disk_has_room_again(said: list[str]) -> None:
    async def story() -> None:
        node = Node(SimDisk())
        await node.append_ok(b"1")
        node.disk.capacity_bytes = node.disk.used_bytes() + 10
        (refused,) = await node.append(b"2")
        assert isinstance(refused, AppendRefused)
        assert refused.code == ErrorCode.KAFKA_STORAGE_ERROR
        assert node.values() == [b"1"], "what was written before is read all the same"
        node.disk.capacity_bytes = None
        node.try_again()
        await node.append_ok(b"3")
        assert node.values() == [b"1", b"3"]
        assert "the log takes no more writes" in said
        assert "a failed log is back" in said

    play(story)


def test_another_partition_notices_nothing() -> None:
    async def story() -> None:
        node = Node(SimDisk())
        await node.append_ok(b"1", to="u")
        there = node.partition("u")
        node.disk.fails = fail("write", "t-0")
        await node.append(b"2")
        await node.append_ok(b"2", to="u")
        node.disk.fails = never
        node.try_again()
        await node.append_ok(b"3", to="u")
        assert node.partition("u") is there

    play(story)


def test_a_log_that_is_back_is_another_partition_and_the_old_one_is_over() -> None:
    """Whoever keeps something about a partition must not take the new one's log for what it knew."""

    async def story() -> None:
        node = Node(SimDisk())
        await node.append_ok(b"1")
        failed = node.partition()
        node.disk.fails = fail("write")
        await node.append(b"2")
        node.disk.fails = never
        node.woken.clear()
        node.try_again()
        assert failed.is_gone
        assert failed in node.woken
        assert node.returned == [node.partition()]
        late = await failed.append(build_batch([Record(None, b"late")]), now_ms=NOW_MS)
        assert isinstance(late, AppendRefused)
        assert late.code == ErrorCode.KAFKA_STORAGE_ERROR
        assert node.values() == [b"1"]

    play(story)


def test_pauses_grow_while_a_log_fails_and_begin_anew_when_it_was_well_for_long() -> None:
    async def story() -> None:
        node = Node(SimDisk())
        tried = node.logs.revival
        node.disk.fails = fail("write")
        await node.append(b"1")
        node.disk.fails = lambda operation, path: True
        pauses, now_s = list[float](), 100.0
        for _ in range(8):
            due_s = tried.next_due_s(now_s)
            assert due_s is not None
            pauses.append(due_s - now_s)
            now_s = due_s
            (key,) = tried.due(now_s)
            tried.retry(key, now_s)
        assert pauses == [1, 2, 4, 8, 16, 30, 30, 30]
        node.disk.fails = never
        now_s += 30
        tried.retry(key, now_s)
        for well_s, pause_s in ((5.0, 30.0), (31.0, 1.0)):
            node.disk.fails = fail("write")
            await node.append(b"2")
            node.disk.fails = never
            now_s += well_s
            due_s = tried.next_due_s(now_s)
            assert due_s == now_s + pause_s
            now_s = due_s
            tried.retry(key, now_s)
        assert (tried.failures, tried.revived, len(tried)) == (3, 3, 0)

    play(story)


def test_a_deleted_topic_is_not_tried_again() -> None:
    async def story() -> None:
        node = Node(SimDisk())
        node.disk.fails = fail("write")
        await node.append(b"1")
        node.disk.fails = never
        node.logs.delete_topic("t")
        assert len(node.logs.revival) == 0
        node.try_again()
        assert node.logs.partition("t", 0) is None

    play(story)


def test_retention_makes_room_on_a_full_disk() -> None:
    async def story() -> None:
        node = Node(SimDisk(), retention_ms="1000", segment_ms="100", file_delete_delay_ms="0")
        for _ in range(3):
            await node.append_ok(b"x" * 1000)
            node.now_ms += 200
        node.now_ms += 10_000
        node.disk.capacity_bytes = node.disk.used_bytes()
        assert isinstance((await node.append(b"y" * 500))[0], AppendRefused)
        node.try_again()
        await node.logs.do_upkeep(with_retention=True)
        await node.logs.do_upkeep(with_retention=True)
        node.try_again()
        await node.append_ok(b"y" * 500)

    play(story)


def test_a_log_begins_behind_what_retention_took_even_if_it_cannot_go_on() -> None:
    """Found by simulation: it began before its records, where nothing was."""

    async def story() -> None:
        node = Node(SimDisk(), retention_ms="1000", segment_ms="100")
        for _ in range(3):
            await node.append_ok(b"1")
            node.now_ms += 200
        node.now_ms += 10_000
        node.disk.fails = fail("create", "t-0")  # the next segment
        await node.logs.do_upkeep(with_retention=True)
        log = node.partition().log
        assert log.failure is not None
        assert log.start_offset == 2
        node.disk.fails = never
        node.try_again()
        await node.append_ok(b"4")
        assert node.partition().log.start_offset >= 2

    play(story)


# -- a sync that failed -------------------------------------------------------------------------------------


def test_what_a_failed_sync_has_lost_is_not_there_when_the_log_is_back() -> None:
    """The disk still shows it, and the next sync says that all is well: the records behind it would be lost with it."""

    async def story() -> None:
        node = Node(SimDisk())
        await node.append_ok(b"1")
        node.disk.fails = fail("sync", ".log")
        (refused,) = await node.append(b"2")
        assert isinstance(refused, AppendRefused)
        node.disk.fails = never
        node.try_again()
        assert node.values() == [b"1"]
        await node.append_ok(b"3")
        assert node.power_cut().values() == [b"1", b"3"]

    play(story)


def test_what_a_failed_sync_has_lost_is_not_there_after_a_restart() -> None:
    async def story() -> None:
        node = Node(SimDisk())
        await node.append_ok(b"1")
        node.disk.fails = fail("sync", ".log")
        await node.append(b"2")
        node.disk.fails = never
        node = node.again()
        assert node.values() == [b"1"]
        await node.append_ok(b"3")
        assert node.power_cut().values() == [b"1", b"3"]

    play(story)


@pytest.mark.parametrize("durability", ["os", "interval"])
def test_where_nobody_waits_for_syncs_what_the_disk_has_stays(durability: str) -> None:
    """What was acknowledged is kept if it can be."""

    async def story() -> None:
        node = Node(SimDisk(), durability=durability)
        await node.append_ok(b"1")
        node.disk.fails = fail("write")
        assert isinstance((await node.append(b"2"))[0], AppendRefused)
        node.disk.fails = never
        node.try_again()
        assert node.values() == [b"1"]
        await node.append_ok(b"3")
        assert node.values() == [b"1", b"3"]

    play(story)


def test_a_failed_log_is_not_opened_anew_while_its_sync_is_under_way() -> None:
    async def story() -> None:
        node = Node(SimDisk())
        await node.append_ok(b"1")
        node.partition().append(build_batch([Record(None, b"2")]), now_ms=NOW_MS)
        job = node.partition().log.pending_sync()
        assert job is not None
        node.disk.fails = fail("write")
        await node.append(b"3")
        node.disk.fails = never
        node.try_again()
        assert node.partition().log.failure is not None
        job.run()
        node.partition().log.synced(job)
        node.partition().synced()
        node.try_again()
        assert node.values() == [b"1", b"2"]

    play(story)


# -- reading ------------------------------------------------------------------------------------------------


def test_a_read_that_fails_is_refused_and_writes_go_on() -> None:
    async def story() -> None:
        node = Node(SimDisk())
        await node.append_ok(b"1")
        node.disk.fails = fail("read")
        refused = node.partition().log.read(0, 1000)
        assert isinstance(refused, Refused)
        assert refused.code == ErrorCode.KAFKA_STORAGE_ERROR
        await node.append_ok(b"2")
        node.disk.fails = never
        assert node.values() == [b"1", b"2"]

    play(story)


# -- partitions that cannot be opened -----------------------------------------------------------------------


def test_a_partition_that_cannot_be_opened_does_not_keep_the_others_from_it(said: list[str]) -> None:
    async def story() -> None:
        node = Node(SimDisk())
        await node.append_ok(b"1", b"2")
        await node.append_ok(b"1", to="u")
        node.partition().log.delete_records(1)
        node.logs.checkpoint()
        node.disk.fails = fail("read", "t-0")
        node = node.again()
        assert node.logs.partition("t", 0) is None
        assert "a partition cannot be opened" in said
        assert node.values("u") == [b"1"]
        node.logs.checkpoint()
        assert node.logs.directory.start_offsets() == {TopicIdPartition(T, 0): 1}, "which nobody else knows"
        node.disk.fails = never
        node.try_again()
        assert node.values() == [b"2"]
        assert node.returned == [node.partition()]

    play(story)


def test_a_stop_with_a_failed_log_is_not_clean_and_one_after_its_return_is() -> None:
    async def story() -> None:
        node = Node(SimDisk())
        await node.append_ok(b"1")
        node.disk.fails = fail("write")
        await node.append(b"2")
        node.disk.fails = never
        node.logs.close()
        assert not node.disk.exists("data/.kafka_cleanshutdown")
        node = node.again()
        node.disk.fails = fail("write")
        await node.append(b"2")
        node.disk.fails = never
        node.try_again()
        node.logs.close()
        assert node.disk.exists("data/.kafka_cleanshutdown")
        assert node.again().values() == [b"1"]

    play(story)


def test_a_log_that_does_not_close_keeps_nobody_from_closing(said: list[str]) -> None:
    async def story() -> None:
        node = Node(SimDisk())
        await node.append_ok(b"1")
        await node.append_ok(b"1", to="u")
        node.disk.fails = fail("write", "t-0")
        node.logs.close()
        assert "a log cannot be closed" in said
        assert node.partition("u").log.failure is not None, "closed"
        assert not node.disk.exists("data/.kafka_cleanshutdown")

    play(story)


def test_a_directory_that_somebody_removed_begins_at_its_end(said: list[str]) -> None:
    async def story() -> None:
        node = Node(SimDisk(), segment_ms="100")
        await node.append_ok(b"1", b"2")
        for name in node.disk.names("data/t-0"):
            node.disk.remove(f"data/t-0/{name}")
        node.disk.remove_directory("data/t-0")
        node.now_ms += 1000
        assert isinstance((await node.append(b"3"))[0], AppendRefused)
        node.try_again()
        assert "the files of a partition are gone, it begins anew" in said
        await node.append_ok(b"4")
        log = node.partition().log
        assert (log.start_offset, log.end_offset) == (2, 3), "no offset is given out twice"

    play(story)


# -- deletions ----------------------------------------------------------------------------------------------


def test_a_topic_whose_files_cannot_be_renamed_is_gone_and_its_name_is_free() -> None:
    async def story() -> None:
        node = Node(SimDisk())
        await node.append_ok(b"1")
        node.disk.fails = fail("rename", "t-0")
        node.logs.delete_topic("t")
        again = TopicId(UUID(int=2001))
        node.logs.open_topic("t", again, 1, node.config)
        assert node.logs.partition("t", 0) is None, "what lies there is not its own"
        node.disk.fails = never
        node.try_again()
        assert node.values() == []
        await node.append_ok(b"new")
        assert node.values() == [b"new"]

    play(story)


def test_files_that_could_not_be_renamed_go_with_the_next_upkeep() -> None:
    async def story() -> None:
        node = Node(SimDisk())
        await node.append_ok(b"1")
        node.disk.fails = fail("rename", "t-0")
        node.logs.delete_topic("t")
        await node.logs.do_upkeep(with_retention=False)
        assert node.disk.exists("data/t-0")
        node.disk.fails = never
        await node.logs.do_upkeep(with_retention=False)
        assert [name for name in node.disk.names("data") if name.startswith("t-0")] == []

    play(story)


def test_files_of_a_deleted_topic_do_not_keep_a_broker_from_starting() -> None:
    """Its name may be another topic's by then."""

    async def story() -> None:
        node = Node(SimDisk())
        await node.append_ok(b"1")
        node.running.cancel()
        again = TopicId(UUID(int=2001))
        logs = LogStore(
            DataDirectory(node.disk, "data"),
            node.flusher,
            log_settings=lambda: {"durability": "fsync"},
            wake=lambda partition: None,
            now_ms=lambda: NOW_MS,
        )
        logs.begin()
        logs.remove_strays({"t": again, "u": U})
        logs.open_topic("t", again, 1, node.config)
        opened = logs.partition("t", 0)
        assert opened is not None
        assert opened.log.end_offset == 0
        assert [name.endswith("-delete") for name in node.disk.names("data") if name.startswith("t-0")] == [
            True
        ]

    play(story)


def test_a_directory_of_another_topic_that_there_is_stays_where_it_is() -> None:
    async def story() -> None:
        node = Node(SimDisk())
        await node.append_ok(b"1")
        node.disk.rename("data/t-0", "data/u-0")
        node = node.again()
        assert node.logs.partition("u", 0) is None
        assert node.disk.exists("data/u-0")
        node.disk.rename("data/u-0", "data/t-0")
        node.try_again()
        assert node.values("u") == []

    play(story)


# -- upkeep -------------------------------------------------------------------------------------------------


def test_one_directory_that_cannot_be_removed_keeps_upkeep_from_nothing() -> None:
    async def story() -> None:
        node = Node(SimDisk(), retention_ms="1000", segment_ms="100", file_delete_delay_ms="0")
        await node.append_ok(b"1", to="u")
        node.logs.delete_topic("u")
        for _ in range(3):
            await node.append_ok(b"1")
            node.now_ms += 200
        node.now_ms += 10_000
        node.disk.fails = fail("rmdir")
        await node.logs.do_upkeep(with_retention=True)
        assert node.partition().log.start_offset == 3
        assert node.logs.directory.start_offsets() == {TopicIdPartition(T, 0): 3}
        node.disk.fails = never
        await node.logs.do_upkeep(with_retention=True)
        assert [name for name in node.disk.names("data") if name.endswith("-delete")] == []

    play(story)


def test_a_directory_that_somebody_else_removed_is_done() -> None:
    async def story() -> None:
        node = Node(SimDisk(), file_delete_delay_ms="0")
        await node.append_ok(b"1")
        node.logs.delete_topic("t")
        (doomed,) = (name for name in node.disk.names("data") if name.endswith("-delete"))
        for name in node.disk.names(f"data/{doomed}"):
            node.disk.remove(f"data/{doomed}/{name}")
        node.disk.remove_directory(f"data/{doomed}")
        before = node.disk.operations
        node.logs.remove_doomed()
        node.logs.remove_doomed()
        assert node.disk.operations == before

    play(story)


def test_a_partition_that_cannot_be_looked_at_keeps_retention_from_no_other(said: list[str]) -> None:
    async def story() -> None:
        settings = {"retention_ms": "1000", "segment_ms": "100"}
        node = Node(SimDisk(), **settings)
        for _ in range(3):
            await node.append_ok(b"1")
            await node.append_ok(b"1", to="u")
            node.now_ms += 200
        node.logs.close()
        node.running.cancel()
        node = Node(node.disk, **settings)
        node.now_ms = NOW_MS + 100_000
        node.disk.fails = fail("read", "t-0")
        await node.logs.do_upkeep(with_retention=True)
        assert node.partition().log.start_offset == 0
        assert node.partition().log.failure is None, "nothing was changed"
        assert node.partition("u").log.start_offset == 3
        assert "retention left out, to be tried again" in said
        node.disk.fails = never
        await node.logs.do_upkeep(with_retention=True)
        assert node.partition().log.start_offset == 3

    play(story)


def test_a_log_that_cannot_be_looked_at_for_compaction_is_another_time() -> None:
    """It ended the broker."""

    async def story() -> None:
        settings = {"cleanup_policy": "compact", "segment_ms": "100", "min_cleanable_dirty_ratio": "0.0"}
        node = Node(SimDisk(), **settings)
        for _ in range(3):
            records = build_batch([Record(b"k", b"v", timestamp_ms=node.now_ms)])
            await node.partition().append(records, now_ms=node.now_ms)
            node.now_ms += 200
        node.logs.close()
        node.running.cancel()
        node = Node(node.disk, **settings)
        cleaning = Cleaner(node.logs, backoff_ms=lambda: 0, now_ms=lambda: NOW_MS + 100_000)
        node.disk.fails = fail("read", "t-0")
        assert await cleaning.clean_all() == 0
        node.disk.fails = never
        assert await cleaning.clean_all() == 1
        cleaning.close()

    play(story)


def test_a_log_that_was_replaced_while_points_are_written_is_asked_for_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is in nobody's hands any more; the one in its place has its turn in the next upkeep."""

    async def story() -> None:
        node = Node(SimDisk())
        for name in ("t", "u"):
            await node.append_ok(b"1", to=name)
        gone, asked = node.partition("u"), list[PartitionLog]()

        def ask(log: PartitionLog) -> bool:
            asked.append(log)
            if log is not gone.log:
                gone.log.failure = OSError("no space left on device")
                gone.tell_failure()
                node.try_again()
            return False

        monkeypatch.setattr(PartitionLog, "ask_for_point", ask)
        await node.logs.do_upkeep(with_retention=False)
        assert asked == [node.partition("t").log]
        await node.logs.do_upkeep(with_retention=False)
        assert node.partition("u").log in asked

    play(story)
