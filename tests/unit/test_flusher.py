"""Group commit: what shares a sync, what waits for one, and what a failing or slow disk does to either."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import UUID

import pytest

from leaselog.broker.records import partition as partition_module
from leaselog.broker.records.flusher import Flusher
from leaselog.broker.records.partition import Partition
from leaselog.log import Appended, AppendRefused, Durability, LogConfig, MemoryFiles, PartitionLog
from leaselog.model import ErrorCode, TopicId, TopicPartition
from leaselog.wire.records import Record, build_batch

NOW_MS = 1_700_000_000_000


class GatedFile:
    """Syncs when the test lets it, or fails if the test says so."""

    def __init__(self, inner: Any, disk: Disk) -> None:
        self._inner, self._disk = inner, disk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def sync(self) -> None:
        self._disk.syncing.set()
        assert self._disk.gate.wait(10)
        self._disk.syncs += 1
        if self._disk.is_broken:
            raise OSError(5, "the disk is broken")
        self._inner.sync()


class Disk(MemoryFiles):
    def __init__(self) -> None:
        super().__init__()
        self.gate, self.syncing = threading.Event(), threading.Event()
        self.gate.set()
        self.syncs = 0
        self.is_broken = False

    def open(self, path: str, **how: bool) -> Any:
        return GatedFile(super().open(path, **how), self)


class Scene:
    def __init__(self, durability: Durability) -> None:
        self.disk = Disk()
        self.disk.make_directory("d")
        self.rounds: list[float] = []
        self.woken: list[Partition] = []
        self.flusher = Flusher(pause_s=0.0, observe_sync=self.rounds.append)
        self.config = LogConfig.of({"durability": durability})

    def partition(self, index: int = 0) -> Partition:
        path = f"d/t-{index}"
        log = PartitionLog.open(
            self.disk, path, TopicId(UUID(int=1)), self.config, now_ms=NOW_MS, clean=False
        )
        return Partition(
            TopicPartition("t", index),
            TopicId(UUID(int=1)),
            log,
            mark_dirty=self.flusher.mark_dirty,
            wake=self.woken.append,
        )

    async def while_syncing(self) -> None:
        """Returns when a sync has begun."""
        assert await asyncio.to_thread(self.disk.syncing.wait, 10)
        self.disk.syncing.clear()


def run(story: Callable[[Scene], Coroutine[Any, Any, None]], durability: Durability) -> None:
    async def with_scene() -> None:
        scene = Scene(durability)
        running = asyncio.ensure_future(scene.flusher.run())
        try:
            await story(scene)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            scene.disk.gate.set()
            await scene.flusher.sync_all()
            scene.flusher.close()

    with asyncio.Runner() as runner:
        runner.run(with_scene())


def records(count: int = 1) -> bytearray:
    return build_batch([Record(b"k", b"v", timestamp_ms=NOW_MS)] * count)


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_appends_during_one_sync_share_the_next_and_are_answered_in_order() -> None:
    async def story(scene: Scene) -> None:
        partition = scene.partition()
        scene.disk.gate.clear()
        first = partition.append(records(), now_ms=NOW_MS)
        await scene.while_syncing()
        answered: list[int] = []
        later = [partition.append(records(), now_ms=NOW_MS) for _ in range(5)]
        for i, answer in enumerate([first, *later]):
            answer.add_done_callback(lambda _, i=i: answered.append(i))  # type: ignore[misc]
        await turns()
        assert answered == []
        scene.disk.gate.set()
        await asyncio.gather(first, *later)
        await turns()
        assert answered == [0, 1, 2, 3, 4, 5]
        assert len(scene.rounds) == 2
        assert partition.log.durable_end == 6

    run(story, Durability.FSYNC)


def test_an_append_that_does_not_wait_is_answered_before_the_sync_and_seen_after_it() -> None:
    async def story(scene: Scene) -> None:
        partition = scene.partition()
        scene.disk.gate.clear()
        answer = partition.append(records(), now_ms=NOW_MS, wait=False)
        assert isinstance(answer.result(), Appended)
        assert partition.log.high_watermark == 0
        assert scene.woken == []
        await scene.while_syncing()
        scene.disk.gate.set()
        await partition.append(records(), now_ms=NOW_MS)
        assert partition.log.high_watermark == 2
        assert partition in scene.woken

    run(story, Durability.FSYNC)


def test_without_durability_an_append_is_answered_and_seen_at_once_and_no_round_runs() -> None:
    async def story(scene: Scene) -> None:
        partition = scene.partition()
        answer = partition.append(records(), now_ms=NOW_MS)
        assert isinstance(answer.result(), Appended)
        assert scene.woken == [partition]
        await turns()
        assert scene.rounds == []

    run(story, Durability.OS)


def test_a_failed_sync_refuses_everything_that_waits_and_everything_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    monkeypatch.setattr(partition_module.log, "error", lambda event, **facts: told.append(event))

    async def story(scene: Scene) -> None:
        partition, healthy = scene.partition(0), scene.partition(1)
        scene.disk.is_broken = True
        answers = [partition.append(records(), now_ms=NOW_MS) for _ in range(3)]
        for answer in answers:
            refused = await answer
            assert isinstance(refused, AppendRefused)
            assert refused.code == ErrorCode.KAFKA_STORAGE_ERROR
        scene.disk.is_broken = False
        after = await partition.append(records(), now_ms=NOW_MS)
        assert isinstance(after, AppendRefused)
        assert partition.log.high_watermark == 0
        assert isinstance(await healthy.append(records(), now_ms=NOW_MS), Appended)
        assert len(told) == 1, "one loud line, however often it is asked"

    run(story, Durability.FSYNC)


def test_a_deleted_topic_refuses_what_waits_at_once_and_a_late_failure_is_no_news(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    monkeypatch.setattr(partition_module.log, "error", lambda event, **facts: told.append(event))

    async def story(scene: Scene) -> None:
        partition = scene.partition()
        scene.disk.gate.clear()
        answer = partition.append(records(), now_ms=NOW_MS)
        await scene.while_syncing()
        scene.flusher.forget(partition)
        partition.deleted()
        partition.log.abandon()
        refused = answer.result()
        assert isinstance(refused, AppendRefused)
        assert refused.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        scene.disk.is_broken = True
        scene.disk.gate.set()
        await scene.flusher.sync_all()
        assert isinstance(partition.append(records(), now_ms=NOW_MS).result(), AppendRefused)
        assert told == []

    run(story, Durability.FSYNC)


def test_a_round_outlives_the_flusher_that_is_cancelled_in_it() -> None:
    """What the disk says of a sync that is under way when the broker stops decides whether the stop was clean."""

    async def story(scene: Scene) -> None:
        partition = scene.partition()
        other = Flusher(pause_s=0.0, observe_sync=scene.rounds.append)
        partition._mark_dirty = other.mark_dirty
        running = asyncio.ensure_future(other.run())
        scene.disk.gate.clear()
        answer = partition.append(records(), now_ms=NOW_MS)
        await scene.while_syncing()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        scene.disk.is_broken = True
        scene.disk.gate.set()
        await other.sync_all()
        other.close()
        assert isinstance(await answer, AppendRefused)
        assert partition.log.failure is not None

    run(story, Durability.FSYNC)


def test_a_client_that_goes_away_while_it_waits_disturbs_nobody() -> None:
    async def story(scene: Scene) -> None:
        partition = scene.partition()
        scene.disk.gate.clear()
        gone = partition.append(records(), now_ms=NOW_MS)
        stays = partition.append(records(), now_ms=NOW_MS)
        gone.cancel()
        scene.disk.gate.set()
        outcome = await stays
        assert isinstance(outcome, Appended)
        assert outcome.first_offset == 1

    run(story, Durability.FSYNC)


def test_leader_epochs_are_current_fenced_or_unknown() -> None:
    async def story(scene: Scene) -> None:
        partition = scene.partition()
        partition.leader_epoch = 3
        assert [partition.check_leader_epoch(epoch) for epoch in (-1, 2, 3, 4)] == [
            ErrorCode.NONE,
            ErrorCode.FENCED_LEADER_EPOCH,
            ErrorCode.NONE,
            ErrorCode.UNKNOWN_LEADER_EPOCH,
        ]

    run(story, Durability.OS)
