"""Sessions of many partitions, and partitions of many sessions: what a look costs is what has changed.

Work is counted, not timed: how many owners are asked whether they can give, and how many log reads there are.
"""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from handlers.share_member import (
    ACCEPT,
    RELEASE,
    Group,
    Member,
    a_group,
    ranges,
    run,
    settled,
    skip_ms,
    still_waiting,
)
from leaselog.broker.lending.fetch_line import FOUND_AT_ONCE, SEEN_AT_ONCE
from leaselog.broker.lending.fetching import MOST_GIVING
from leaselog.broker.lending.partition_owner import SharePartitionOwner
from leaselog.broker.lending.partitions import LEFT_AT_ONCE
from leaselog.share import available, inflight, share_partition, timed_ranges

MANY = 300
LONG_MS = 60_000


@contextmanager
def looks() -> Iterator[Counter[int]]:
    """How often the owner of each partition was asked whether it can give."""
    asked = Counter[int]()
    can_give = SharePartitionOwner.can_give

    def counted(owner: SharePartitionOwner) -> bool:
        asked[owner.at.partition] += 1
        return can_give(owner)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SharePartitionOwner, "can_give", counted)
        yield asked


async def opened(group: Group, name: str = "m", *, partitions: int = MANY, connection: int = 1) -> Member:
    """A member whose session is open, and knows that no partition has anything."""
    member = group.member(name, connection=connection)
    await member.fetch(partitions=range(partitions), max_wait_ms=0)
    await member.fetch(max_wait_ms=0)
    return member


def test_a_wake_looks_at_the_partition_that_has_changed_alone() -> None:
    async def story() -> None:
        async with a_group(partitions=MANY) as group:
            member = await opened(group)
            with looks() as asked:
                waiting = await still_waiting(member.fetch(max_wait_ms=LONG_MS))
                assert asked == {}, "nothing has happened since the last look"
                await group.produce(1, partition=7)
                assert ranges(await waiting, 7) == [(0, 0, 1)]
                assert set(asked) == {7}
                assert asked[7] < 5

    run(story())


def test_new_records_are_looked_at_by_one_of_many_sessions() -> None:
    async def story() -> None:
        async with a_group(partitions=1) as group:
            members = [await opened(group, f"m{i}", partitions=1, connection=i) for i in range(50)]
            with looks() as asked:
                fetches = [await still_waiting(m.fetch(max_wait_ms=LONG_MS, max_records=1)) for m in members]
                await group.produce(1)
                assert ranges(await fetches[0]) == [(0, 0, 1)]
                assert asked[0] < 5
            for fetch in fetches[1:]:
                fetch.cancel()

    run(story())


def test_one_job_of_a_backlog_in_all_partitions_looks_at_one_of_them() -> None:
    async def story() -> None:
        async with a_group(partitions=MANY) as group:
            for partition in range(MANY):
                await group.produce(1, partition=partition)
            member = group.member()
            await member.fetch(partitions=range(MANY), max_records=1)
            with looks() as asked:
                await member.fetch(max_records=1)
                assert asked.total() < 5

    run(story())


def test_each_partition_of_a_backlog_has_its_turn_though_one_answer_has_not_all_of_them() -> None:
    async def story() -> None:
        many = MOST_GIVING + 50
        async with a_group(partitions=many) as group:
            for partition in range(many):
                await group.produce(2, partition=partition)
            member = group.member()
            first = await member.fetch(partitions=range(many), max_records=10_000)
            second = await member.fetch(max_records=10_000)
            given = [[p for p in range(many) if ranges(answer, p)] for answer in (first, second)]
            assert given == [list(range(MOST_GIVING)), list(range(MOST_GIVING, many))]

    run(story())


def test_what_one_member_gives_back_is_had_by_one_that_did_not_wait_for_it() -> None:
    async def story() -> None:
        async with a_group(partitions=MANY) as group:
            idle = await opened(group, "idle", connection=2)
            busy = await opened(group, "busy")
            await group.produce(1, partition=3)
            assert ranges(await busy.fetch(), 3) == [(0, 0, 1)]
            assert ranges(await idle.fetch(max_wait_ms=0), 3) == []
            busy.disconnect()
            assert ranges(await idle.fetch(max_wait_ms=LONG_MS), 3) == [(0, 0, 2)]

    run(story())


def test_a_partition_that_is_forgotten_and_named_again_gives_its_records_once() -> None:
    async def story() -> None:
        async with a_group(partitions=2) as group:
            member = await opened(group, partitions=2)
            await group.produce(1, partition=1)
            assert ranges(await member.fetch(max_wait_ms=0, forget=[1]), 1) == []
            answer = await member.fetch(max_wait_ms=0, acks={1: []})
            assert ranges(answer, 1) == [(0, 0, 1)]
            assert ranges(await member.fetch(max_wait_ms=0), 1) == []

    run(story())


def test_a_full_window_whose_records_are_deleted_gives_what_comes_behind_them() -> None:
    async def story() -> None:
        async with a_group(partitions=1, group_share_min_partition_max_record_locks="100") as group:
            await group.configure(share_partition_max_record_locks="100")
            await group.produce(200)
            member = group.member()
            assert ranges(await member.fetch(max_records=100, share_acquire_mode=1)) == [(0, 99, 1)]
            waiting = await still_waiting(member.fetch(max_wait_ms=LONG_MS))
            partition = group.box.broker.logs.partition(group.topic, 0)
            assert partition is not None
            partition.log.delete_records(150)
            partition.begins_later()
            assert ranges(await waiting) == [(150, 199, 1)]

    run(story())


def test_partitions_are_found_in_steps_and_others_have_the_loop_in_between() -> None:
    async def story() -> None:
        async with a_group(partitions=5 * FOUND_AT_ONCE) as group:
            turns = 0
            fetch = asyncio.ensure_future(
                group.member().fetch(partitions=range(5 * FOUND_AT_ONCE), max_wait_ms=0)
            )
            while not fetch.done():
                await asyncio.sleep(0)
                turns += 1
            assert turns >= 4

    run(story())


def test_an_idle_share_partition_takes_less_than_two_kilobytes() -> None:
    """Of four groups, so that what is of the topic's partition is not counted as one group's."""
    many, groups = 300, 4

    async def story() -> None:
        async with a_group(partitions=many) as group:
            others = [Group(group.box, group.topic_id, f"g{number}") for number in range(groups)]
            for other in others:
                await other.begin(partitions=many)
            gc.collect()
            tracemalloc.start()
            before_bytes, _ = tracemalloc.get_traced_memory()
            for number, other in enumerate(others):
                await opened(other, partitions=many, connection=number)
            gc.collect()
            after_bytes, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert len(list(group.box.broker.shares.owners())) == groups * many
            assert after_bytes - before_bytes < 2_048 * groups * many

    run(story())


def test_an_idle_share_partition_keeps_nothing_of_what_went_on_there() -> None:
    async def story() -> None:
        async with a_group(partitions=1) as group:
            member = group.member()
            await group.produce(100, batches=20)
            for number in range(20):
                assert ranges(await member.fetch(max_records=100, share_acquire_mode=1)) != [], number
                await member.acknowledge({0: [(100 * number, 100 * number + 99, [ACCEPT])]})
            (owner,) = group.box.broker.shares.owners()
            assert owner.machine is not None
            assert (owner.machine.start, owner.machine.end) == (2_000, 2_000)
            assert owner.machine._story == []

    run(story())


def test_the_owners_of_a_group_without_sessions_end_in_steps() -> None:
    async def story() -> None:
        many = 2 * LEFT_AT_ONCE + 10
        async with a_group(partitions=many) as group:
            member = await opened(group, partitions=many)
            shares = group.box.broker.shares
            member.disconnect()
            assert len(list(shares.owners())) == many - LEFT_AT_ONCE
            for _ in range(10):
                await asyncio.sleep(0)
            assert list(shares.owners()) == []
            assert shares._groups == {}

    run(story())


def test_a_group_that_is_back_keeps_the_owners_that_have_not_ended_yet() -> None:
    async def story() -> None:
        many = 2 * LEFT_AT_ONCE
        async with a_group(partitions=many) as group:
            (await opened(group, partitions=many)).disconnect()
            await group.produce(1, partition=0)
            back = await opened(group, "n", partitions=many, connection=2)
            assert len(list(group.box.broker.shares.owners())) == many
            await group.produce(1, partition=many - 1)
            assert ranges(await back.fetch(max_wait_ms=0), many - 1) == [(0, 0, 1)]

    run(story())


def test_shared_emptiness_stays_empty() -> None:
    async def story() -> None:
        async with a_group(partitions=1) as group:
            await group.produce(5)
            member = group.member()
            assert ranges(await member.fetch()) == [(0, 4, 1)]
            await member.acknowledge({0: [(0, 4, [ACCEPT, RELEASE, ACCEPT, RELEASE, ACCEPT])]})
            assert ranges(await member.fetch()) == [(1, 1, 2), (3, 3, 2)]
            member.disconnect()

    run(story())
    shared = (
        inflight.NO_FIRSTS,
        inflight.NO_STARTS,
        inflight.NO_CELLS,
        timed_ranges.NONE_YET,
        available.NONE_YET,
    )
    assert not any(shared)
    assert not share_partition.NO_LETTERS


def test_a_changed_config_has_all_partitions_looked_at_in_steps() -> None:
    async def story() -> None:
        many = SEEN_AT_ONCE + 100
        async with a_group(partitions=many) as group:
            member = await opened(group, partitions=many)
            waiting = await still_waiting(member.fetch(max_wait_ms=LONG_MS))
            with looks() as asked:
                await group.configure(share_record_lock_duration_ms="20000")
                assert not await settled(waiting)
                assert len(asked) == many
            with looks() as asked:
                await group.produce(1, partition=5)
                assert ranges(await waiting, 5) == [(0, 0, 1)]
                assert set(asked) == {5}

    run(story())


def test_a_member_that_owes_records_of_one_partition_is_answered_when_its_patience_ends() -> None:
    async def story() -> None:
        async with a_group(partitions=MANY) as group:
            member = await opened(group)
            await group.produce(1, partition=9)
            assert ranges(await member.fetch(max_wait_ms=0), 9) == [(0, 0, 1)]
            waiting = await still_waiting(member.fetch(max_wait_ms=LONG_MS))
            await skip_ms(100)
            assert (await waiting).responses == []
            await member.acknowledge({9: [(0, 0, [ACCEPT])]})
            waiting = await still_waiting(member.fetch(max_wait_ms=LONG_MS))
            await skip_ms(LONG_MS - 1000)
            assert not await settled(waiting), "it owes nothing any more"
            waiting.cancel()

    run(story())
