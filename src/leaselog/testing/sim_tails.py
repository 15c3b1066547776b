"""The stage where syncs are not waited for: `durability` is interval or os, and a power cut takes what it likes.

What may go is what was not synced: answered records, answered acknowledgements, members and offsets of groups, each log
for itself. So with each start after a power cut history begins anew, with what the logs still hold. What was finished
before may be delivered again. Everything else has to be: what is still there and was never finished, and all that is
written from then on, wherever it lies. That holds for offsets that had been given out, delivered and finished before.

What must not go: what was synced, and with `interval` what has been there for longer than that and the syncs last.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from leaselog.broker.broker import Broker
from leaselog.broker.config.listeners import Address, Listener
from leaselog.model import TopicPartition
from leaselog.testing.share_history import Acknowledging, Answered, Delivered, Event, Stored
from leaselog.testing.share_history_check import RecordPosition
from leaselog.testing.sim_checks import records_of
from leaselog.testing.sim_safe_state import safe_states
from leaselog.testing.sim_stage import LIMIT, Stage
from leaselog.testing.sim_world import Impossible, World

__all__ = ["LossyStage"]

#: most of what clients were sent before the power went they have looked at by then
ECHO_S = 1.0
#: beyond the interval and two syncs, for those that wait for a turn of the loop
SLACK_S = 0.5

#: where a log ends: durably, and in all
_Ends = dict[TopicPartition, tuple[int, int]]


class LossyStage(Stage):
    def __init__(self, world: World) -> None:
        super().__init__(world)
        #: of every log, as the last broker left it, and how often the power had gone by then
        self._left: tuple[int, _Ends] = world.disk.boot, {}
        #: what its topic held, and what power cuts took of that: an answer may come later than its record goes
        self._held: dict[RecordPosition, str] = {}
        self._lost: set[tuple[RecordPosition, str]] = set()
        #: what was there at which time; the last second or so
        self._seen_ends: deque[tuple[float, _Ends]] = deque()
        #: of all syncs that there may have been
        self._slowest_sync_s = 0.0
        #: when the power last went: what was fetched before is of another history
        self._era_ns = 0
        world.on_look = self._look
        world.on_death = self._broker_died

    async def lose_power(self) -> None:
        """And have it back, with a broker on what is left."""
        self.world.cut_power()
        await self.world.sleep(ECHO_S, 2 * ECHO_S)
        await self.world.start()

    # -- what the broker's logs hold ------------------------------------------------------------------------

    def broker_begins(self, broker: Broker) -> None:
        super().broker_begins(broker)
        listen = broker._server.listen

        async def listen_with_a_look(listeners: Sequence[Listener]) -> list[Address]:
            """Nobody can have written anything yet."""
            self._compare_with_what_was_left(broker)
            self._look_whether_cuts_are_safe(broker)
            return await listen(listeners)

        broker._server.listen = listen_with_a_look  # type: ignore[method-assign]

    def _look(self, broker: Broker) -> None:
        self.inspector.look(broker)
        if broker.config.durability != "interval":
            return
        now_s, seen, ends = self.world.now_s, self._seen_ends, _ends(broker)
        self._slowest_sync_s = max(self._slowest_sync_s, self.world.slowest_sync_s)
        allowed_s = broker.config.durability_interval_ms / 1000 + 2 * self._slowest_sync_s + SLACK_S
        while seen and now_s - seen[0][0] > allowed_s:
            for name, (_, end) in seen.popleft()[1].items():
                if ends.get(name, (end, end))[0] < end:
                    raise Impossible(f"{name} ended at {end} {allowed_s} s ago and is synced to {ends[name]}")
        seen.append((now_s, ends))

    def _broker_died(self, at_ns: int) -> None:
        self._died(at_ns)
        self._seen_ends.clear()
        if self.world.broker is not None:
            self._left = self.world.disk.boot, _ends(self.world.broker)
            self._held = self._records(self.world.broker)

    def _compare_with_what_was_left(self, broker: Broker) -> None:
        boot, left = self._left
        has_lost_power = self.world.disk.boot != boot
        for name, (_, end) in _ends(broker).items():
            durable_end, written_end = left.get(name, (0, 0))
            if end < (durable_end if has_lost_power else written_end):
                self.world.impossible.append(
                    f"{name} ended at {(durable_end, written_end)} and ends at {end}"
                )
        if has_lost_power:
            self._begin_era(broker)

    def _look_whether_cuts_are_safe(self, broker: Broker) -> None:
        """What the next power cut would leave of share state tells of no record that can yet be written."""
        if not broker.share_coordinator.counts.cut:
            return
        self.seen["starts with state cut"] += 1
        for state in safe_states(self.world, broker):
            topic = broker.cluster.topic_name_of(state.key.topic_id)
            partition = None if topic is None else broker.logs.partition(topic, state.key.partition)
            reached = max([state.start_offset, *(batch.end for batch in state.batches)])
            if partition is not None and reached > partition.log.end_offset:
                self.world.impossible.append(
                    f"{state.key} is safe up to {reached}, its log ends at {partition.log.end_offset}"
                )

    # -- history ------------------------------------------------------------------------------------------------

    def _begin_era(self, broker: Broker) -> None:
        there = self._records(broker)
        for group, history in self.histories.items():
            self._judge_history(group, history, None)
            finished = {place for place in _finished(history) if place in there}
            kept = self._unclear.get(group, set()) | self.inspector.archived.pop(group, set())
            self._unclear[group] = {place for place in kept if place in there} | finished
            history.clear()
        self.inspector.starts.clear()
        self.inspector._books.clear()
        self._era_ns = self.world.now_ns()
        self._lost |= {(place, record) for place, record in self._held.items() if there.get(place) != record}
        self.seen["records lost"] += len(self._held.keys() - there.keys())
        self._forget_lost(there)

    def _forget_lost(self, there: dict[RecordPosition, str]) -> None:
        """Whoever was answered that they are safe."""

        def is_lost(place: RecordPosition, record: str) -> bool:
            return (place, record) in self._lost and there.get(place) != record

        self.produced[:] = [
            event
            for event in self.produced
            if not (
                isinstance(event, Stored)
                and is_lost(RecordPosition(event.partition, event.offset), event.record)
            )
        ]
        values = set(there.values())
        gone = {record for _, record in self._lost if record not in values}
        for producer in self.producers:
            producer.stored = {
                record: (partition, offset)
                for record, (partition, offset) in producer.stored.items()
                if (
                    record not in gone
                    if offset is None
                    else not is_lost(RecordPosition(partition, offset), record)
                )
            }

    def _judge(self) -> None:
        assert self.world.broker is not None
        self._forget_lost(self._records(self.world.broker))
        super()._judge()

    def _records(self, broker: Broker) -> dict[RecordPosition, str]:
        logs = ((i, broker.logs.partition(self.topic, i)) for i in range(self.partitions))
        return {
            RecordPosition(i, offset): record
            for i, partition in logs
            if partition is not None
            for offset, record in records_of(partition)
        }

    def _judge_history(
        self,
        group: str,
        history: list[Event],
        through: dict[int, int] | None,
        begins: dict[int, int] | None = None,
    ) -> None:
        super()._judge_history(group, self._of_this_era(history), through, begins)

    def _of_this_era(self, history: list[Event]) -> list[Event]:
        """Without what was fetched before the power went, and what was said of it."""
        known: set[tuple[str, int, int]] = set()
        kept: list[Event] = []
        for event in history:
            if isinstance(event, Delivered):
                where = event.consumer, event.partition, event.offset
                if event.after_ns <= self._era_ns:
                    known.discard(where)
                    continue
                known.add(where)
            elif isinstance(event, Acknowledging | Answered):  # noqa: SIM102 - the type is known inside
                if (event.consumer, event.partition, event.offset) not in known:
                    continue
            kept.append(event)
        return kept


def _ends(broker: Broker) -> _Ends:
    return {p.name: (p.log.durable_end, p.log.end_offset) for p in broker.logs.partitions()}


def _finished(history: list[Event]) -> set[RecordPosition]:
    """What somebody asked to have finished, or what may have been archived for its deliveries."""
    found = set[RecordPosition]()
    for event in history:
        match event:
            case Acknowledging(kind="accept" | "reject"):
                found.add(RecordPosition(event.partition, event.offset))
            case Delivered() if event.delivery_count >= LIMIT:
                found.add(RecordPosition(event.partition, event.offset))
    return found
