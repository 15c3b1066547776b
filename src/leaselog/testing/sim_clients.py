"""Producers and share consumers of a simulated world: the shipped ones, driven by chance, with everything written down.

They do what applications do and should not do: accept, release, reject, come too late, say nothing, close with records
in hand, be killed. What they see goes into a history for ``share_history_check``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

from leaselog.client import AsyncProducer, AsyncReceipt, BrokerError, ClientError
from leaselog.client.share import (
    AcknowledgeType,
    AsyncShareConsumer,
    IllegalState,
    ShareRecord,
    TopicIdPartition,
)
from leaselog.client.share.carrier import Carrier, SentNow
from leaselog.client.share.node_session import NodeAsk
from leaselog.client.share.steps import Step
from leaselog.testing.share_history import (
    Acknowledging,
    Answered,
    Closing,
    Delivered,
    Event,
    Kind,
    Sent,
    Stored,
)
from leaselog.testing.sim_loop import SimProcess
from leaselog.testing.sim_world import ADDRESS, World
from leaselog.wire.messages.share_fetch import ShareFetchResponse
from leaselog.wire.schema import Message

__all__ = ["Habits", "SimConsumer", "SimProducer"]

_TYPES: dict[Kind, AcknowledgeType] = {
    "accept": AcknowledgeType.ACCEPT,
    "release": AcknowledgeType.RELEASE,
    "give back": AcknowledgeType.RELEASE,
    "reject": AcknowledgeType.REJECT,
}
_KINDS: tuple[Kind, ...] = ("accept", "release", "reject")
#: (partition, offset)
_Where: TypeAlias = tuple[int, int]


@dataclass(slots=True)
class SimProducer:
    """Sends ``count`` records to partitions of one topic, in its own time."""

    world: World
    name: str
    topic: str
    partitions: int
    count: int
    history: list[Event]
    pause_s: float = 0.05
    #: what a record's key is
    key: Callable[[str], str] = str
    process: SimProcess = field(init=False)
    #: records by name that were answered, and where they are; None: the broker did not say, it had them already
    stored: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    is_done: bool = False
    _chance: Random = field(init=False)

    def __post_init__(self) -> None:
        self.process = SimProcess(self.name, self.name)
        self._chance = Random(f"{self.world.seed}-{self.name}")

    def start(self) -> None:
        self.world.spawn(self.process, self._live())

    async def _live(self) -> None:
        chance, waiting = self._chance, list[asyncio.Task[None]]()
        config: dict[str, object] = {
            "bootstrap.servers": ADDRESS,
            "linger.ms": chance.choice((0, 5, 50)),
            "batch.size": 1_024,
            "request.timeout.ms": 5_000,
            "delivery.timeout.ms": 600_000,
            "max.block.ms": 600_000,
            "compression.type": chance.choice(("none", "none", "lz4")),
        }
        async with AsyncProducer(config) as producer:
            for number in range(self.count):
                record = f"{self.name}/{number}"
                partition = chance.randrange(self.partitions)
                self.history.append(Sent(record, partition))
                value = record.encode() + b" " * (chance.randrange(200) if chance.random() < 0.2 else 0)
                receipt = await producer.send(
                    self.topic, value, key=self.key(record).encode(), partition=partition
                )
                waiting.append(asyncio.ensure_future(self._wait(record, partition, receipt)))
                if chance.random() < 0.3:
                    await asyncio.sleep(self.pause_s * 2 * chance.random())
            await asyncio.gather(*waiting)
        self.is_done = True

    async def _wait(self, record: str, partition: int, receipt: AsyncReceipt) -> None:
        try:
            where = await receipt
        except ClientError as failed:
            self.world.note(f"{record} was given up: {failed}")
            return
        self.stored[record] = partition, where.offset if where.offset >= 0 else None
        if where.offset >= 0:
            self.history.append(Stored(record, where.partition, where.offset))


@dataclass(frozen=True, slots=True)
class Habits:
    """What an application is like. Parts of one, but for the times."""

    is_explicit: bool = True
    weights: tuple[int, int, int] = (60, 30, 10)
    closes: float = 0.02
    dawdles: float = 0.03
    #: longer than a lease
    dawdle_s: float = 3.0
    work_s: float = 0.02
    #: of commits: awaited, not awaited, none
    commits: tuple[int, int, int] = (60, 20, 20)
    max_poll_records: int = 10
    acquire_mode: str = "batch_optimized"
    #: of what would be released
    gives_back: float = 0.0
    #: how long it waits for records, at most
    polls_s: tuple[float, ...] = (0.05, 0.2, 1.0)
    #: how long the broker may let it wait of that
    fetch_wait_ms: int = 500

    @classmethod
    def by_chance(cls, chance: Random, **fixed: Any) -> Habits:
        chosen: dict[str, Any] = {
            "is_explicit": chance.random() < 0.8,
            "weights": chance.choice(((60, 30, 10), (100, 0, 0), (20, 75, 5), (90, 5, 5))),
            "dawdles": chance.choice((0.0, 0.03, 0.2)),
            "closes": chance.choice((0.0, 0.02, 0.1)),
            "commits": chance.choice(((60, 20, 20), (100, 0, 0), (0, 0, 100), (0, 100, 0))),
            "max_poll_records": chance.choice((1, 5, 20, 500)),
            "acquire_mode": chance.choice(("batch_optimized", "batch_optimized", "record_limit")),
        }
        return cls(**{**chosen, **fixed})


class _Watched(AsyncShareConsumer[bytes, bytes]):
    """Notes when each fetch that brought something had been sent: no lease of it began before."""

    def __init__(self, world: World, config: Mapping[str, object]) -> None:
        self._world = world
        #: by topic id, partition, offset and delivery count
        self.asked_ns: dict[tuple[object, int, int, int], int] = {}
        super().__init__(config)

    def _new_carrier(self) -> Carrier:
        return _WatchedCarrier(self._world, self.asked_ns, self.core, self.config, self.notify)


class _WatchedCarrier(Carrier):
    def __init__(self, world: World, asked_ns: dict[tuple[object, int, int, int], int], *others: Any) -> None:
        super().__init__(*others)
        self._world = world
        self._asked_ns = asked_ns
        self._begun_ns = dict[Step, int]()

    def begin(self, step: Step) -> None:
        self._begun_ns[step] = self._world.now_ns()
        super().begin(step)

    async def _carry_out(self, step: Step, sent: SentNow | None) -> None:
        try:
            await super()._carry_out(step, sent)
        finally:
            del self._begun_ns[step]

    async def _ask_node(self, ask: NodeAsk, sent: SentNow | None) -> Message:
        answer = await super()._ask_node(ask, sent)
        if isinstance(answer, ShareFetchResponse):
            for topic in answer.responses:
                for part in topic.partitions:
                    for leased in part.acquired_records:
                        for offset in range(leased.first_offset, leased.last_offset + 1):
                            key = (topic.topic_id, part.partition_index, offset, leased.delivery_count)
                            self._asked_ns[key] = self._begun_ns[ask]
        return answer


@dataclass(slots=True)
class SimConsumer:
    """One consumer after the other, each with a name of its own, until told to stop."""

    world: World
    name: str
    group: str
    topic: str
    history: list[Event]
    habits: Habits = Habits()
    address: str = ADDRESS
    #: which record a value is
    record_of: Callable[[bytes], str] = lambda value: value.decode().rstrip()
    process: SimProcess = field(init=False)
    is_over: bool = False
    is_done: bool = False
    #: who is alive, for whoever kills it
    current: str | None = None
    deliveries: int = 0
    _chance: Random = field(init=False)
    _lives: int = 0
    #: acknowledgements of the current consumer that are not decided
    _open: dict[_Where, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.process = SimProcess(self.name, self.name)
        self._chance = Random(f"{self.world.seed}-{self.name}")

    def start(self) -> None:
        self.is_done = False
        self.world.spawn(self.process, self._live())

    def kill(self) -> None:
        """It says nothing more, and its machine closes its connections."""
        self.process.is_alive = False
        self.world.net.process_killed(self.process)
        if self.current is not None:
            self.history.append(Closing(self.current, self.world.now_ns()))
            self.current = None
        self.is_done = True

    def start_again(self) -> None:
        self.process = SimProcess(self.name, self.name)
        self.start()

    async def _live(self) -> None:
        while not self.is_over:
            self._lives += 1
            await self._one_life(f"{self.name}.{self._lives}")
        self.is_done = True

    async def _one_life(self, name: str) -> None:
        world, chance, habits = self.world, self._chance, self.habits
        consumer = _Watched(
            world,
            {
                "bootstrap.servers": self.address,
                "group.id": self.group,
                "share.acknowledgement.mode": "explicit" if habits.is_explicit else "implicit",
                "share.acquire.mode": habits.acquire_mode,
                "max.poll.records": habits.max_poll_records,
                "fetch.max.wait.ms": habits.fetch_wait_ms,
                "request.timeout.ms": 5_000,
                "default.api.timeout.ms": 10_000,
                "enable.metrics.push": False,
            },
        )
        self.current, self._open = name, {}
        consumer.set_acknowledgement_commit_callback(lambda told, error: self._answered(name, told, error))
        consumer.subscribe([self.topic])
        unsaid = list[ShareRecord[bytes, bytes]]()
        closes = False
        while not closes and not self.is_over:
            for record in unsaid:  # in implicit mode the next poll accepts them
                self._say(name, record, "accept")
            unsaid = []
            try:
                records = await consumer.poll(chance.choice(habits.polls_s))
            except IllegalState as wrong:
                world.impossible.append(f"{name}: {wrong}")
                break
            except ClientError as failed:
                world.note(f"{name} poll: {failed}")
                closes = not failed.is_retriable  # as for a group that is full: another one comes later
                await asyncio.sleep(2.0 if closes else 0.1)
                continue
            self._note(name, consumer, records)
            closes = chance.random() < habits.closes
            if records and not closes:
                await asyncio.sleep(
                    habits.dawdle_s if chance.random() < habits.dawdles else habits.work_s * chance.random()
                )
                if habits.is_explicit:
                    for record in records:
                        (kind,) = chance.choices(_KINDS, habits.weights)
                        self._acknowledge(name, consumer, record, kind)
                else:
                    unsaid = records
                unsaid = await self._commit(name, consumer, unsaid)
        self.history.append(Closing(name, world.now_ns()))
        self.current = None
        try:
            await consumer.close(5.0)
        except ClientError as failed:
            world.note(f"{name} close: {failed}")

    async def _commit(
        self, name: str, consumer: _Watched, unsaid: list[ShareRecord[bytes, bytes]]
    ) -> list[ShareRecord[bytes, bytes]]:
        """What is unsaid after it."""
        (how,) = self._chance.choices(("sync", "async", "no"), self.habits.commits)
        if how == "no":
            return unsaid
        for record in unsaid:
            self._say(name, record, "accept")
        try:
            if how == "sync":
                await consumer.commit_sync(5.0)
            else:
                consumer.commit_async()
        except ClientError as failed:
            self.world.note(f"{name} commit: {failed}")
        return []

    def _acknowledge(
        self, name: str, consumer: _Watched, record: ShareRecord[bytes, bytes], kind: Kind
    ) -> None:
        if kind == "release" and self.habits.gives_back and self._chance.random() < self.habits.gives_back:
            self._say(name, record, "give back")
            consumer.give_back(record)
            return
        self._say(name, record, kind)
        consumer.acknowledge(record, _TYPES[kind])

    def _say(self, name: str, record: ShareRecord[bytes, bytes], kind: Kind) -> None:
        where = (record.partition, record.offset)
        self._open[where] = self._open.get(where, 0) + 1
        self.history.append(Acknowledging(name, *where, kind, self.world.now_ns()))

    def _answered(
        self, name: str, told: Mapping[TopicIdPartition, frozenset[int]], error: ClientError | None
    ) -> None:
        now_ns = self.world.now_ns()
        is_known = error is None or isinstance(error, BrokerError)
        for where, offsets in told.items():
            for offset in sorted(offsets):
                place = (where.partition, offset)
                if self._open.get(place, 0) == 1 and is_known:
                    self.history.append(Answered(name, *place, error is None, now_ns))
                    del self._open[place]
                # of two that are under way nobody can say which it was

    def _note(self, name: str, consumer: _Watched, records: list[ShareRecord[bytes, bytes]]) -> None:
        now_ns = self.world.now_ns()
        for record in records:
            count = record.delivery_count
            key = (record.lease.where.topic_id, record.partition, record.offset, count)
            place = (record.partition, record.offset)
            said = self.record_of(record.value)
            self.history.append(Delivered(name, *place, said, count, consumer.asked_ns[key], now_ns))
        self.deliveries += len(records)
