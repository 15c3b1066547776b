"""The owner of one offsets partition: nothing is told before it is safe, and the log is enough to begin again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any
from uuid import UUID

import pytest
from group_bench import PARTITION, G, commit, join
from handlers.share_member import run, skip_ms
from share_group_bench import World

from leaselog.broker.groups import owner as group_owner
from leaselog.broker.groups.owner import GroupOwner
from leaselog.broker.records.partition import Partition
from leaselog.coordination.group_commands import (
    CommitOffsets,
    DescribedGroup,
    DescribeGroup,
    DropTopics,
    FetchedOffsets,
    FetchOffsets,
    JoinAnswer,
    ListGroups,
    OffsetToCommit,
    PartitionCodes,
)
from leaselog.coordination.group_facts import NO_TOPIC_ID
from leaselog.coordination.group_offsets import GroupOffsets
from leaselog.coordination.group_shard import GroupShard
from leaselog.coordination.group_turn import GroupLimits
from leaselog.coordination.share_group_commands import SettleShareStates, ShareBeat, ShareHeartbeat
from leaselog.log import AppendRefused, Durability, LogConfig, MemoryFiles, PartitionLog
from leaselog.model import ErrorCode, GroupId, MemberId, Refused, TopicId, TopicPartition

LIMITS = GroupLimits(initial_rebalance_delay_ms=0)
NOW_MS = 1_000_000
OTHER = GroupId("other")


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


def fail_sync(partition: Partition) -> None:
    job = partition.log.pending_sync()
    assert job is not None
    partition.log.sync_failed(job, OSError(5, "input/output error"))
    partition.failed("input/output error")


def test_a_failed_write_is_taken_back() -> None:
    async def story() -> None:
        files = MemoryFiles()
        partition = open_partition(files)
        owner = owner_of(partition)
        safe = owner.ask(lambda token: commit(token, 7))
        sync(partition)
        await safe
        segment = "data/__consumer_offsets-0/00000000000000000000.log"
        safe_bytes = files.size_bytes(segment)
        lost = [owner.ask(lambda token, i=i: commit(token, i)) for i in (8, 9)]
        fail_sync(partition)
        assert await asyncio.gather(*lost) == [Refused(ErrorCode.NOT_COORDINATOR)] * 2
        assert await owner.ask(lambda token: commit(token, 9)) == Refused(ErrorCode.NOT_COORDINATOR)
        # The log is opened anew, without what was not safe.
        files.open(segment, writable=True).truncate(safe_bytes)
        again = owner_of(open_partition(files))
        assert await fetched(again) == 7
        again.stop()

    run(story())


def test_a_failed_log_is_not_written_to_over_and_over() -> None:
    """A group that has to be written when it is loaded makes each load fail."""

    async def story() -> None:
        around = World()
        topic = around.make("t", 1)
        files = MemoryFiles()
        partition = open_partition(files, Durability.OS)
        owner = GroupOwner(partition, LIMITS, around, now_ms=lambda: NOW_MS)
        owner.load()
        beat = await owner.ask(
            lambda token: ShareHeartbeat(token, G, MemberId("m"), 0, "c", "/h", None, ("t",))
        )
        assert isinstance(beat, ShareBeat)
        places = {topic: frozenset({0})}
        await owner.ask(lambda token: SettleShareStates(token, G, places, {}))
        appends: list[int] = []
        append = partition.append
        partition.append = lambda *a, **k: appends.append(1) or append(*a, **k)  # type: ignore[method-assign, func-returns-value]
        partition.log.failure = OSError(28, "no space left on device")
        around.delete("t")
        owner.ask(lambda token: DropTopics(token, frozenset({"t"})))
        for _ in range(300):
            await skip_ms(1_000)
        assert len(appends) == 1
        assert owner.state == "failed"
        owner.stop()
        again = GroupOwner(open_partition(files, Durability.OS), LIMITS, around, now_ms=lambda: NOW_MS)
        again.load()
        assert again.state == "active"
        assert again.share_partition_count() == 0
        again.stop()

    run(story())


def test_a_log_that_refuses_what_every_load_writes_is_loaded_ever_more_rarely() -> None:
    async def story() -> None:
        around = World()
        topic = around.make("t", 1)
        partition = open_partition(MemoryFiles(), Durability.OS)
        owner = GroupOwner(partition, LIMITS, around, now_ms=lambda: NOW_MS)
        owner.load()
        await owner.ask(lambda token: ShareHeartbeat(token, G, MemberId("m"), 0, "c", "/h", None, ("t",)))
        await owner.ask(lambda token: SettleShareStates(token, G, {topic: frozenset({0})}, {}))
        refused: list[int] = []

        def refuse(*_: object, **__: object) -> asyncio.Future[Any]:
            refused.append(1)
            answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            answer.set_result(AppendRefused(ErrorCode.KAFKA_STORAGE_ERROR))
            return answer

        partition.append = refuse  # type: ignore[method-assign, assignment]
        around.delete("t")
        owner.ask(lambda token: DropTopics(token, frozenset({"t"})))
        for _ in range(300):
            await skip_ms(1_000)
        assert 8 <= len(refused) <= 20
        owner.stop()

    run(story())


@pytest.mark.parametrize("where", ["handle", "encode", "append", "apply", "reply"])
def test_whatever_fails_nobody_waits_for_ever_and_the_shard_is_what_the_log_says(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        partition = open_partition(MemoryFiles(), Durability.OS)
        owner = owner_of(partition)
        assert await owner.ask(lambda token: commit(token, 7)) == PartitionCodes((ErrorCode.NONE,))
        parked = owner.ask(lambda token: join(token, fresh="a", group=OTHER, member_id_required=False))
        tell = owner.ask(lambda token: join(token, fresh="b", group=OTHER, member_id_required=False))

        def fail(*_: object, **__: object) -> Any:
            raise KeyError("a bug")

        place = {
            "handle": (GroupShard, "handle"),
            "encode": (group_owner, "encode_fact"),
            "append": (Partition, "append"),
            "apply": (GroupOffsets, "put"),
            "reply": (GroupOwner, "_reply_when_safe"),
        }[where]
        with monkeypatch.context() as patched:
            patched.setattr(*place, fail)
            answer = await owner.ask(lambda token: commit(token, 8))
        assert answer == Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
        # What is only decided has changed nothing, and those who wait go on waiting. What was begun ends the shard.
        has_begun = where not in ("handle", "encode")
        assert parked.done() == tell.done() == has_begun
        await skip_ms(1_000)
        # An append that was made counts, though it was answered with an error; one that was not does not.
        assert await fetched(owner) == (8 if where in ("apply", "reply") else 7)
        owner.stop()
        for waiting in (parked, tell):
            assert isinstance(await waiting, Refused if has_begun else JoinAnswer)

    run(story())


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
