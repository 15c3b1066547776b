"""A partition that is taken from a member of a share group, in the middle of its work (ADR 0018).

Two partitions; the first member has both until another one comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from handlers.share_member import (
    ACCEPT,
    LOCK_MS,
    Group,
    Member,
    a_group,
    ranges,
    run,
    skip_ms,
    still_waiting,
)
from leaselog.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from leaselog.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)


class Worker:
    """A member that also sends heartbeats."""

    def __init__(self, group: Group, name: str, connection: int) -> None:
        self.group = group
        self.name = name
        self.share: Member = group.member(name, connection=connection)
        self._epoch = 0

    async def beat(self, *topics: str) -> list[int] | None:
        """What it is told to work on; None for what it knows."""
        request = ShareGroupHeartbeatRequest(
            group_id=self.group.name,
            member_id=self.name,
            member_epoch=self._epoch,
            subscribed_topic_names=topics or None,
        )
        answer = await self.group.box.ask(request, ShareGroupHeartbeatResponse, 1)
        assert answer.error_code == 0, answer
        self._epoch = answer.member_epoch
        if answer.assignment is None:
            return None
        return [i for topic in answer.assignment.topic_partitions for i in topic.partitions]

    async def leave(self) -> None:
        request = ShareGroupHeartbeatRequest(group_id=self.group.name, member_id=self.name, member_epoch=-1)
        answer = await self.group.box.ask(request, ShareGroupHeartbeatResponse, 1)
        assert answer.error_code == 0, answer


@asynccontextmanager
async def two_partitions() -> AsyncIterator[tuple[Group, Worker]]:
    """And a member that works on both."""
    async with a_group(begin=False, offsets_topic_num_partitions="1") as group:
        await group.configure(share_auto_offset_reset="earliest")
        find = FindCoordinatorRequest(key_type=0, coordinator_keys=[group.name])
        await group.box.ask(find, FindCoordinatorResponse, 4)
        first = Worker(group, "a", 1)
        assert await first.beat("t") == [0, 1]
        yield group, first


async def another(group: Group) -> Worker:
    worker = Worker(group, "b", 2)
    assert await worker.beat("t") == [1]
    return worker


async def another_while_records_are_held(group: Group, first: Worker) -> Worker:
    """Two of the partition that the other one gets."""
    await group.produce(2, partition=1)
    assert ranges(await first.share.fetch(partitions=(0, 1)), 1) == [(0, 1, 1)]
    return await another(group)


def test_a_partition_is_taken_at_once_from_who_holds_nothing_of_it() -> None:
    async def story() -> None:
        async with two_partitions() as (group, a):
            await group.produce(2)
            assert ranges(await a.share.fetch(partitions=(0, 1))) == [(0, 1, 1)]
            await another(group)
            assert await a.beat() == [0]

    run(story())


def test_who_holds_records_of_a_partition_keeps_it_and_is_lent_no_more_of_it() -> None:
    async def story() -> None:
        async with two_partitions() as (group, a):
            b = await another_while_records_are_held(group, a)
            assert await a.beat() is None
            await group.produce(2, partition=1)
            waiting = await still_waiting(a.share.fetch(max_wait_ms=1))
            await skip_ms(10)
            assert ranges(await waiting, 1) == []
            assert ranges(await b.share.fetch(partitions=(1,)), 1) == [(2, 3, 1)]
            assert await a.beat() is None
            await a.share.acknowledge({1: [(0, 1, [ACCEPT])]})
            assert await a.beat() == [0]

    run(story())


def test_who_loses_its_lease_loses_the_partition() -> None:
    async def story() -> None:
        async with two_partitions() as (group, a):
            await another_while_records_are_held(group, a)
            assert await a.beat() is None
            await skip_ms(LOCK_MS + 1)
            assert await a.beat() == [0]

    run(story())


def test_a_fetch_that_waits_brings_nothing_of_a_partition_taken_meanwhile() -> None:
    async def story() -> None:
        async with two_partitions() as (group, a):
            waiting = await still_waiting(a.share.fetch(partitions=(0, 1), max_wait_ms=60_000))
            b = await another(group)
            assert await a.beat() == [0]
            await group.produce(1, partition=1)
            await group.produce(1, partition=0)
            answer = await waiting
            assert (ranges(answer, 0), ranges(answer, 1)) == ([(0, 0, 1)], [])
            assert ranges(await b.share.fetch(partitions=(1,)), 1) == [(0, 0, 1)]

    run(story())


def test_a_fetch_that_may_not_have_what_there_is_leaves_it_to_the_next_in_line() -> None:
    async def story() -> None:
        async with two_partitions() as (group, a):
            first = await still_waiting(a.share.fetch(partitions=(0, 1), max_wait_ms=60_000))
            b = await another(group)
            second = await still_waiting(b.share.fetch(partitions=(1,), max_wait_ms=60_000))
            assert await a.beat() == [0]
            await group.produce(1, partition=1)
            assert ranges(await second, 1) == [(0, 0, 1)]
            assert not first.done()
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)

    run(story())


def test_acknowledging_what_was_taken_brings_no_more_of_it() -> None:
    """It is in the session again, as in Apache Kafka."""

    async def story() -> None:
        async with two_partitions() as (group, a):
            await another_while_records_are_held(group, a)
            await a.beat()
            await a.share.fetch(forget=(1,), max_wait_ms=0)
            await group.produce(2, partition=1)
            answer = await a.share.fetch(acks={1: [(0, 1, [ACCEPT])]}, max_wait_ms=0)
            assert ranges(answer, 1) == []
            assert await a.beat() == [0]

    run(story())


def test_what_a_member_gets_back_it_is_lent_again() -> None:
    async def story() -> None:
        async with two_partitions() as (group, a):
            await group.produce(1)
            await a.share.fetch(partitions=(0, 1))
            b = await another(group)
            assert await a.beat() == [0]
            b._epoch = -1
            await b.beat()
            assert await a.beat() == [0, 1]
            await group.produce(1, partition=1)
            assert ranges(await a.share.fetch(), 1) == [(0, 0, 1)]

    run(story())


def test_a_first_fetch_brings_nothing_of_what_its_member_lost_before_it_came() -> None:
    """It had been sent when the answer to the heartbeat came."""

    async def story() -> None:
        async with two_partitions() as (group, a):
            await group.produce(2, partition=0)
            await group.produce(2, partition=1)
            b = await another(group)
            assert await a.beat() == [0]
            answer = await a.share.fetch(partitions=(0, 1))
            assert (ranges(answer, 0), ranges(answer, 1)) == ([(0, 1, 1)], [])
            assert ranges(await b.share.fetch(partitions=(1,)), 1) == [(0, 1, 1)]

    run(story())


def test_a_new_session_is_lent_what_its_member_has_got_back_in_the_session_before() -> None:
    """It had lost the partition without a session. A connection that breaks is no reason to wait for a heartbeat."""

    async def story() -> None:
        async with two_partitions() as (group, a):
            b = await another(group)
            assert await a.beat() == [0]
            await a.share.fetch(partitions=[0], max_wait_ms=0)
            await b.leave()
            assert await a.beat() == [0, 1]
            await group.produce(3, partition=1)
            a.share.disconnect()
            a.share = group.member("a", connection=3)
            assert ranges(await a.share.fetch(partitions=(0, 1), max_wait_ms=0), 1) == [(0, 2, 1)]

    run(story())


def test_who_has_lost_nothing_is_lent_what_it_asks_for() -> None:
    """Be it no member, or one that asks for more than it was given."""

    async def story() -> None:
        async with two_partitions() as (group, _):
            await group.produce(2, partition=0)
            await group.produce(2, partition=1)
            b = await another(group)
            assert ranges(await group.member("c").fetch(partitions=(0, 1)), 1) == [(0, 1, 1)]
            await group.produce(2, partition=0)
            assert ranges(await b.share.fetch(partitions=(0, 1)), 0) == [(2, 3, 1)]

    run(story())


def test_a_session_begun_anew_does_not_keep_what_the_one_before_held() -> None:
    async def story() -> None:
        async with two_partitions() as (group, a):
            await another_while_records_are_held(group, a)
            assert await a.beat() is None
            a.share.disconnect()
            a.share = group.member("a", connection=3)
            await a.share.fetch(partitions=(0, 1), max_wait_ms=0, max_records=0)
            assert await a.beat() == [0]

    run(story())
