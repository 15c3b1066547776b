"""Ordinary consumers read as members of a consumer group, come, go and die, while the broker does, too.

No record is skipped, and none is committed before an application had it and asked on: by anybody, at any time.
"""

from __future__ import annotations

import asyncio
from random import Random

from leaselog.client import AsyncConsumer, ClientError, ConsumerRecord, TopicPartition
from leaselog.testing.sim_loop import SimProcess
from leaselog.testing.sim_stage import LIVENESS_S, Stage, settings
from leaselog.testing.sim_world import ADDRESS, Impossible, World

__all__ = ["play", "settings", "stage"]

GROUP = "readers"


def stage(world: World) -> Stage:
    return Stage(world, groups=())


class Reader:
    """One consumer after the other, until told to stop; what it had and asked on after is in ``done``."""

    def __init__(self, world: World, name: str, topic: str, done: set[tuple[int, int]]) -> None:
        self._world, self._name, self._topic, self._done = world, name, topic, done
        self._chance = Random(f"{world.seed}-{name}")
        self.deliveries = 0
        self.is_over = self.is_done = False
        self.start()

    def start(self) -> None:
        self.is_done = False
        self._process = SimProcess(self._name, self._name)
        self._world.spawn(self._process, self._live())

    def kill(self) -> None:
        self._process.is_alive = False
        self._world.net.process_killed(self._process)
        self.is_done = True

    async def _live(self) -> None:
        while not self.is_over:
            try:
                await self._one_life()
            except ClientError as failed:
                self._world.note(f"{self._name}: {failed!r}")
                await asyncio.sleep(0.5)
        self.is_done = True

    async def _one_life(self) -> None:
        chance = self._chance
        consumer = AsyncConsumer(
            ADDRESS,
            group_id=GROUP,
            auto_offset_reset="earliest",
            enable_auto_commit=chance.random() < 0.7,
            auto_commit_interval_ms=chance.choice((50, 1_000)),
            max_poll_records=chance.choice((1, 5, 500)),
            heartbeat_interval_ms=500,
            session_timeout_ms=6_000,
            max_poll_interval_ms=10_000,
            request_timeout_ms=5_000,
            default_api_timeout_ms=10_000,
        )
        consumer.subscribe([self._topic])
        had: list[ConsumerRecord[bytes, bytes]] = []
        while not self.is_over and chance.random() > 0.03:
            self._note_done(had)
            try:
                had = await consumer.poll(chance.choice((0.0, 0.2, 1.0)))
            except ClientError as failed:
                self._world.note(f"{self._name} poll: {failed!r}")
                had = []
                await asyncio.sleep(0.1)
            self.deliveries += len(had)
            # Longer than the group waits for it, now and then.
            await asyncio.sleep(12.0 if chance.random() < 0.01 else 0.05 * chance.random())
            if chance.random() < 0.2:
                self._note_done(had)
                await self._commit(consumer)
        self._note_done(had)
        await consumer.close(5.0)

    async def _commit(self, consumer: AsyncConsumer[bytes, bytes]) -> None:
        try:
            await consumer.commit(timeout=5.0)
        except ClientError as failed:
            self._world.note(f"{self._name} commit: {failed!r}")

    def _note_done(self, had: list[ConsumerRecord[bytes, bytes]]) -> None:
        self._done.update((record.partition, record.offset) for record in had)


class Watch:
    """Looks at what the group has committed, and holds it against what applications have done."""

    def __init__(self, told: Stage, done: set[tuple[int, int]]) -> None:
        self._stage, self._done = told, done
        self._process = SimProcess("watch", "watch")

    async def committed(self) -> dict[int, int]:
        """Of each partition. Raises ``Impossible`` if a record before that was never done with."""
        told = await self._stage.world.spawn(self._process, self._ask())
        for partition, end in told.items():
            skipped = [offset for offset in range(end) if (partition, offset) not in self._done]
            if skipped:
                raise Impossible(f"{partition} is committed up to {end}, and nobody is done with {skipped}")
        return told

    async def _ask(self) -> dict[int, int]:
        places = [TopicPartition(self._stage.topic, number) for number in range(self._stage.partitions)]
        async with AsyncConsumer(ADDRESS, group_id=GROUP, default_api_timeout_ms=5_000) as consumer:
            try:
                found = await consumer.committed(places)
            except ClientError:
                return {}
        return {where.partition: place.offset for where, place in found.items() if place is not None}


async def play(told: Stage) -> None:
    world, chance = told.world, told.world.chance
    world.slowest_sync_s = chance.choice((0.005, 0.1))
    await told.open()
    told.add_producers(2, chance.randint(20, 60), pause_s=0.1)
    done = set[tuple[int, int]]()
    watch = Watch(told, done)
    readers = [Reader(world, f"reader{n}", told.topic, done) for n in range(chance.randint(1, 4))]
    for _ in range(chance.randint(2, 8)):
        await world.sleep(0.1, 4.0)
        reader = chance.choice(readers)
        if chance.random() < 0.4:
            await world.restart(gently=0.3)
        elif reader.is_done:
            reader.start()
        else:
            reader.kill()
        await watch.committed()
    for reader in readers:
        if reader.is_done:
            reader.start()
    if not world.is_up:
        await world.start()
    await world.until(lambda: all(p.is_done for p in told.producers), "every producer is done", LIVENESS_S)
    ends = {number: _end(told, number) for number in range(told.partitions)}
    given_up_s = world.now_s + LIVENESS_S
    while {n: end for n, end in (await watch.committed()).items() if end} != {
        n: e for n, e in ends.items() if e
    }:
        if world.now_s > given_up_s:
            raise Impossible(f"committed {await watch.committed()} of {ends} after {LIVENESS_S} s")
        await world.sleep(1.0)
    for reader in readers:
        reader.is_over = True
    await world.until(lambda: all(reader.is_done for reader in readers), "readers close", 120.0)
    told.seen["deliveries"] += sum(reader.deliveries for reader in readers)
    await told.finish()


def _end(told: Stage, partition: int) -> int:
    broker = told.world.broker
    assert broker is not None
    found = broker.logs.partition(told.topic, partition)
    return 0 if found is None else found.log.high_watermark
