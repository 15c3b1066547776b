"""Dead letters on their way: read from their topics, written to the groups' dead-letter topics, tried again, given up.

The share machine asks for letters when it is durable that they are to be written, and archives the records when this
has ended. So whatever happens here, also the end of the process, leads to at least one letter, or to a loud line.

What the topic's disk refuses is tried again, with growing pauses; what the config refuses is not. What is given up is
logged, counted, and archived all the same: a queue must not stand still for it (Apache Kafka decides so, too).

Bounds: what is on its way of a share partition lies in its window, `share.partition.max.record.locks`; so many rounds
as `AT_ONCE`, of at most `ROUND_BYTES` or `ROUND_LETTERS` each, are in memory at once; a letter is tried `ATTEMPTS`
times, with pauses of `LONGEST_PAUSE_S` at most.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter

from leaselog.broker.cluster.cluster import Cluster
from leaselog.broker.dead_letters.records import Origin, fitted, is_in_a_circle, letter, way_of
from leaselog.broker.dead_letters.topic import dead_letter_topic
from leaselog.broker.records.log_store import LogStore
from leaselog.broker.records.partition import Partition
from leaselog.broker.records.portions import portions
from leaselog.broker.runtime.runtime import Runtime
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.log import Appended, AppendRefused
from leaselog.model import ErrorCode, GroupId, Refused
from leaselog.share import DeadLetters
from leaselog.wire.errors import DecodeError
from leaselog.wire.record_batch import BatchHeader, iterate_headers
from leaselog.wire.records import Record, build_batch, read_records

__all__ = ["DeadLetterCounts", "DeadLetterOffice", "pause_s"]

ROUND_BYTES = 256 * 1024
#: of letters without the record, which are made without reading
ROUND_LETTERS = 2_000
#: what is written in one turn of the loop
PORTION_BYTES = 128 * 1024
AT_ONCE = 8
ATTEMPTS = 5
FIRST_PAUSE_S, LONGEST_PAUSE_S, JITTER = 1.0, 30.0, 0.2
#: worth another attempt: the topic may be back, or on its way
PASSING = frozenset({ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})

_END = attrgetter("end")

log = StructuredLog("dead letters")


def pause_s(attempts: int, chance: float) -> float:
    """How long to wait after so many attempts; ``chance``, from 0 to 1, spreads it by a fifth to both sides."""
    pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * float(1 << (attempts - 1)))
    return pause * (1 + JITTER * (2 * chance - 1))


@dataclass(slots=True)
class DeadLetterCounts:
    """Records, by group, since the broker began."""

    written: Counter[GroupId] = field(default_factory=Counter)
    #: archived without a letter
    failed: Counter[GroupId] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class _Delivery:
    """The letters of one share partition that were asked for together."""

    group_id: GroupId
    source: Partition
    #: ascending, disjoint
    letters: tuple[DeadLetters, ...]

    @property
    def end(self) -> int:
        return self.letters[-1].end

    def next_at(self, offset: int) -> int:
        """The first letter's offset from there on; ``end`` when there is none."""
        first = bisect_right(self.letters, offset, key=_END)
        return max(self.letters[first].start, offset) if first < len(self.letters) else self.end

    def between(self, start: int, end: int) -> Iterator[tuple[int, DeadLetters]]:
        for at in range(bisect_right(self.letters, start, key=_END), len(self.letters)):
            run = self.letters[at]
            if run.start >= end:
                return
            for offset in range(max(start, run.start), min(end, run.end)):
                yield offset, run

    def behind(self, start: int, count: int) -> int:
        """Where so many letters from there on end."""
        for run in self.letters[bisect_right(self.letters, start, key=_END) :]:
            first = max(start, run.start)
            if run.end - first >= count:
                return first + count
            count -= run.end - first
        return self.end

    def count(self, start: int) -> int:
        return sum(max(0, run.end - max(start, run.start)) for run in self.letters)


class DeadLetterOffice:
    def __init__(self, runtime: Runtime, cluster: Cluster, logs: LogStore) -> None:
        self._runtime = runtime
        self._cluster = cluster
        self._logs = logs
        self.counts = DeadLetterCounts()
        self._at_once = asyncio.Semaphore(AT_ONCE)
        #: in the order of their asking
        self._tasks: dict[asyncio.Task[None], None] = {}

    def send(
        self,
        group_id: GroupId,
        source: Partition,
        letters: tuple[DeadLetters, ...],
        done: Callable[[], None],
    ) -> None:
        """Calls back, never at once, when each of the letters is safe or given up; not at all if the broker stops."""
        if self._runtime.is_stopping:
            return
        delivery = _Delivery(group_id, source, letters)
        task = asyncio.get_running_loop().create_task(self._deliver(delivery))
        self._tasks[task] = None
        task.add_done_callback(partial(self._ended, delivery, done))

    def stop(self) -> None:
        """What is on its way is asked for again when its group comes back."""
        for task in list(self._tasks):
            task.cancel()

    def _ended(self, delivery: _Delivery, done: Callable[[], None], task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if task.cancelled():
            return
        failure = task.exception()
        if failure is not None:  # a fault of ours must not hold up the queue
            self._give_up(delivery, delivery.letters[0].start, repr(failure))
        done()

    async def _deliver(self, delivery: _Delivery) -> None:
        """Round after round, each as much as is read at once."""
        at, attempts = delivery.letters[0].start, 0
        while at < delivery.end:
            async with self._at_once:
                attempts += 1
                reached = await self._round(delivery, at)
            if not isinstance(reached, Refused):
                at, attempts = delivery.next_at(reached), 0
                continue
            why = reached.message or reached.code.name
            if attempts == ATTEMPTS or reached.code not in PASSING:
                self._give_up(delivery, at, why)
                return
            log.warning(
                "dead letters cannot be written, trying again",
                group=delivery.group_id,
                partition=delivery.source.name,
                why=why,
            )
            await asyncio.sleep(pause_s(attempts, self._runtime.machine.random_below(1001) / 1000))

    async def _round(self, delivery: _Delivery, at: int) -> int | Refused:
        """Writes letters from ``at`` on; how far it came."""
        group_id = delivery.group_id
        topic = await dead_letter_topic(self._runtime, self._cluster, group_id)
        if isinstance(topic, Refused):
            return topic
        target = self._target(topic, delivery.source.name.partition)
        if target is None:
            return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic} is not there any more")
        reached, records = await self._runtime.turns.walk(self._letters(delivery, at, topic))
        limit_bytes = min(target.log.config.max_message_bytes, target.log.config.segment_bytes)
        for portion in portions(fitted(records, limit_bytes), min(limit_bytes, PORTION_BYTES)):
            refused = await self._append(target, group_id, portion)
            if refused is not None:
                return refused
        return reached

    def _target(self, topic: str, source_partition: int) -> Partition | None:
        there = self._cluster.topic(topic)
        if there is None:
            return None
        return self._logs.partition(topic, source_partition % there.partition_count)

    def _letters(
        self, delivery: _Delivery, at: int, target: str
    ) -> Generator[None, None, tuple[int, list[Record]]]:
        """In steps: how far this round comes, and its letters. What would go in a circle is left out, loudly."""
        source, configuration = delivery.source.name, self._cluster.configuration
        copies = configuration.group(delivery.group_id).errors_deadletterqueue_copy_record_enable
        # only what lies in such a topic can be a dead letter itself
        may_have_way = configuration.topic(source.topic).errors_deadletterqueue_group_enable
        originals = dict[int, Record]()
        if copies or may_have_way:
            reached, originals = yield from _originals(delivery, at)
        else:
            reached = delivery.behind(at, ROUND_LETTERS)
        now_ms, made, circling = self._runtime.now_ms(), list[Record](), 0
        for offset, run in delivery.between(at, reached):
            yield
            original = originals.get(offset)
            way = way_of(original) if may_have_way else ()
            if is_in_a_circle(way, source.topic, target):
                circling += 1
                continue
            origin = Origin(source, offset, delivery.group_id, run.delivery_count, run.cause)
            made.append(letter(origin, original if copies else None, way, now_ms))
        if circling:
            self.counts.failed[delivery.group_id] += circling
            log.error(
                "records are archived without dead letters, which would go in a circle",
                group=delivery.group_id,
                partition=source,
                topic=target,
                records=circling,
            )
        return reached, made

    async def _append(self, target: Partition, group_id: GroupId, portion: list[Record]) -> Refused | None:
        """Those the topic takes; of a portion refused for some of its records, the others."""
        while portion:
            batch = build_batch(portion)
            outcome = await target.append(batch, now_ms=self._runtime.now_ms())
            if isinstance(outcome, Appended):
                self.counts.written[group_id] += len(portion)
                self._runtime.metrics.produced(target.name.topic, len(batch), len(portion))
                return None
            if outcome.code in PASSING:
                return Refused(outcome.code, outcome.message)
            portion = self._without_bad(target, group_id, portion, outcome)
        return None

    def _without_bad(
        self, target: Partition, group_id: GroupId, portion: list[Record], refused: AppendRefused
    ) -> list[Record]:
        bad = {error.index for error in refused.record_errors} or set(range(len(portion)))
        self.counts.failed[group_id] += len(bad)
        log.error(
            "records are archived without dead letters, which the topic refuses",
            group=group_id,
            partition=target.name,
            records=len(bad),
            why=refused.message or refused.code.name,
        )
        return [record for index, record in enumerate(portion) if index not in bad]

    def _give_up(self, delivery: _Delivery, at: int, why: str) -> None:
        count = delivery.count(at)
        self.counts.failed[delivery.group_id] += count
        log.error(
            "records are archived without dead letters, which could not be written",
            group=delivery.group_id,
            partition=delivery.source.name,
            first_offset=at,
            records=count,
            why=why,
        )


def _originals(delivery: _Delivery, at: int) -> Generator[None, None, tuple[int, dict[int, Record]]]:
    """In steps: how far one read from ``at`` on comes, and the records it brings, by offset.

    What cannot be read, or is not there any more, is left out: its letter goes without key and value.
    """
    source = delivery.source.log
    data = source.read(max(at, source.start_offset), ROUND_BYTES)
    if isinstance(data, Refused) or not data:
        return delivery.end, {}
    found, reached = dict[int, Record](), at
    try:
        for position, header in iterate_headers(data):
            yield
            reached = header.end_offset
            if not header.is_control and delivery.next_at(header.base_offset) < header.end_offset:
                found |= _of_batch(delivery, data, header, position)
            if delivery.next_at(reached) == delivery.end:
                return delivery.end, found
    except DecodeError as bad:
        log.error(
            "the log has something that is no batch of records",
            partition=delivery.source.name,
            offset=reached,
            why=bad,
        )
    return max(reached, at + 1), found


def _of_batch(delivery: _Delivery, data: bytes, header: BatchHeader, position: int) -> dict[int, Record]:
    wanted = {offset for offset, _ in delivery.between(header.base_offset, header.end_offset)}
    try:
        return {r.offset: r for r in read_records(data, header, position) if r.offset in wanted}
    except DecodeError as bad:
        log.error(
            "a batch whose records are to become dead letters cannot be read",
            partition=delivery.source.name,
            offset=header.base_offset,
            why=bad,
        )
        return {}
