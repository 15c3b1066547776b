"""Appends whose records must be looked into at length: offsets go in the order of the calls, and others go on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import UUID

from leaselog.broker.records.log_work import LogWork
from leaselog.broker.records.partition import Partition
from leaselog.broker.runtime.turns import Turns
from leaselog.log import Appended, AppendRefused, Heavy, LogConfig, MemoryFiles, PartitionLog, Steps
from leaselog.model import ErrorCode, TopicId, TopicPartition
from leaselog.wire.compression import Codec
from leaselog.wire.records import Record, build_batch

TOPIC = TopicId(UUID(int=1))
NOW_MS = 1_000_000


class Scene:
    def __init__(self) -> None:
        self.work = LogWork(Turns(time.perf_counter))
        self.compacted = self.partition("compacted", {"cleanup.policy": "compact"})
        self.plain = self.partition("plain", {})

    def partition(self, name: str, settings: dict[str, object]) -> Partition:
        log = PartitionLog.open(
            MemoryFiles(),
            f"data/{name}-0",
            TOPIC,
            LogConfig.of({"durability": "os", **settings}),
            now_ms=NOW_MS,
            clean=True,
        )
        return Partition(
            TopicPartition(name, 0),
            TOPIC,
            log,
            mark_dirty=lambda _: None,
            wake=lambda _: None,
            work=self.work,
        )


def play(story: Callable[[Scene], Coroutine[Any, Any, None]]) -> None:
    async def with_scene() -> None:
        scene = Scene()
        try:
            await asyncio.wait_for(story(scene), 60)
        finally:
            scene.work.close()

    asyncio.run(with_scene())


def batch(count: int, *, key: bytes | None = b"k", codec: Codec = Codec.NONE) -> bytearray:
    return build_batch([Record(key, b"v", (), NOW_MS)] * count, codec=codec)


def places(*outcomes: Appended | AppendRefused) -> list[tuple[int, int]]:
    return [(found.first_offset, found.end_offset) for found in outcomes if isinstance(found, Appended)]


def test_a_small_append_behind_a_large_one_keeps_its_place() -> None:
    async def story(scene: Scene) -> None:
        partition = scene.compacted
        large = partition.append(batch(5000, codec=Codec.ZSTD), now_ms=NOW_MS)
        small = partition.append(batch(1), now_ms=NOW_MS)
        larger = partition.append(batch(6000), now_ms=NOW_MS)
        assert not small.done()
        assert places(await large, await small, await larger) == [(0, 5000), (5000, 5001), (5001, 11001)]
        later = partition.append(batch(1), now_ms=NOW_MS)
        assert later.done(), "nobody is in line any more"

    play(story)


def test_another_partition_takes_appends_while_a_large_one_is_looked_into() -> None:
    async def story(scene: Scene) -> None:
        large = scene.compacted.append(batch(20_000), now_ms=NOW_MS)
        assert places(await scene.plain.append(batch(5000), now_ms=NOW_MS)) == [(0, 5000)]
        assert not large.done()
        turns = 0
        while not large.done():
            await asyncio.sleep(0)
            turns += 1
        assert turns > 5
        assert places(await large) == [(0, 20_000)]

    play(story)


def test_a_refused_append_takes_no_offsets_from_the_next() -> None:
    async def story(scene: Scene) -> None:
        refused = scene.compacted.append(batch(5000, key=None), now_ms=NOW_MS)
        taken = scene.compacted.append(batch(2), now_ms=NOW_MS)
        outcome = await refused
        assert isinstance(outcome, AppendRefused)
        assert outcome.code is ErrorCode.INVALID_RECORD
        assert len(outcome.record_errors) == 1000
        assert places(await taken) == [(0, 2)]

    play(story)


def test_a_topic_that_goes_while_its_append_is_looked_into_is_gone_for_all_in_line() -> None:
    async def story(scene: Scene) -> None:
        first = scene.compacted.append(batch(5000), now_ms=NOW_MS)
        second = scene.compacted.append(batch(1), now_ms=NOW_MS)
        scene.compacted.deleted()
        scene.compacted.log.abandon()
        for outcome in (await first, await second):
            assert isinstance(outcome, AppendRefused)
            assert outcome.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    play(story)


def test_of_what_is_heavy_one_piece_is_there_at_a_time() -> None:
    """From the moment it is unpacked until its steps are done: together they would be as large as they like."""
    present, most = 0, 0

    class Unpacked:
        def run(self) -> None:
            nonlocal present, most
            present += 1
            most = max(most, present)

    def steps() -> Steps[None]:
        nonlocal present
        heavy: Heavy = Unpacked()
        yield heavy
        for _ in range(3):
            yield None
        present -= 1

    async def story(scene: Scene) -> None:
        await asyncio.gather(*(scene.work.carry(steps()) for _ in range(5)))
        assert (present, most) == (0, 1)

    play(story)


def test_a_search_that_is_given_up_makes_way_for_the_next() -> None:
    is_unpacked = asyncio.Event()

    class Nothing:
        def run(self) -> None:
            pass

    def endless() -> Steps[None]:
        yield Nothing()
        while True:
            is_unpacked.set()
            yield None

    async def story(scene: Scene) -> None:
        given_up = asyncio.ensure_future(scene.work.carry(endless()))
        await is_unpacked.wait()
        given_up.cancel()
        large = await scene.compacted.append(batch(5000, codec=Codec.ZSTD), now_ms=NOW_MS)
        assert places(large) == [(0, 5000)]

    play(story)
