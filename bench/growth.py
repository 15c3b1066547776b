"""What one thing costs where there are thousands of its kind, beside what it costs where there is one.

    python -m bench.growth                  all rows: some minutes
    python -m bench.growth jobs joins       some of them
    python -m bench.growth --quick          small numbers, to see that it works

A broker without sockets, in memory: requests go through the codec and the handlers. Processor time, medians over the
jobs of a row, each of which is produced, fetched by a share fetch that waits, and accepted; the partitions of the jobs
have had a record before. The longest turn is the longest time that work kept the loop to itself. Python's collector is
set as `leaselog serve` sets it.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
from argparse import ArgumentParser
from collections import deque
from collections.abc import Awaitable, Callable
from statistics import median
from time import process_time
from typing import Any
from uuid import UUID

from bench import ROOT
from bench.growth_starts import starts
from leaselog.broker.lending.partitions import LEFT_AT_ONCE
from leaselog.broker.telling.server import serve_metrics
from leaselog.cli.serve import quiet_collector
from leaselog.coordination.cluster_view import EmptyCluster, ShareSettings, TopicShape
from leaselog.coordination.group_commands import DropTopics, Token
from leaselog.coordination.group_shard import GroupShard
from leaselog.coordination.group_turn import GroupLimits
from leaselog.coordination.share_group_commands import SettleShareStates, ShareHeartbeat
from leaselog.coordination.share_group_facts import (
    ShareEpoch,
    ShareEpochStored,
    ShareStates,
    ShareStateStored,
    TopicPartitions,
)
from leaselog.model import GroupId, MemberId, TopicId

sys.path.append(str(ROOT / "tests" / "unit"))

from handlers.share_member import ACCEPT, Group, a_group, run

JOBS = 400
LONG_MS = 600_000
TOPIC = TopicId(UUID(int=1))


class LongestTurn:
    """Of the loop, while the ``with`` lasts."""

    seconds = 0.0

    async def __aenter__(self) -> LongestTurn:
        self._task = asyncio.ensure_future(self._watch())
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()

    async def _watch(self) -> None:
        while True:
            before = process_time()
            await asyncio.sleep(0)
            self.seconds = max(self.seconds, process_time() - before)


async def job_us(partitions: int, members: int) -> float:
    """Of one job after the other, each for the next member."""
    async with a_group(partitions=partitions) as group:
        waiting: deque[Any] = deque()
        for number in range(members):
            member = group.member(f"m{number}", connection=number)
            # as the assignor gives them out
            await member.fetch(partitions=range(number % partitions, partitions, members), max_wait_ms=0)
            waiting.append((member, None))
        # the next job is always one of the partitions of the next member
        places = [
            number % members + number // members % max(1, partitions // members) * members
            for number in range(JOBS)
        ]
        places = [place % partitions for place in places]
        for number, place in enumerate(places):
            await group.produce(1, partition=place)
            member, _ = waiting[number % members]
            await _accept(member, await member.fetch(max_records=1, share_acquire_mode=1, max_wait_ms=0))
        waiting = deque((member, _park(member)) for member, _ in waiting)
        await asyncio.sleep(0.01)
        quiet_collector()
        costs = []
        for number in range(JOBS):
            began = process_time()
            await group.produce(1, partition=places[number])
            member, fetch = waiting.popleft()
            await _accept(member, await fetch)
            waiting.append((member, _park(member)))
            await asyncio.sleep(0)
            costs.append(process_time() - began)
        for _, fetch in waiting:
            fetch.cancel()
        return median(costs) * 1e6


def _park(member: Any) -> Any:
    return asyncio.ensure_future(member.fetch(max_records=1, share_acquire_mode=1, max_wait_ms=LONG_MS))


async def _accept(member: Any, answer: Any) -> None:
    for topic in answer.responses:
        for place in topic.partitions:
            for leased in place.acquired_records:
                acks = {place.partition_index: [(leased.first_offset, leased.last_offset, [ACCEPT])]}
                await member.acknowledge(acks)


async def jobs(is_quick: bool) -> None:
    one_us = await job_us(1, 1)
    print(f"| a job, 1 partition, 1 member | {one_us:.0f} us | |")
    for partitions, members in (
        ((100, 1), (20, 10)) if is_quick else ((1_000, 1), (10_000, 1), (1, 1_000), (1_000, 100))
    ):
        cost_us = await job_us(partitions, members)
        print(
            f"| a job, {partitions:,} partitions, {members:,} members | {cost_us:.0f} us | {cost_us / one_us:.2f}x |"
        )


async def idle(is_quick: bool) -> None:
    """Opening, keeping, scraping and closing many share partitions at which nothing happens."""
    partitions, groups = (100, 2) if is_quick else (10_000, 10)
    count = partitions * groups
    async with a_group(partitions=partitions) as first:
        others = [Group(first.box, first.topic_id, f"g{number}") for number in range(groups)]
        for group in others:
            await group.begin(partitions=partitions)
        members = [group.member(connection=number) for number, group in enumerate(others)]
        gc.collect()
        quiet_collector()
        before_bytes, began = _resident_bytes(), process_time()
        for member in members:
            await member.fetch(partitions=range(partitions), max_wait_ms=0)
            await member.fetch(max_wait_ms=0)
        opened_us = (process_time() - began) / count * 1e6
        gc.collect()
        print(f"| opening {count:,} share partitions, each | {opened_us:.0f} us | |")
        print(
            f"| an idle share partition, of {count:,} | {(_resident_bytes() - before_bytes) / count:.0f} bytes | |"
        )
        began = process_time()
        async with LongestTurn() as turn:
            size_bytes = await _scrape(first.box.broker)
        print(
            f"| a scrape of {count:,} share partitions, {size_bytes >> 10:,} KiB | {process_time() - began:.2f} s "
            f"| longest turn {turn.seconds * 1e3:.1f} ms |"
        )
        async with LongestTurn() as turn:
            members[0].disconnect()
            for _ in range(count // LEFT_AT_ONCE):
                await asyncio.sleep(0)
            assert len(first.box.broker.shares.every_owner()) == count - partitions
        print(
            f"| a group of {partitions:,} share partitions goes | | longest turn {turn.seconds * 1e3:.1f} ms |"
        )


def _resident_bytes() -> int:
    with open("/proc/self/statm") as told:
        return int(told.read().split()[1]) * resource.getpagesize()


async def _scrape(broker: Any) -> int:
    server = await serve_metrics(broker, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
    size_bytes = 0
    while piece := await reader.read(1 << 16):
        size_bytes += len(piece)
    writer.close()
    server.close()
    return size_bytes


class Around(EmptyCluster):
    """One topic, which is there."""

    def __init__(self, partitions: int, members: int) -> None:
        self._shape = TopicShape(TOPIC, partitions)
        self._settings = ShareSettings(max_size=members)

    def topics_version(self) -> int:
        return 1

    def topic(self, name: str) -> TopicShape | None:
        return self._shape

    def share_settings(self, group_id: GroupId) -> ShareSettings:
        return self._settings


async def joins(is_quick: bool) -> None:
    """Members that join a group one after the other: the coordinator's decisions alone."""
    quiet_collector()
    for members, partitions in ((20, 20),) if is_quick else ((200, 200), (1_000, 1_000), (200, 10_000)):
        shard, group, facts = GroupShard(GroupLimits(), Around(partitions, members)), GroupId("g"), 0
        shard.start(0)
        turns = []
        for number in range(members):
            member, began = MemberId(f"m{number * 7919 % members:05}"), process_time()
            outcome = shard.handle(
                ShareHeartbeat(Token(1), group, member, 0, "c", "/h", None, ("t",)), number
            )
            shard.apply(outcome, number)
            facts += len(outcome.facts)
            missing = getattr(outcome.replies[0].answer, "to_initialize", None)
            if missing:
                settled = shard.handle(SettleShareStates(Token(2), group, missing, {}), number)
                shard.apply(settled, number)
            turns.append(process_time() - began)
        print(
            f"| {members:,} members join, {partitions:,} partitions | {sum(turns):.2f} s, {facts:,} facts "
            f"| longest turn {max(turns) * 1e3:.1f} ms |"
        )


async def deletions(is_quick: bool) -> None:
    """A topic goes that is none of many groups'."""
    groups = 100 if is_quick else 10_000
    shard = GroupShard(GroupLimits(), Around(10, 1))
    for number in range(groups):
        group = GroupId(f"g{number}")
        shard.replay(ShareEpochStored(group, ShareEpoch(2, 0)), 0)
        states = ShareStates({}, {TOPIC: TopicPartitions("t", frozenset(range(10)))})
        shard.replay(ShareStateStored(group, states), 0)
    shard.start(0)
    began = process_time()
    shard.apply(shard.handle(DropTopics(Token(1), frozenset({"x"})), 1), 1)
    print(f"| a topic goes that is none of {groups:,} groups' | {(process_time() - began) * 1e6:.0f} us | |")


ROWS: dict[str, Callable[[bool], Awaitable[None]]] = {
    "jobs": jobs,
    "idle": idle,
    "joins": joins,
    "deletions": deletions,
    "starts": starts,
}


async def measure(rows: list[str], is_quick: bool) -> None:
    print("| what | cost | beside |\n| --- | ---: | ---: |")
    for row in rows or list(ROWS):
        await ROWS[row](is_quick)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", help=f"of {', '.join(ROWS)}")
    parser.add_argument("--quick", action="store_true")
    told = parser.parse_args()
    if unknown := set(told.rows) - set(ROWS):
        parser.error(f"no such rows: {', '.join(sorted(unknown))}")
    run(measure(told.rows, told.quick))


if __name__ == "__main__":
    main()
