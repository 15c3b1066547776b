"""The owner of one offsets partition: nothing is told before it is safe, and the log is enough to begin again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any
from uuid import UUID

from group_bench import PARTITION, G, commit, join

from leaselog.broker.group_owner import GroupOwner
from leaselog.broker.partition import Partition
from leaselog.coordination.group_commands import (
    CommitOffsets,
    DescribedGroup,
    DescribeGroup,
    FetchedOffsets,
    FetchOffsets,
    JoinAnswer,
    ListGroups,
    OffsetToCommit,
    PartitionCodes,
)
from leaselog.coordination.group_facts import NO_TOPIC_ID
from leaselog.coordination.group_turn import GroupLimits
from leaselog.log import Durability, LogConfig, MemoryFiles, PartitionLog
from leaselog.model import ErrorCode, MemberId, Refused, TopicId, TopicPartition

LIMITS = GroupLimits(initial_rebalance_delay_ms=0)
NOW_MS = 1_000_000


def on_a_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    @wraps(test)
    def run() -> None:
        asyncio.run(test())

    return run


def open_partition(
    files: MemoryFiles, durability: Durability = Durability.FSYNC, *, max_message_bytes: int = 1_048_588
) -> Partition:
    if not files.exists("data"):
        files.make_directory("data")
    log = PartitionLog.open(
        files,
        "data/__consumer_offsets-0",
        TopicId(UUID(int=5)),
        LogConfig.of(
            {"durability": durability, "cleanup.policy": "compact", "max.message.bytes": max_message_bytes}
        ),
        now_ms=NOW_MS,
        clean=False,
    )
    name = TopicPartition("__consumer_offsets", 0)
    return Partition(name, TopicId(UUID(int=5)), log, mark_dirty=lambda _: None, wake=lambda _: None)


def sync(partition: Partition) -> None:
    job = partition.log.pending_sync()
    assert job is not None
    job.run()
    partition.log.synced(job)
    partition.synced()


def owner_of(partition: Partition) -> GroupOwner:
    owner = GroupOwner(partition, LIMITS, now_ms=lambda: NOW_MS)
    owner.load()
    return owner


async def fetched(owner: GroupOwner) -> int | None:
    answer = await owner.ask(lambda token: FetchOffsets(token, G, ((PARTITION, NO_TOPIC_ID),)))
    assert isinstance(answer, FetchedOffsets)
    found = answer.offsets[0][1]
    return None if found is None else found.offset


async def turns(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@on_a_loop
async def test_nobody_is_told_of_what_a_crash_could_take_back() -> None:
    partition = open_partition(MemoryFiles())
    owner = owner_of(partition)
    committing = owner.ask(lambda token: commit(token, 7))
    fetching = asyncio.ensure_future(fetched(owner))
    await turns()
    assert not committing.done()
    assert not fetching.done()
    sync(partition)
    assert await committing == PartitionCodes((ErrorCode.NONE,))
    assert await fetching == 7
    owner.stop()


@on_a_loop
async def test_several_writes_wait_for_one_sync() -> None:
    partition = open_partition(MemoryFiles())
    owner = owner_of(partition)
    waiting = [owner.ask(lambda token, i=i: commit(token, i)) for i in range(10)]
    sync(partition)
    await asyncio.gather(*waiting)
    assert await fetched(owner) == 9
    owner.stop()


@on_a_loop
async def test_what_was_written_is_there_after_a_restart() -> None:
    files = MemoryFiles()
    first = owner_of(open_partition(files, Durability.OS))
    for i in range(3):
        await first.ask(lambda token, i=i: commit(token, i))
    first.stop()
    again = owner_of(open_partition(files, Durability.OS))
    await again.loaded()
    assert await fetched(again) == 2
    again.stop()


@on_a_loop
async def test_loading_is_told_and_ends() -> None:
    files = MemoryFiles()
    first = owner_of(open_partition(files, Durability.OS))
    for i in range(3_000):
        await first.ask(lambda token, i=i: commit(token, i, metadata="x" * 200))
    first.stop()
    again = owner_of(open_partition(files, Durability.OS))
    refused = await again.ask(lambda token: ListGroups(token, frozenset(), frozenset()))
    assert refused == Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    await again.loaded()
    assert await fetched(again) == 2_999
    again.stop()


@on_a_loop
async def test_a_failed_write_is_taken_back() -> None:
    partition = open_partition(MemoryFiles())
    owner = owner_of(partition)
    safe = owner.ask(lambda token: commit(token, 7))
    sync(partition)
    await safe
    lost = owner.ask(lambda token: commit(token, 8))
    job = partition.log.pending_sync()
    assert job is not None
    partition.log.sync_failed(job, OSError(5, "input/output error"))
    partition.failed("input/output error")
    assert await lost == Refused(ErrorCode.NOT_COORDINATOR)
    assert await fetched(owner) == 7
    assert await owner.ask(lambda token: commit(token, 9)) == Refused(ErrorCode.NOT_COORDINATOR)
    assert await fetched(owner) == 7
    owner.stop()


@on_a_loop
async def test_more_than_a_batch_takes_is_written_in_several() -> None:
    files = MemoryFiles()
    partition = open_partition(files, Durability.OS, max_message_bytes=600)
    owner = owner_of(partition)
    offsets = tuple(OffsetToCommit(TopicPartition("t", i), 7, -1, "", NO_TOPIC_ID) for i in range(50))
    answer = await owner.ask(lambda token: CommitOffsets(token, G, MemberId(""), None, -1, offsets))
    assert answer == PartitionCodes((ErrorCode.NONE,) * 50)
    owner.stop()
    again = owner_of(open_partition(files, Durability.OS))
    found = await again.ask(lambda token: FetchOffsets(token, G, None))
    assert isinstance(found, FetchedOffsets)
    assert len(found.offsets) == 50
    again.stop()


@on_a_loop
async def test_whoever_is_parked_is_refused_when_the_broker_stops() -> None:
    partition = open_partition(MemoryFiles(), Durability.OS)
    owner = owner_of(partition)
    parked = owner.ask(lambda token: join(token, fresh="a", member_id_required=False))
    assert not parked.done()
    owner.stop()
    assert await parked == Refused(ErrorCode.NOT_COORDINATOR)
    assert await owner.ask(lambda token: DescribeGroup(token, G)) == Refused(ErrorCode.NOT_COORDINATOR)


@on_a_loop
async def test_a_deadline_that_is_due_is_set_off_by_the_loop() -> None:
    partition = open_partition(MemoryFiles(), Durability.OS)
    owner = owner_of(partition)
    answer = await owner.ask(lambda token: join(token, fresh="a", member_id_required=False))
    assert isinstance(answer, JoinAnswer)
    assert answer.generation == 1
    described = await owner.ask(lambda token: DescribeGroup(token, G))
    assert isinstance(described, DescribedGroup)
    assert described.state == "CompletingRebalance"
    owner.stop()


@on_a_loop
async def test_an_asker_that_went_away_is_no_trouble() -> None:
    partition = open_partition(MemoryFiles())
    owner = owner_of(partition)
    gone = owner.ask(lambda token: commit(token, 7))
    gone.cancel()
    sync(partition)
    await turns()
    assert await fetched(owner) == 7
    owner.stop()
