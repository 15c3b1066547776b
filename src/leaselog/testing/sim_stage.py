"""The stage that scenarios play on: a broker, a topic, groups with consumers, producers; and the verdict at the end.

A scenario says what goes wrong in between. ``finish`` heals everything, waits until every record is accepted or
archived, and has the history judged; what does not hold is ``Impossible``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from leaselog.admin import AsyncAdmin
from leaselog.admin.configs import Resource, ResourceType
from leaselog.admin.outcome import SomeFailed
from leaselog.admin.share_groups import ShareOffset
from leaselog.admin.topics import NewTopic
from leaselog.broker.broker import Broker
from leaselog.broker.records.partition import Partition
from leaselog.broker.share_state.colocated_persister import ColocatedPersister
from leaselog.client import BrokerError, ClientError
from leaselog.client.cluster import Cluster
from leaselog.client.topology import Node
from leaselog.model import ErrorCode, TopicPartition
from leaselog.share import RecordState, RetryBackoff, SharePartition
from leaselog.testing.share_history import (
    Acknowledging,
    Answered,
    BrokerDied,
    Delivered,
    Disconnected,
    Event,
    Paused,
    Resuming,
    to_line,
)
from leaselog.testing.share_history_check import RecordPosition, Rules, judge
from leaselog.testing.sim_checks import OVERDUE_MS, Inspector, compare_log, letters_of, records_of
from leaselog.testing.sim_clients import Habits, SimConsumer, SimProducer
from leaselog.testing.sim_loop import SimProcess
from leaselog.testing.sim_net import SimTransport
from leaselog.testing.sim_safe_state import watch_pruning
from leaselog.testing.sim_world import ADDRESS, Impossible, World
from leaselog.wire.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from leaselog.wire.messages.delete_groups import DeleteGroupsRequest
from leaselog.wire.schema import Message

__all__ = ["LIMIT", "LOCK_MS", "Report", "Stage", "settings"]

T = TypeVar("T")
M = TypeVar("M", bound=Message)

LIMIT = 5
LOCK_MS = 2_000
#: from healing everything to the last record: session time-outs, leases, deliveries, all of them several times
LIVENESS_S = 400.0
GOODBYE_S = 120.0
#: beyond all offsets
NOWHERE = 1 << 40


def settings(chance: Random, **more: str) -> dict[str, str]:
    """A broker's, with everything short that takes long, and bounds low enough to be met. Underscores are dots."""
    chosen = {
        "group.share.min.record.lock.duration.ms": "1000",
        "group.share.record.lock.duration.ms": str(LOCK_MS),
        "group.share.delivery.count.limit": str(LIMIT),
        "group.share.partition.max.record.locks": "100",
        "group.share.heartbeat.interval.ms": "1000",
        "group.share.min.heartbeat.interval.ms": "1000",
        "group.share.session.timeout.ms": "6000",
        "group.share.min.session.timeout.ms": "6000",
        "offsets.commit.timeout.ms": "1000",
        "group.share.initialize.retry.interval.ms": "2000",
        "share.coordinator.snapshot.update.records.per.snapshot": chance.choice(("0", "3", "20", "500")),
        "share.coordinator.state.topic.num.partitions": "2",
        "share.coordinator.state.topic.prune.interval.ms": chance.choice(("1000", "10000", "300000")),
        "share.coordinator.cold.partition.snapshot.interval.ms": chance.choice(("2000", "300000")),
        "share.coordinator.state.topic.segment.bytes": chance.choice(("1048576", "104857600")),
        "offsets.topic.num.partitions": "2",
        "log.retention.check.interval.ms": "5000",
        "recovery.point.interval.bytes": "1000",
        "log.cleaner.enable": "true",
    }
    return {**chosen, **{key.replace("_", "."): value for key, value in more.items()}}


@dataclass(frozen=True, slots=True)
class Report:
    """What a run came to. The digest is of every event of the history, with its time."""

    digest: str
    virtual_s: float
    steps: int
    events: int
    lives: int
    seen: Counter[str]


class _Counting(Cluster):
    """Counts the requests that change how far a group has come: what is refused when it is asked again may be done."""

    changes: Counter[str]

    async def request(self, message: Message, kind: type[M], *, node: Node | int | None = None) -> M:
        if isinstance(message, AlterShareGroupOffsetsRequest | DeleteGroupsRequest):
            self.changes[type(message).__name__] += 1
        return await super().request(message, kind, node=node)


class Stage:
    def __init__(self, world: World, *, topic: str = "t", groups: Iterable[str] = ("g",)) -> None:
        self.world = world
        self.topic = topic
        self.partitions = world.chance.choice((1, 2, 3))
        self.groups = tuple(groups)
        #: what was produced, and by group what came of it
        self.produced: list[Event] = []
        self.histories: dict[str, list[Event]] = {group: [] for group in self.groups}
        self.producers: list[SimProducer] = []
        self.consumers: list[SimConsumer] = []
        self.inspector = Inspector(world)
        self._admin = SimProcess("admin", "admin")
        self._changes = Counter[str]()
        self.seen = Counter[str]()
        #: by group and partition: where an administrator had the group begin anew
        self._resets: dict[tuple[str, int], int] = {}
        #: of which nobody can say whether it was before the group began anew, or after
        self._unclear: dict[str, set[RecordPosition]] = {}
        #: nobody can say whether they began anew, so none of their records has to be delivered
        self._unclear_groups: set[str] = set()
        #: the topic keeps the last record of each key
        self.is_compacted = False
        #: by group: where its dead letters go
        self.dead_letter_topics: dict[str, str] = {}
        #: by group: how long its records wait
        self.backoffs: dict[str, RetryBackoff] = {}
        self._clock_set_ns: list[int] = []
        world.on_broker = self.broker_begins
        world.on_look = self.inspector.look
        world.on_death = self._died
        world.net.on_lost = self._disconnected

    def _died(self, at_ns: int) -> None:
        for history in self.histories.values():
            history.append(BrokerDied(at_ns))

    def _disconnected(self, end: SimTransport) -> None:
        for consumer in self.consumers:
            if consumer.current is not None and consumer.name in (end.near[0], end.far[0]):
                consumer.history.append(Disconnected(consumer.current, self.world.now_ns()))

    def broker_begins(self, broker: Broker) -> None:
        """It is looked at from now on. An owner ends with the log it reads: its leases are void, as after a death."""
        self.inspector.begin(broker)
        watch_pruning(self.world, broker)
        returned = broker.logs.on_return

        def on_return(partition: Partition) -> None:
            self.leases_are_void()
            returned(partition)

        broker.logs.on_return = on_return

    def leases_are_void(self) -> None:
        """As after a death: whoever leads the share partitions now knows of no lease."""
        self._died(self.world.now_ns())

    # -- before ---------------------------------------------------------------------------------------------

    async def open(self, **topic_configs: str) -> None:
        """A broker with the topic, and groups that begin with its first record."""
        await self.world.start()
        configs = {key.replace("_", "."): value for key, value in topic_configs.items()}
        await self.create(NewTopic(self.topic, self.partitions, configs=configs))
        for group in self.groups:
            await self.set_group(group, share_auto_offset_reset="earliest")

    async def create(self, topic: NewTopic) -> None:
        try:
            await self.administer(lambda admin: admin.create_topics([topic]))
        except BrokerError as failed:
            if failed.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
            # It was made when it was asked for before, by a broker that died before it could say so.

    async def set_group(self, group: str, **values: str) -> None:
        """Underscores are dots."""
        put = {key.replace("_", "."): value for key, value in values.items()}
        await self.administer(lambda admin: admin.alter_configs(Resource(ResourceType.GROUP, group), put=put))

    async def have_dead_letters(self, group: str, partitions: int) -> None:
        """Whatever the group does not accept is to be found on a topic of its own."""
        name = self.dead_letter_topics[group] = f"dlq.{group}"
        configs = {"errors.deadletterqueue.group.enable": "true"}
        await self.create(NewTopic(name, partitions, configs=configs))
        wish = {"topic_name": name, "copy_record_enable": "true"}
        await self.set_group(group, **{f"errors_deadletterqueue_{k}": v for k, v in wish.items()})

    async def have_waits(self, group: str, backoff: RetryBackoff) -> None:
        """Whatever the group does not finish waits for its next delivery."""
        self.backoffs[group] = backoff
        await self.set_group(
            group,
            share_retry_backoff_ms=str(backoff.first_ms),
            share_retry_backoff_multiplier=str(backoff.multiplier),
            share_retry_backoff_max_ms=str(backoff.max_ms),
            share_retry_backoff_jitter=str(backoff.jitter),
            # a clock that was set back between two leaders makes them wait so long at most
            share_release_delay_max_ms=str(backoff.max_ms),
        )

    def set_clock(self, by_ms: int) -> None:
        """Somebody sets the broker's clock."""
        self.world.clock_is_off_ms += by_ms
        self._clock_set_ns.append(self.world.now_ns())

    async def administer(self, work: Callable[[AsyncAdmin], Awaitable[T]]) -> T:
        """What an administrator does, tried again while it may pass; a world in which it never does is impossible."""
        given_up_s = self.world.now_s + LIVENESS_S

        async def do() -> T:
            cluster = _Counting(ADDRESS, request_timeout_ms=5_000, api_timeout_ms=60_000)
            cluster.changes = self._changes
            async with AsyncAdmin.over(cluster) as admin:
                return await work(admin)

        while True:
            try:
                return await self.world.spawn(self._admin, do())
            except ClientError as failed:
                self.world.note(f"admin: {failed!r}")
                if not failed.is_retriable:
                    raise
                if self.world.now_s > given_up_s:
                    raise Impossible(
                        f"an administrator is refused for {LIVENESS_S} s: {failed!r}"
                    ) from failed
                await self.world.sleep(0.5)

    async def pause(self, group: str) -> None:
        await self.administer(lambda admin: admin.pause_share_groups([group]))
        self.histories[group].append(Paused(self.world.now_ns()))

    async def resume(self, group: str) -> None:
        self.histories[group].append(Resuming(self.world.now_ns()))
        await self.administer(lambda admin: admin.resume_share_groups([group]))

    def add_producers(self, count: int, records: int, **how: Any) -> None:
        for _ in range(count):
            name = f"producer{len(self.producers)}"
            producer = SimProducer(
                self.world, name, self.topic, self.partitions, records, self.produced, **how
            )
            self.producers.append(producer)
            producer.start()

    def add_consumers(self, count: int, *, group: str | None = None, habits: Habits | None = None) -> None:
        for _ in range(count):
            name, chosen = f"consumer{len(self.consumers)}", group or self.groups[0]
            consumer = SimConsumer(
                self.world,
                name,
                chosen,
                self.topic,
                self.histories[chosen],
                habits or Habits.by_chance(self.world.chance),
            )
            self.consumers.append(consumer)
            consumer.start()

    async def begin_anew(self, group: str, offsets: dict[int, int], *, deletes: bool = False) -> bool:
        """An administrator sets a group's offsets, or deletes it (and then ``offsets`` are where it begins again);
        whether the broker agreed. History begins anew with it."""
        history = self.histories[group]
        mark, asked = len(history), self._changes.total()
        where = {TopicPartition(self.topic, i): offset for i, offset in offsets.items()}
        try:
            with self.inspector.starts_may_move():
                if deletes:
                    await self.administer(lambda admin: admin.delete_groups([group]))
                else:
                    await self.administer(lambda admin: admin.alter_share_group_offsets(group, where))
        except (ClientError, SomeFailed) as refused:
            self.world.note(f"admin: {refused!r}")
            is_first = self._changes.total() == asked + 1
            if is_first and isinstance(refused, BrokerError) and refused.code is ErrorCode.NON_EMPTY_GROUP:
                return False  # and nothing has changed
            self._unclear_groups.add(
                group
            )  # one of the times it was asked, it may have been done, or in part
        else:
            self._unclear_groups.discard(group)
        racing = {
            RecordPosition(event.partition, event.offset)
            for event in history[mark:]
            if isinstance(event, Delivered | Acknowledging | Answered)
        }
        self._judge_history(group, _with_beginnings(history[:mark]), None)
        history.clear()
        self._unclear.setdefault(group, set()).update(racing)
        self._resets |= {(group, i): offset for i, offset in offsets.items()}
        return True

    def ask_nothing_of(self, group: str, partitions: Iterable[int]) -> None:
        """Nobody can say where the group begins in them, so none of their records has to be delivered."""
        self._resets |= {(group, partition): NOWHERE for partition in partitions}

    # -- after ----------------------------------------------------------------------------------------------

    async def finish(self) -> None:
        """Liveness, then the verdict."""
        world = self.world
        world.net.heal()
        world.net.loss, world.net.speed = 0.0, {}
        world.net.latency_s, world.slowest_sync_s = (0.0002, 0.002), 0.01
        world.disk.fails = lambda operation, path: False
        world.disk.capacity_bytes = None
        if not world.is_up:
            if world.process is not None and world.process.is_alive:
                await world.until(lambda: world.is_up, "the broker starts", 60)
            else:
                await world.start()
        began_s = world.now_s
        await world.until(
            lambda: all(p.is_done for p in self.producers), "every producer is done", LIVENESS_S
        )
        for group in self.groups:
            if not any(c.group == group and not c.is_done for c in self.consumers):
                self.add_consumers(1, group=group)
        while not await self._is_through():
            if world.now_s > began_s + LIVENESS_S:
                raise Impossible(f"not through after {LIVENESS_S} s: {await self.offsets()}")
            await world.sleep(1.0)
        for consumer in self.consumers:
            consumer.is_over = True
        await world.until(lambda: all(c.is_done for c in self.consumers), "consumers close", GOODBYE_S)
        await world.until(self._has_all_logs, "every log is back", LIVENESS_S)
        self._judge()

    def _has_all_logs(self) -> bool:
        """None has failed and waits to be opened anew: only then it can be read."""
        broker = self.world.broker
        return broker is not None and all(p.log.failure is None for p in broker.logs.partitions())

    async def offsets(self) -> dict[str, dict[Any, Any]]:
        """How far each group has come, as an administrator is told."""
        wanted: dict[str, None] = dict.fromkeys(self.groups)
        return await self.administer(lambda admin: admin.list_share_group_offsets(wanted))

    async def _is_through(self) -> bool:
        told = await self.offsets()
        held = [(group, at, told[group][at]) for group in self.groups for at in told[group]]
        if len(held) != len(self.groups) * self.partitions:
            return False
        return all(self._lag(*offset) == 0 for offset in held)

    def _lag(self, group: str, at: TopicPartition, told: object) -> int | None:
        """As the owner knows it; stored state still counts what retention took before anybody finished it."""
        broker = self.world.broker
        assert broker is not None
        for owner in broker.shares.owners():
            if (owner.key.group_id, owner.partition.name) == (group, at) and owner.machine is not None:
                is_colocated = isinstance(broker.persister, ColocatedPersister)
                if is_colocated:
                    return _unfinished(owner.partition, owner.machine)
                return owner.machine.lag(owner.partition.log.high_watermark)
        return told.lag if isinstance(told, ShareOffset) else None

    def _judge(self) -> None:
        broker = self.world.broker
        assert broker is not None
        stored = {record: at for producer in self.producers for record, at in producer.stored.items()}
        compare_log(broker, self.topic, stored, self.partitions, has_keys=self.is_compacted)
        logs = [broker.logs.partition(self.topic, i) for i in range(self.partitions)]
        ends = {i: found.log.high_watermark for i, found in enumerate(logs) if found is not None}
        starts = {i: found.log.start_offset for i, found in enumerate(logs) if found is not None}
        self.seen["windows"] += self.inspector.windows_seen
        self.seen["states read"] += self.inspector.states_read
        if self.is_compacted:
            for i, found in enumerate(logs):
                there = {offset for offset, _ in records_of(found)} if found is not None else set()
                gone = {RecordPosition(i, offset) for offset in range(ends[i]) if offset not in there}
                for group in self.groups:
                    self._unclear.setdefault(group, set()).update(gone)
        for group in self.groups:
            begins = {i: max(at, self._resets.get((group, i), 0)) for i, at in starts.items()}
            self._judge_history(group, _with_beginnings(self.histories[group]), ends, begins)

    def _judge_history(
        self,
        group: str,
        history: list[Event],
        through: dict[int, int] | None,
        begins: dict[int, int] | None = None,
    ) -> None:
        if group in self._unclear_groups:
            through = None
        excused = self.inspector.archived.get(group, set()) | self._unclear.get(group, set())
        letters = self._dead_letters(group)
        rules = Rules(
            LIMIT,
            LOCK_MS,
            through,
            excused,
            begins or {},
            letters,
            longest_lock_ms=LOCK_MS + OVERDUE_MS,
            shortest_wait_ms=self._shortest_wait_ms(group),
            clock_set_ns=self._clock_set_ns,
        )
        verdict = judge([*self.produced, *history], rules)
        self.seen += verdict.seen
        if verdict.violations:
            first = "; ".join(f"{v.rule} at {v.place}: {v.story}" for v in verdict.violations[:3])
            raise Impossible(f"{group}: {len(verdict.violations)} violations, {first}")

    def _shortest_wait_ms(self, group: str) -> Callable[[int], float] | None:
        backoff = self.backoffs.get(group)
        return None if backoff is None else lambda delivery_count: backoff.pause_ms(delivery_count, 0.0)

    def _dead_letters(self, group: str) -> dict[RecordPosition, list[str]] | None:
        broker, name = self.world.broker, self.dead_letter_topics.get(group)
        topic = None if broker is None or name is None else broker.cluster.topic(name)
        if broker is None or name is None or topic is None:
            return None
        found: dict[RecordPosition, list[str]] = {}
        for index in range(topic.partition_count):
            partition = broker.logs.partition(name, index)
            assert partition is not None
            for place, record in letters_of(partition):
                found.setdefault(place, []).append(record)
        return found

    def report(self) -> Report:
        digest = hashlib.sha256()
        count = 0
        for history in (self.produced, *self.histories.values()):
            count += len(history)
            for event in history:
                digest.update(to_line(event).encode())
        world = self.world
        return Report(
            digest.hexdigest()[:16], world.now_s - 1_000, world.loop.steps, count, world.lives, self.seen
        )


def _unfinished(partition: Partition, machine: SharePartition) -> int:
    """Records left to do, where the log also holds the state: acknowledging that is one more record of it, for ever."""
    finished = {
        offset
        for start, end, cell in machine.runs()
        if cell.state in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)
        for offset in range(start, end)
    }
    return sum(offset >= machine.start and offset not in finished for offset, _ in records_of(partition))


def _with_beginnings(history: list[Event]) -> list[Event]:
    """Without what is said of deliveries from before the history began."""
    known: set[tuple[str, int, int]] = set()
    kept: list[Event] = []
    for event in history:
        if isinstance(event, Delivered):
            known.add((event.consumer, event.partition, event.offset))
        elif isinstance(event, Acknowledging | Answered):  # noqa: SIM102 - the type is known inside
            if (event.consumer, event.partition, event.offset) not in known:
                continue
        kept.append(event)
    return kept
