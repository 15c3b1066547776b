"""What is looked at inside a simulated broker while it runs, and what is compared at the end.

The history that clients write is judged by ``share_history_check``, as in the crash tests. Here is what no client can
see: that the books of every share partition agree with its records, that windows, queues and start offsets keep within
their bounds, and that every answered produce lies in the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from leaselog.broker.broker import Broker
from leaselog.broker.lending.kept_reads import MAX_KEPT_BYTES
from leaselog.broker.lending.reading import MAX_KEPT_READ_BYTES
from leaselog.broker.records.partition import Partition
from leaselog.coordination.cluster_names import is_internal
from leaselog.coordination.share_state_commands import DeleteState, InitializeState, ReadState, WriteState
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import BrokenInvariant, Refused
from leaselog.share import RecordState, SharePartition
from leaselog.testing.share_history_check import RecordPosition
from leaselog.testing.sim_state_book import Asked, StateBook
from leaselog.testing.sim_world import Impossible, World
from leaselog.wire.record_batch import iterate_headers
from leaselog.wire.records import Record, read_records

__all__ = ["OVERDUE_MS", "Inspector", "compare_log", "key_of", "letters_of", "records_of", "what_is_kept"]

_Told: TypeAlias = "Callable[[asyncio.Future[Any]], None]"

#: a batch may reach beyond the window's bound: as many records as one of a simulated producer's can have
BATCH_RECORDS = 60
#: a lease may end so much late: timers of whole milliseconds, and a clock that only moves between callbacks
OVERDUE_MS = 50
#: requests whose connection is gone and who have not noticed yet
LEAVING = 20


@dataclass(slots=True)
class Inspector:
    """Looks into the broker now and then, and listens to what is written of share partitions."""

    world: World
    #: by group: what was archived because it was out of deliveries, as the broker meant to write it
    archived: dict[str, set[RecordPosition]] = field(default_factory=dict)
    #: by group and partition: how far the start was seen to be; None: it may be anywhere
    starts: dict[tuple[str, str, int], int] = field(default_factory=dict)
    #: how much was looked at, so that nobody is pleased with having looked at nothing
    windows_seen: int = 0
    states_read: int = 0
    #: by group and partition: since when its group is paused, and what its leader had leased out by then
    paused: dict[tuple[str, str, int], tuple[int, SharePartition, int]] = field(default_factory=dict)
    _starts_move: bool = False
    #: outlives the brokers
    _books: dict[SharePartitionKey, StateBook] = field(default_factory=dict)
    #: what was asked of the persister, in order, and whom to tell the answer
    _asked: dict[SharePartitionKey, list[tuple[asyncio.Future[Any], _Told]]] = field(default_factory=dict)

    def begin(self, broker: Broker) -> None:
        """A broker is about to start."""
        self._asked.clear()
        persister: Any = broker.persister
        initialize, read, write, delete = (
            persister.initialize,
            persister.read,
            persister.write,
            persister.delete,
        )

        def initialized(ask: InitializeState) -> Any:
            self._book(ask.key).begins_anew()
            return initialize(ask)

        def deleted(ask: DeleteState) -> Any:
            self._book(ask.key).begins_anew()
            return delete(ask)

        def was_read(ask: ReadState) -> Any:
            self._take_in(ask.key)
            book = self._book(ask.key)
            asked, answer = book.read_asked(), read(ask)
            self._listen(ask.key, answer, lambda done: self._note_read(ask, book, asked, done))
            return answer

        def written(ask: WriteState) -> Any:
            self._take_in(ask.key)
            self._look_for_owner(broker, ask)
            self._note_archived(broker, ask)
            book = self._book(ask.key)
            asked, passed = book.write_asked(ask)
            if passed:
                self._note_passed(broker, ask, passed)
            answer = write(ask)
            self._listen(ask.key, answer, lambda done: book.write_ended(asked, ask, ok=_is_ok(done)))
            return answer

        persister.initialize, persister.delete = initialized, deleted
        persister.read, persister.write = was_read, written

    def _book(self, key: SharePartitionKey) -> StateBook:
        return self._books.setdefault(key, StateBook())

    def _listen(self, key: SharePartitionKey, answer: asyncio.Future[Any], told: _Told) -> None:
        self._asked.setdefault(key, []).append((answer, told))
        answer.add_done_callback(lambda done: self._take_in(key))

    def _take_in(self, key: SharePartitionKey) -> None:
        """Writes down the answers that are there: of several that come at once the owner may hear before the book."""
        waiting = self._asked.get(key, [])
        self._asked[key] = [asked for asked in waiting if not asked[0].done()]
        for answer, told in waiting:
            if answer.done():
                told(answer)

    def _note_read(self, ask: ReadState, book: StateBook, asked: Asked, done: asyncio.Future[Any]) -> None:
        if _is_ok(done) and (wrong := book.read_answered(asked, done.result())):
            self.world.impossible.append(f"{ask.key}: {'; '.join(wrong[:3])}")
        self.states_read += _is_ok(done)

    def _note_passed(self, broker: Broker, ask: WriteState, passed: list[int]) -> None:
        """The start may pass what is not there."""
        topic = broker.cluster.topic_name_of(ask.key.topic_id)
        partition = None if topic is None else broker.logs.partition(topic, ask.key.partition)
        if partition is not None:
            with self.world.disk.looked_at():
                there = {offset for offset, _ in records_of(partition)}
            if live := [offset for offset in passed if offset in there]:
                self.world.impossible.append(
                    f"{ask.key}: the start passes {live[:10]}, which nobody has finished"
                )

    def _look_for_owner(self, broker: Broker, ask: WriteState) -> None:
        """Only who owns a share partition writes its state, and only after it has read it."""
        owners = broker.shares.every_owner()
        if not any(o.key == ask.key and o.machine is not None and not o.is_over for o in owners):
            self.world.impossible.append(f"{ask.key}: state is written that nobody owns")

    def _note_archived(self, broker: Broker, ask: WriteState) -> None:
        limit = broker.cluster.configuration.group(ask.key.group_id).share_delivery_count_limit
        for batch in ask.batches:
            if batch.delivery_count >= limit and batch.state == RecordState.ARCHIVED.value:
                found = self.archived.setdefault(ask.key.group_id, set())
                found.update(
                    RecordPosition(ask.key.partition, offset) for offset in range(batch.start, batch.end)
                )

    @contextmanager
    def starts_may_move(self) -> Iterator[None]:
        """Somebody sets offsets: where starts were says nothing of where they are."""
        self._starts_move = True
        try:
            yield
        finally:
            self._starts_move = False
            self.starts.clear()

    def look(self, broker: Broker) -> None:
        in_all_bytes = 0
        for owner in list(broker.shares.owners()):
            machine = owner.machine
            if machine is None or owner.is_over:
                continue
            self.windows_seen += machine.end > machine.start
            where = (owner.key.group_id, owner.partition.name.topic, owner.key.partition)
            try:
                machine.verify()
            except BrokenInvariant as broken:
                raise Impossible(f"{where}: {broken}") from broken
            self._look_at_start(where, machine)
            self._look_at_pause(broker, where, machine)
            self._look_at_window(where, machine, int(broker.monotonic_ms()))
            if len(owner._reports) > machine.writes_in_flight:
                raise Impossible(f"{where}: {len(owner._reports)} wait for {machine.writes_in_flight} writes")
            in_all_bytes += owner._reader.kept_bytes
            kept = owner._reader._kept
            if kept is not None and len(kept.data) > MAX_KEPT_READ_BYTES:
                raise Impossible(f"{where}: {len(kept.data)} bytes are kept")
        if in_all_bytes != broker.shares.support.kept_reads.size_bytes or in_all_bytes > MAX_KEPT_BYTES:
            raise Impossible(
                f"{in_all_bytes} bytes are kept, {broker.shares.support.kept_reads.size_bytes} in the books"
            )
        sessions, most = len(broker.shares.sessions), broker.config.group_share_max_share_sessions
        if sessions > most:
            raise Impossible(f"{sessions} share sessions, {most} are allowed")
        waiting, connections = len(broker.waiting_room), broker.connection_count()
        if waiting > connections + LEAVING:
            raise Impossible(f"{waiting} requests wait for {connections} connections")

    def _look_at_start(self, where: tuple[str, str, int], machine: SharePartition) -> None:
        if machine.start < self.starts.get(where, 0) and not self._starts_move:
            raise Impossible(f"{where}: the start was {self.starts[where]} and is {machine.start}")
        # What is not safe yet may be taken back by a crash: what is being written, and what stands without its write,
        # a last lease's end. (What was written is in the book.)
        if machine.writes_in_flight == 0 and machine.counters.failed_writes == 0:
            self.starts[where] = machine.start

    def _look_at_pause(self, broker: Broker, where: tuple[str, str, int], machine: SharePartition) -> None:
        config = broker.cluster.configuration.group(where[0])
        if not config.share_delivery_paused:
            self.paused.pop(where, None)
            return
        now = (config.share_delivery_paused_since_ms, machine, machine.counters.acquired)
        before = self.paused.setdefault(where, now)
        if before[:2] == now[:2] and before[2] != now[2]:
            raise Impossible(f"{where}: {now[2] - before[2]} records were leased out while it was paused")
        self.paused[where] = now

    def _look_at_window(self, where: tuple[str, str, int], machine: SharePartition, now_ms: int) -> None:
        size = machine.end - machine.start
        if size > machine.limits.max_record_locks + BATCH_RECORDS:
            raise Impossible(
                f"{where}: {size} records in flight, the limit is {machine.limits.max_record_locks}"
            )
        resumed_s = 0.0 if self.world.process is None else self.world.process.resumed_s
        for start, end, cell in machine.runs():
            if cell.delivery_count > machine.limits.delivery_count_limit:
                raise Impossible(f"{where}: [{start}, {end}) was delivered {cell.delivery_count} times")
            due_ms = 0 if cell.deadline_ms is None else max(cell.deadline_ms, int(resumed_s * 1000))
            is_late = due_ms > 0 and due_ms + OVERDUE_MS < now_ms
            if cell.state is RecordState.ACQUIRED and cell.write is None and is_late:
                raise Impossible(
                    f"{where}: the lease of [{start}, {end}) ended at {cell.deadline_ms}, it is {now_ms}"
                )


def _is_ok(done: asyncio.Future[Any]) -> bool:
    """An answer, and no refusal."""
    is_answer = not done.cancelled() and done.exception() is None
    return is_answer and not isinstance(done.result(), Refused)


def key_of(record: str) -> str:
    """Few, where a topic is compacted: the producer's name and the last digit of the record's number."""
    return record.partition("/")[0] + record[-1]


def records_of(partition: Partition) -> Iterator[tuple[int, str]]:
    """What the log holds: offset and value of each record."""
    for record in _whole_records_of(partition):
        yield record.offset, (record.value or b"").decode().rstrip()


def letters_of(partition: Partition) -> Iterator[tuple[RecordPosition, str]]:
    """The places that the dead letters of the log name, and their values."""
    for record in _whole_records_of(partition):
        told = dict(record.headers)
        place = RecordPosition(
            *(int(told[f"__dlq.errors.{what}"] or b"") for what in ("partition", "offset"))
        )
        yield place, (record.value or b"").decode().rstrip()


def _whole_records_of(partition: Partition) -> Iterator[Record]:
    log = partition.log
    offset = log.start_offset
    while offset < log.high_watermark:
        data = log.read(offset, 1 << 20)
        if isinstance(data, Refused):
            raise Impossible(f"{partition.name} at {offset}: {data}")
        for position, header in iterate_headers(data):
            if not header.is_control:
                for record in read_records(data, header, position):
                    if record.offset >= offset:
                        yield record
            offset = header.end_offset


def compare_log(
    broker: Broker,
    topic: str,
    stored: Mapping[str, tuple[int, int | None]],
    count: int,
    *,
    has_keys: bool = False,
) -> None:
    """Every answered produce is in the log, where the broker said, and once; with keys, the last one of each."""
    for index in range(count):
        partition = broker.logs.partition(topic, index)
        assert partition is not None
        found = dict(records_of(partition))
        offsets: dict[str, int] = {}
        for offset, record in found.items():
            if record in offsets:
                raise Impossible(f"{record} is in {topic}-{index} at {offsets[record]} and again at {offset}")
            offsets[record] = offset
        start = partition.log.start_offset
        for record, (where, at) in stored.items():
            if where != index or (at is not None and at < start) or (at is None and start):
                continue
            if record not in offsets and has_keys and at is not None:
                if not any(
                    offset > at and key_of(other) == key_of(record) for other, offset in offsets.items()
                ):
                    raise Impossible(f"{record} was answered, and nothing of its key is in {topic}-{index}")
                continue
            if record not in offsets and not has_keys:
                raise Impossible(f"{record} was answered and is not in {topic}-{index}")
            if at is not None and offsets.get(record, at) != at:
                raise Impossible(f"{record} was answered at {at} and is at {offsets[record]}")


def what_is_kept(broker: Broker) -> dict[str, object]:
    """All that a broker has read back from its disk: topics, records, the states of groups and share partitions."""
    kept: dict[str, object] = {
        "topics": sorted((topic.name, topic.topic_id) for topic in broker.cluster.topics())
    }
    for partition in broker.logs.partitions():
        ends = (partition.log.start_offset, partition.log.high_watermark)
        values = [] if is_internal(partition.name.topic) else list(records_of(partition))
        kept[str(partition.name)] = (ends, values)
    for owner in broker.share_coordinator._owners.made():
        shard = owner._shard
        kept[f"share state {owner.partition.name}"] = None if shard is None else shard.snapshots()
    kept["groups"] = sorted(str(group) for group in broker.groups.listed())
    return kept
