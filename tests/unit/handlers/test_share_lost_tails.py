"""Logs that have lost records in a power cut, and share groups that had finished them."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import pytest
from test_failed_logs_in_a_broker import fail, try_again

from handlers.share_member import ACCEPT, REJECT, RELEASE, Group, a_group, ranges, run
from handlers.test_share_growth import worker
from leaselog.broker.share_groups.reconciling import reconcile
from leaselog.wire.record_batch import iterate_headers

DURABILITIES = ["interval", "os", "fsync"]


async def six_finished(data_dir: str, durability: str) -> None:
    """Two batches of two, and six records, of which four are done with and the rest were released."""
    async with a_group(data_dir, partitions=1, durability=durability) as group:
        await group.produce(2, batches=2)
        await group.produce(6)
        member = group.member()
        assert ranges(await member.fetch()) == [(0, 9, 1)]
        await member.acknowledge({0: [(0, 3, [ACCEPT]), (4, 5, [RELEASE]), (6, 7, [REJECT])]})


def lose_after(data_dir: str, batches: int, *, is_open: bool = False) -> None:
    """Of the topic's log all but so many batches, as a power cut may when nobody has synced it."""
    directory = Path(data_dir)
    segment = directory / "t-0" / "00000000000000000000.log"
    data = segment.read_bytes()
    starts = [position for position, _ in iterate_headers(data)]
    segment.write_bytes(data[: starts[batches]])
    if not is_open:
        (directory / ".kafka_cleanshutdown").unlink()
        for checkpoint in directory.glob("recovery-point-offset-checkpoint*"):
            checkpoint.unlink()


async def deliver_all(group: Group, through: int) -> list[int]:
    """The offsets of all records that a member acquires."""
    member, got = group.member(), list[int]()
    for _ in range(20):
        leased = ranges(await member.fetch(max_wait_ms=50))
        got += [offset for first, last, _ in leased for offset in range(first, last + 1)]
        if got and got[-1] >= through - 1:
            break
    return got


@pytest.mark.parametrize("durability", DURABILITIES)
def test_what_is_written_where_a_log_has_lost_records_is_delivered(tmp_path: Path, durability: str) -> None:
    """With `fsync` it takes a disk that loses what it had synced."""

    async def after() -> None:
        async with a_group(str(tmp_path), begin=False, durability=durability) as group:
            await group.produce(10)  # beyond where the group had come to
            assert await deliver_all(group, 12) == [*range(2, 12)]

    run(six_finished(str(tmp_path), durability))
    lose_after(str(tmp_path), 1)
    run(after())


def test_what_the_log_still_has_is_not_delivered_again(tmp_path: Path) -> None:
    async def after() -> None:
        async with a_group(str(tmp_path), begin=False, durability="os") as group:
            await group.produce(1)
            assert await deliver_all(group, 5) == [4]

    run(six_finished(str(tmp_path), "os"))
    lose_after(str(tmp_path), 2)
    run(after())


def test_state_that_is_cut_is_told_of_counted_and_synced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def after() -> None:
        async with a_group(str(tmp_path), begin=False, durability="os") as group:
            coordinator = group.box.broker.share_coordinator
            assert coordinator.counts.cut == 1
            for partition in group.box.broker.logs.partitions():
                if partition.name.topic == "__share_group_state":
                    assert partition.log.durable_end == partition.log.end_offset

    run(six_finished(str(tmp_path), "os"))
    lose_after(str(tmp_path), 1)
    with caplog.at_level(logging.WARNING):
        run(after())
    assert "share state was ahead of its log, which has lost records" in caplog.messages


def test_a_broker_that_lost_nothing_cuts_nothing(tmp_path: Path) -> None:
    async def after() -> None:
        async with a_group(str(tmp_path), begin=False, durability="os") as group:
            assert group.box.broker.share_coordinator.counts.cut == 0

    run(six_finished(str(tmp_path), "os"))
    (tmp_path / ".kafka_cleanshutdown").unlink()
    run(after())


def test_a_log_that_returns_with_less_has_its_state_cut(tmp_path: Path) -> None:
    """It had failed, and was opened anew while the broker ran on."""

    async def story() -> None:
        async with a_group(str(tmp_path), partitions=1, durability="os") as group:
            broker = group.box.broker
            await group.produce(2)
            await group.produce(8)
            member = group.member()
            await member.fetch()
            await member.acknowledge({0: [(0, 9, [ACCEPT])]})
            failed = broker.logs.partition("t", 0)
            assert failed is not None
            fail(failed)
            failed.log.flush = lambda: None  # type: ignore[method-assign]
            lose_after(str(tmp_path), 1, is_open=True)
            try_again(broker)
            await group.produce(10)
            assert await deliver_all(group, 12) == [*range(2, 12)]

    run(story())


# Groups and their state


async def joined(data_dir: str, *, policy: str) -> None:
    """A group with a member, and state for its two partitions."""
    async with a_group(data_dir, begin=False, durability="os") as group:
        first = await worker(group, policy)
        assert await first.beat("t") == [0, 1]
        await group.produce(3)
        await first.share.fetch(partitions=[0, 1], max_wait_ms=0)


def lose_all_of(data_dir: str, topic: str) -> None:
    for directory in Path(data_dir).glob(f"{topic}-*"):
        shutil.rmtree(directory)
    (Path(data_dir) / ".kafka_cleanshutdown").unlink()
    for checkpoint in Path(data_dir).glob("recovery-point-offset-checkpoint*"):
        checkpoint.unlink()


def test_state_that_is_lost_begins_anew_and_passes_nothing_by_from_then_on(tmp_path: Path) -> None:
    async def after() -> None:
        async with a_group(str(tmp_path), begin=False, durability="os") as group:
            await group.box.broker.groups.start()
            await reconcile(group.box.broker)
            await group.produce(2)  # before anybody reads for the group
            first = await worker(group, "latest")
            assert await first.beat("t") == [0, 1]
            fetched = await first.share.fetch(partitions=[0, 1], max_wait_ms=0)
            assert ranges(fetched) == [(3, 4, 1)]

    run(joined(str(tmp_path), policy="latest"))
    lose_all_of(str(tmp_path), "__share_group_state")
    run(after())


def test_a_group_that_is_lost_goes_on_where_its_state_is(tmp_path: Path) -> None:
    async def before() -> None:
        async with a_group(str(tmp_path), begin=False, durability="os") as group:
            first = await worker(group, "earliest")
            await first.beat("t")
            await group.produce(3)
            await first.share.fetch(partitions=[0, 1], max_wait_ms=0)
            await first.share.acknowledge({0: [(0, 1, [ACCEPT])]})

    async def after() -> None:
        async with a_group(str(tmp_path), begin=False, durability="os") as group:
            await group.box.broker.groups.start()
            await reconcile(group.box.broker)
            second = await worker(group, "earliest", "b", 2)
            assert await second.beat("t") == [0, 1]
            fetched = await second.share.fetch(partitions=[0, 1], max_wait_ms=0)
            assert ranges(fetched) == [(2, 2, 1)]

    run(before())
    lose_all_of(str(tmp_path), "__consumer_offsets")
    run(after())
