"""The owner of one share-state partition: one append a turn, nothing told before it is safe, the log is enough."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import wraps
from typing import Any
from uuid import UUID

import pytest
from handlers.share_member import run, skip_ms

from leaselog.broker.records.partition import Partition
from leaselog.broker.share_state.ledger import StateTopicLedger
from leaselog.broker.share_state.owner import ShareStateCounts, ShareStateOwner
from leaselog.coordination.share_state_batches import StateBatch
from leaselog.coordination.share_state_commands import (
    InitializeState,
    ReadState,
    ShareStateAnswer,
    ShareSummary,
    StateRead,
    SummarizeState,
    WriteState,
    Written,
)
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.coordination.share_state_shard import ShareStateLimits, ShareStateShard
from leaselog.log import Durability, LogConfig, MemoryFiles, PartitionLog
from leaselog.model import ErrorCode, GroupId, Refused, TopicId, TopicPartition
from leaselog.wire.record_batch import iterate_headers
from leaselog.wire.records import Record, build_batch

NAME = TopicPartition("__share_group_state", 0)
NOW_MS = 1_000_000
LIMITS = ShareStateLimits(snapshot_update_records_per_snapshot=10, cold_partition_snapshot_interval_ms=1_000)


def on_a_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    @wraps(test)
    def run() -> None:
        asyncio.run(test())

    return run


class Clock:
    now_ms = NOW_MS


def open_partition(
    files: MemoryFiles,
    durability: Durability = Durability.FSYNC,
    *,
    max_message_bytes: int = 1_048_588,
    start_offset: int = 0,
) -> Partition:
    if not files.exists("data"):
        files.make_directory("data")
    settings = {"durability": durability, "retention.ms": -1, "max.message.bytes": max_message_bytes}
    log = PartitionLog.open(
        files,
        "data/__share_group_state-0",
        TopicId(UUID(int=5)),
        LogConfig.of(settings),
        now_ms=NOW_MS,
        clean=False,
        start_offset=start_offset,
    )
    return Partition(NAME, TopicId(UUID(int=5)), log, mark_dirty=lambda _: None, wake=lambda _: None)


def sync(partition: Partition) -> None:
    job = partition.log.pending_sync()
    assert job is not None
    job.run()
    partition.log.synced(job)
    partition.synced()


def fail_sync(partition: Partition) -> None:
    job = partition.log.pending_sync()
    assert job is not None
    partition.log.sync_failed(job, OSError(5, "input/output error"))
    partition.failed("input/output error")


def owner_of(
    partition: Partition,
    clock: Clock | None = None,
    limits: ShareStateLimits = LIMITS,
    *,
    write_timeout_s: float = 5.0,
) -> ShareStateOwner:
    time = clock or Clock()
    owner = ShareStateOwner(
        partition,
        StateTopicLedger(partition),
        limits,
        now_ms=lambda: time.now_ms,
        write_timeout_s=write_timeout_s,
    )
    owner.load()
    return owner


def key(partition: int = 0) -> SharePartitionKey:
    return SharePartitionKey(GroupId("g"), TopicId(UUID(int=9)), partition)


def done(offset: int) -> tuple[StateBatch, ...]:
    return (StateBatch(offset, offset + 1, 2, 1),)


def batch_count(partition: Partition) -> int:
    data = partition.log.read(partition.log.start_offset, 1 << 20, partition.log.end_offset)
    assert not isinstance(data, Refused)
    return len(list(iterate_headers(data)))


async def turns(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def settled(partition: Partition, *answers: asyncio.Future[ShareStateAnswer]) -> list[ShareStateAnswer]:
    await turns()
    sync(partition)
    return list(await asyncio.gather(*answers))


@on_a_loop
async def test_all_of_one_turn_share_an_append_and_a_sync() -> None:
    partition = open_partition(MemoryFiles())
    owner = owner_of(partition)
    asked = [owner.ask(InitializeState(key(i), 0, 0)) for i in range(20)]
    asked += [owner.ask(WriteState(key(i), 0, 0, batches=done(i))) for i in range(20)]
    assert await settled(partition, *asked) == [Written()] * 40
    assert partition.log.end_offset == 40
    assert batch_count(partition) == 1
    owner.stop()


@on_a_loop
async def test_what_is_written_is_counted_once_it_is_safe() -> None:
    partition = open_partition(MemoryFiles())
    counts = ShareStateCounts()
    owner = ShareStateOwner(
        partition, StateTopicLedger(partition), LIMITS, now_ms=lambda: NOW_MS, counts=counts
    )
    owner.load()
    asked = [owner.ask(InitializeState(key(i), 0, 0)) for i in range(20)]
    await turns()
    assert counts.written == 0
    await settled(partition, *asked, owner.ask(SummarizeState(key())))
    assert (counts.written, counts.appends) == (20, 1)
    assert 0 < counts.longest_write_s <= counts.write_s
    owner.stop()


@on_a_loop
async def test_nobody_is_told_of_what_a_crash_could_take_back() -> None:
    partition = open_partition(MemoryFiles())
    owner = owner_of(partition)
    await settled(partition, owner.ask(InitializeState(key(), 0, 0)))
    writing = owner.ask(WriteState(key(), 0, 0, 0, 1, done(0)))
    reading, asking = owner.ask(ReadState(key(), 0)), owner.ask(SummarizeState(key()))
    await turns()
    assert not writing.done()
    assert not reading.done()
    assert not asking.done()
    sync(partition)
    assert await asyncio.gather(writing, reading, asking) == [
        Written(),
        StateRead(0, 0, done(0)),
        ShareSummary(0, 0, 0, 1),
    ]
    owner.stop()


@on_a_loop
async def test_what_needs_no_write_is_told_at_once() -> None:
    owner = owner_of(open_partition(MemoryFiles()))
    assert owner.ask(SummarizeState(key())).done()
    owner.stop()


@on_a_loop
async def test_what_was_written_is_there_after_a_restart() -> None:
    files = MemoryFiles()
    first = owner_of(open_partition(files, Durability.OS))
    await first.ask(InitializeState(key(), 3, 0))
    for i in range(25):
        await first.ask(WriteState(key(), 3, 0, i // 2, i, done(i)))
    before = await first.ask(ReadState(key()))
    first.stop()
    again = owner_of(open_partition(files, Durability.OS))
    await again.loaded()
    assert await again.ask(ReadState(key())) == before
    assert await again.ask(SummarizeState(key())) == ShareSummary(3, 0, 12, 24)
    again.stop()


@on_a_loop
async def test_what_is_decided_when_the_owner_stops_is_written() -> None:
    files = MemoryFiles()
    partition = open_partition(files)
    first = owner_of(partition)
    asked = first.ask(InitializeState(key(), 3, 0))
    first.stop()
    assert await asked == Refused(ErrorCode.NOT_COORDINATOR, "This is not the correct coordinator.")
    sync(partition)
    again = owner_of(open_partition(files))
    assert await again.ask(SummarizeState(key())) == ShareSummary(3, 0, 0, 0)
    again.stop()


@on_a_loop
async def test_loading_is_told_and_ends() -> None:
    files = MemoryFiles()
    first = owner_of(open_partition(files, Durability.OS))
    for step in range(0, 6_000, 300):
        await asyncio.gather(*(first.ask(InitializeState(key(step + i), 0, 0)) for i in range(300)))
    first.stop()
    again = owner_of(open_partition(files, Durability.OS))
    refused = await again.ask(SummarizeState(key()))
    assert isinstance(refused, Refused)
    assert refused.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    await again.loaded()
    assert again.key_count() == 6_000
    again.stop()


LONG = SharePartitionKey(GroupId("x" * 40_000), TopicId(UUID(int=9)), 0)


@on_a_loop
async def test_what_cannot_be_written_is_refused_alone_and_spoils_nothing_for_its_turn() -> None:
    files = MemoryFiles()
    partition = open_partition(files)
    owner = owner_of(partition)
    began = owner.ask(InitializeState(key(), 0, 0))
    assert await owner.ask(InitializeState(LONG, 0, 0)) == Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
    wrote = owner.ask(WriteState(key(), 0, 0, batches=done(0)))
    assert await settled(partition, began, wrote) == [Written(), Written()]
    assert owner.key_count() == 1
    owner.stop()
    again = owner_of(open_partition(files))
    assert await again.ask(ReadState(key())) == StateRead(0, 0, done(0))
    again.stop()


@on_a_loop
async def test_a_state_that_fits_no_batch_is_refused_alone() -> None:
    partition = open_partition(MemoryFiles(), Durability.OS, max_message_bytes=2_000)
    owner = owner_of(partition, limits=replace(LIMITS, batches_max=45_000))
    began, other = owner.ask(InitializeState(key(), 0, 0)), owner.ask(InitializeState(key(1), 0, 0))
    assert await asyncio.gather(began, other) == [Written(), Written()]
    many = tuple(StateBatch(2 * i, 2 * i + 1, 2, 1) for i in range(200))
    refused = owner.ask(WriteState(key(), 0, 0, batches=many))
    kept = owner.ask(WriteState(key(1), 0, 0, batches=done(0)))
    assert (await asyncio.gather(refused, kept))[1] == Written()
    assert isinstance(await refused, Refused)
    owner.stop()


@pytest.mark.parametrize("where", ["handle", "entries", "replay", "batches", "append"])
def test_whatever_fails_nobody_waits_for_ever_and_the_shard_is_what_the_log_says(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        partition = open_partition(MemoryFiles(), Durability.OS)
        owner = owner_of(partition)
        assert await owner.ask(InitializeState(key(), 0, 0)) == Written()
        before = owner.ask(WriteState(key(), 0, 0, batches=done(0)))

        def fail(*_: object, **__: object) -> Any:
            raise KeyError("a bug")

        place = {
            "handle": (ShareStateShard, "handle"),
            "entries": (StateTopicLedger, "entries"),
            "replay": (ShareStateShard, "replay"),
            "batches": (StateTopicLedger, "batches"),
            "append": (Partition, "append"),
        }[where]
        with monkeypatch.context() as patched:
            patched.setattr(*place, fail)
            asked = owner.ask(WriteState(key(), 0, 0, batches=done(1)))
            await turns(5)
        refused = Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
        assert await asked == refused
        # What is only decided has changed nothing; what was begun ends the shard, and the turn with it.
        is_kept = where in ("handle", "entries")
        assert await before == (Written() if is_kept else refused)
        await skip_ms(1_000)
        assert await owner.ask(ReadState(key())) == StateRead(0, 0, done(0) if is_kept else ())
        owner.stop()

    run(story())


def test_a_failed_write_is_taken_back() -> None:
    async def story() -> None:
        files = MemoryFiles()
        partition = open_partition(files)
        owner = owner_of(partition)
        asked = [owner.ask(InitializeState(key(), 0, 0)), owner.ask(WriteState(key(), 0, 0, 0, 1, done(0)))]
        assert await settled(partition, *asked) == [Written(), Written()]
        segment = "data/__share_group_state-0/00000000000000000000.log"
        safe_bytes = files.size_bytes(segment)
        lost = [owner.ask(WriteState(key(), 0, 0, 0, 2, done(1))), owner.ask(SummarizeState(key()))]
        await turns()
        later = owner.ask(WriteState(key(), 0, 0, 0, 3, done(2)))
        fail_sync(partition)
        for answer in (*await asyncio.gather(*lost), await later):
            assert answer == Refused(ErrorCode.NOT_COORDINATOR)
        while_it_is_gone = await owner.ask(SummarizeState(key()))
        assert isinstance(while_it_is_gone, Refused)
        assert while_it_is_gone.code is ErrorCode.NOT_COORDINATOR
        # The log is opened anew, without what was not safe.
        files.open(segment, writable=True).truncate(safe_bytes)
        again = owner_of(open_partition(files))
        assert await again.ask(SummarizeState(key())) == ShareSummary(0, 0, 0, 1)
        assert await again.ask(ReadState(key())) == StateRead(0, 0, done(0))
        again.stop()

    run(story())


@on_a_loop
async def test_more_than_a_batch_takes_is_written_in_several() -> None:
    files = MemoryFiles()
    partition = open_partition(files, Durability.OS, max_message_bytes=2_000)
    owner = owner_of(partition)
    answers = await asyncio.gather(*(owner.ask(InitializeState(key(i), 0, 0)) for i in range(50)))
    assert answers == [Written()] * 50
    assert batch_count(partition) > 1
    owner.stop()
    again = owner_of(open_partition(files, Durability.OS))
    assert again.key_count() == 50
    again.stop()


@on_a_loop
async def test_a_state_that_would_fit_in_no_record_is_refused_alone() -> None:
    partition = open_partition(MemoryFiles(), Durability.OS, max_message_bytes=2_000)
    owner = owner_of(partition)
    await owner.ask(InitializeState(key(), 0, 0))
    islands = tuple(StateBatch(i, i + 1, 2, 1) for i in range(0, 200, 2))
    refused = await owner.ask(WriteState(key(), 0, 0, batches=islands))
    assert isinstance(refused, Refused)
    assert refused.code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert await owner.ask(WriteState(key(), 0, 0, batches=done(0))) == Written()
    owner.stop()


@on_a_loop
async def test_a_stranger_in_the_log_makes_the_owner_read_it_anew() -> None:
    partition = open_partition(MemoryFiles(), Durability.OS)
    owner = owner_of(partition)
    await owner.ask(InitializeState(key(), 0, 0))
    disturbed = owner.ask(WriteState(key(), 0, 0, batches=done(0)))
    partition.append(build_batch([Record(b"stranger", b"", timestamp_ms=NOW_MS)]), now_ms=NOW_MS)
    assert isinstance(await disturbed, Refused)
    assert await owner.ask(ReadState(key())) == StateRead(0, 0)
    assert await owner.ask(WriteState(key(), 0, 0, batches=done(0))) == Written()
    owner.stop()


@on_a_loop
async def test_an_asker_that_went_away_is_no_trouble() -> None:
    partition = open_partition(MemoryFiles())
    owner = owner_of(partition)
    gone = owner.ask(InitializeState(key(), 0, 0))
    gone.cancel()
    await settled(partition)
    assert await owner.ask(SummarizeState(key())) == ShareSummary(0, 0, 0, 0)
    owner.stop()


@on_a_loop
async def test_the_log_is_cut_where_nothing_is_needed_any_more() -> None:
    files = MemoryFiles()
    partition = open_partition(files, Durability.FSYNC)
    owner = owner_of(partition)
    asked = [owner.ask(InitializeState(key(), 0, 0))]
    asked += [owner.ask(WriteState(key(), 0, 0, batches=done(i))) for i in range(11)]
    await turns()
    assert not owner.prune()  # what would take its place is not on disk
    await settled(partition, *asked)
    before = await owner.ask(ReadState(key()))
    assert owner.prune()
    assert not owner.prune()
    assert partition.log.start_offset == 11
    owner.stop()
    again = owner_of(open_partition(files, start_offset=11))
    assert await again.ask(ReadState(key())) == before
    again.stop()


@on_a_loop
async def test_what_a_snapshot_replaces_stays_until_the_snapshot_is_safe() -> None:
    partition = open_partition(MemoryFiles())
    owner = owner_of(partition)
    await settled(partition, owner.ask(InitializeState(key(), 0, 0)))
    again = owner.ask(InitializeState(key(), 1, 0))
    await turns()
    assert (partition.log.durable_end, partition.log.end_offset) == (1, 2)
    assert not owner.prune()  # a power cut would leave neither
    assert partition.log.start_offset == 0
    await settled(partition, again)
    more = owner.ask(InitializeState(key(), 2, 0))
    await turns()
    assert owner.prune()  # of what was there the last time all is safe, whatever came since
    assert partition.log.start_offset == 1
    await settled(partition, more)
    owner.stop()


@on_a_loop
async def test_where_the_system_syncs_pruning_syncs_first() -> None:
    partition = open_partition(MemoryFiles(), Durability.OS)
    owner = owner_of(partition)
    await owner.ask(InitializeState(key(), 0, 0))
    await owner.ask(InitializeState(key(), 1, 0))
    assert partition.log.durable_end == 0
    assert owner.prune()
    assert (partition.log.start_offset, partition.log.durable_end) == (1, 2)
    owner.stop()


@on_a_loop
async def test_a_cold_key_lets_the_log_go_on() -> None:
    clock = Clock()
    partition = open_partition(MemoryFiles())
    owner = owner_of(partition, clock)
    await settled(partition, owner.ask(InitializeState(key(0), 0, 0)))
    clock.now_ms += 1_000
    await settled(partition, owner.ask(InitializeState(key(1), 0, 0)))
    await owner.snapshot_cold()
    await settled(partition)
    assert owner.prune()
    assert partition.log.start_offset == 1
    assert partition.log.end_offset == 3
    await owner.snapshot_cold()
    await turns()
    assert partition.log.end_offset == 3
    owner.stop()


@on_a_loop
async def test_a_log_that_fails_behind_its_cut_is_told_of_so_that_it_is_opened_anew() -> None:
    partition = open_partition(MemoryFiles(), Durability.OS)
    told: list[Partition] = []
    partition._on_failure = told.append
    owner = owner_of(partition)
    await asyncio.gather(*(owner.ask(InitializeState(key(i), 0, 0)) for i in range(2)))
    for i in range(11):
        await owner.ask(WriteState(key(), 0, 0, batches=done(i)))
        await owner.ask(WriteState(key(1), 0, 0, batches=done(i)))
    cut = PartitionLog.delete_records

    def cut_and_fail(log: PartitionLog, before: int) -> int | Refused:
        outcome = cut(log, before)
        log.failure = OSError(28, "No space left on device", "leader-epoch-checkpoint.tmp")
        return outcome

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PartitionLog, "delete_records", cut_and_fail)
        owner.prune()
    assert told == [partition]
    owner.stop()


@on_a_loop
async def test_cold_keys_beyond_one_step_miss_no_write_in_between() -> None:
    clock = Clock()
    partition = open_partition(MemoryFiles(), Durability.OS)
    owner = owner_of(partition, clock)
    count = 600
    await asyncio.gather(*(owner.ask(InitializeState(key(i), 0, 0)) for i in range(count)))
    clock.now_ms += 1_000
    upkeep = asyncio.ensure_future(owner.snapshot_cold())
    await asyncio.sleep(0)
    await owner.ask(WriteState(key(count - 1), 0, 0, 0, 1, done(0)))
    await upkeep
    await turns()
    assert await owner.ask(ReadState(key(count - 1))) == StateRead(0, 0, done(0))
    assert owner.prune()
    assert partition.log.start_offset == count
    owner.stop()


def test_who_waits_too_long_for_a_write_is_told_to_try_again_and_the_write_goes_on() -> None:
    async def story() -> None:
        partition = open_partition(MemoryFiles())
        owner = owner_of(partition)
        begun = owner.ask(InitializeState(key(), 0, 0))
        await turns()
        await skip_ms(4_000)
        later = owner.ask(InitializeState(key(1), 0, 0))
        await skip_ms(1_001)
        assert await begun == Refused(
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
            "the write takes longer than share.coordinator.write.timeout.ms",
        )
        assert not later.done(), "it has a second left to wait for"
        behind = owner.ask(SummarizeState(key()))
        sync(partition)
        assert await later == Written()
        assert await behind == ShareSummary(0, 0, 0, 0)
        again = owner.ask(InitializeState(key(), 0, 0))
        await turns()
        sync(partition)
        assert await again == Written(), "trying again says the same"

    run(story())


def test_reads_behind_a_write_that_never_ends_are_given_up_too() -> None:
    async def story() -> None:
        partition = open_partition(MemoryFiles())
        owner = owner_of(partition, write_timeout_s=1.0)
        owner.ask(InitializeState(key(), 0, 0))
        await turns()
        await skip_ms(1_001)
        behind = owner.ask(SummarizeState(key()))
        await skip_ms(1_001)
        outcome = await behind
        assert isinstance(outcome, Refused)
        assert outcome.code is ErrorCode.COORDINATOR_NOT_AVAILABLE

    run(story())
