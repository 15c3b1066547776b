"""A topic that gets more partitions while a share group consumes it: nothing that is written to them is passed by."""

from __future__ import annotations

from pathlib import Path

import pytest

from handlers.share_member import Group, a_group, ranges, run
from handlers.test_share_rebalance import Worker
from leaselog.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from leaselog.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

POLICIES = ["latest", "earliest", "by_duration:PT1H"]


async def worker(group: Group, policy: str, name: str = "a", connection: int = 1) -> Worker:
    """A member of the group, which does not know the topic yet if it is the first one."""
    await group.configure(share_auto_offset_reset=policy)
    find = FindCoordinatorRequest(key_type=0, coordinator_keys=[group.name])
    await group.box.ask(find, FindCoordinatorResponse, 4)
    return Worker(group, name, connection)


async def grow(group: Group, partitions: int) -> None:
    topic = CreatePartitionsTopic(name=group.topic, count=partitions, assignments=None)
    request = CreatePartitionsRequest(topics=[topic], timeout_ms=1_000)
    answer = await group.box.ask(request, CreatePartitionsResponse, 3)
    assert [result.error_code for result in answer.results] == [0]


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_written_to_an_added_partition_before_anybody_reads_it_is_delivered(policy: str) -> None:
    async def scenario() -> None:
        async with a_group(begin=False, partitions=1) as group:
            first = await worker(group, policy)
            await first.beat("t")
            await first.share.fetch(partitions=[0], max_wait_ms=0)
            await grow(group, 2)
            await group.produce(5, partition=1)
            assert await first.beat() == [0, 1]
            fetched = await first.share.fetch(acks={1: []}, max_wait_ms=0)
            assert ranges(fetched, 1) == [(0, 4, 1)]

    run(scenario())


def test_what_is_written_to_a_partition_added_while_nobody_was_there_is_delivered(tmp_path: Path) -> None:
    """Neither a member nor, for a while, the broker."""

    async def before() -> None:
        async with a_group(str(tmp_path), begin=False, partitions=1) as group:
            first = await worker(group, "latest")
            await first.beat("t")
            await first.leave()
            await grow(group, 2)
            await group.produce(3, partition=1)

    async def after() -> None:
        async with a_group(str(tmp_path), begin=False) as group:
            second = await worker(group, "latest", "b", 2)
            assert await second.beat("t") == [0, 1]
            await group.produce(2, partition=0)
            fetched = await second.share.fetch(partitions=[0, 1], max_wait_ms=0)
            assert (ranges(fetched, 0), ranges(fetched, 1)) == ([], [(0, 2, 1)])

    run(before())
    run(after())


def test_a_topic_that_is_subscribed_to_later_begins_where_the_policy_says() -> None:
    async def scenario() -> None:
        async with a_group(begin=False, partitions=2) as group:
            await group.produce(3, partition=1)
            first = await worker(group, "latest")
            assert await first.beat("t") == [0, 1]
            fetched = await first.share.fetch(partitions=[0, 1], max_wait_ms=0)
            assert (ranges(fetched, 0), ranges(fetched, 1)) == ([], [])

    run(scenario())
