"""The one door through which the broker reaches the records of a partition.

Reads and writes answer in futures, although a local log needs none to write: one day a remote log may stand behind
this door, and handlers are not to notice. What may be done at once is done at once, in the order of the calls; a
future is only waited for when the disk is.

Owned by the event loop. Only a `SyncJob` leaves it, for a thread of the `Flusher`.

A partition whose log failed still gives what can be read. When the log is whole again it is another `Partition` that
stands in this one's place, as after a restart: whoever keeps something of its own about a partition asks `is_gone`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from leaselog.broker.records.log_work import LogWork
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.log import Appended, AppendRefused, Durability, Inspection, Origin, PartitionLog
from leaselog.model import ErrorCode, TopicId, TopicIdPartition, TopicPartition
from leaselog.wire.end_markers import EndMarker, build_end_marker

__all__ = ["Partition"]

#: the `transaction.version` from which on every transaction ends with an epoch of its own
BUMPED_SINCE = 2

log = StructuredLog("partition")


@dataclass(frozen=True, slots=True)
class _InLine:
    """An append that waits for one before it, or is being looked into itself."""

    records: bytearray
    now_ms: int
    origin: Origin
    waits: bool
    answer: asyncio.Future[Appended | AppendRefused]


class Partition:
    """One topic partition on this node, which leads it."""

    def __init__(
        self,
        name: TopicPartition,
        topic_id: TopicId,
        log: PartitionLog,
        *,
        mark_dirty: Callable[[Partition], None],
        wake: Callable[[Partition], None],
        work: LogWork | None = None,
        on_failure: Callable[[Partition], None] = lambda partition: None,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        #: what is kept of it for longer than a process lives goes by this
        self.key = TopicIdPartition(topic_id, name.partition)
        self.log = log
        #: one broker leads every partition since it was made
        self.leader_epoch = 0
        self.is_deleted = False
        #: the log failed, and another partition has taken this one's place
        self.is_replaced = False
        self._is_failure_told = False
        self._mark_dirty = mark_dirty
        self._wake = wake
        self._work = LogWork() if work is None else work
        #: appends whose records must be looked into at length, and what came after them: offsets go in this order
        self._line: deque[_InLine] = deque()
        self._working_off: asyncio.Task[None] | None = None
        self._on_failure = on_failure
        #: appends that wait for the disk: the end offset that must be durable, ascending
        self._waiting: deque[tuple[int, asyncio.Future[Appended | AppendRefused], Appended]] = deque()

    def append(
        self,
        records: bytearray | memoryview,
        *,
        now_ms: int,
        origin: Origin = Origin.CLIENT,
        wait: bool = True,
    ) -> asyncio.Future[Appended | AppendRefused]:
        """Appends now; the future says what came of it, once it is durable if ``wait`` and the topic asks for it.

        Several appends may be under way; they become durable in their order.
        """
        answer: asyncio.Future[Appended | AppendRefused] = asyncio.get_running_loop().create_future()
        if self.is_deleted:
            answer.set_result(AppendRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        elif self._line:
            self._line.append(_InLine(bytearray(records), now_ms, origin, wait, answer))
        else:
            outcome = self.log.begin_append(
                records, leader_epoch=self.leader_epoch, now_ms=now_ms, origin=origin
            )
            if isinstance(outcome, Inspection):
                self._line.append(_InLine(bytearray(), now_ms, origin, wait, answer))
                self._working_off = asyncio.get_running_loop().create_task(self._work_off(outcome))
            else:
                self._conclude(outcome, answer, wait)
        return answer

    def write_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        is_commit: bool,
        *,
        now_ms: int,
        transaction_version: int = 0,
    ) -> asyncio.Future[Appended | AppendRefused]:
        """Ends the producer's transaction here; the future says what came of it, once that is durable.

        Refuses INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED, and what any append may be refused with. From
        version 2 on the epoch is the one the producer has from then on (KIP-890). Readers of committed records are
        woken like all others: the last stable offset moves when the marker may be read.
        """
        marker = EndMarker(is_commit, coordinator_epoch)
        batch = build_end_marker(producer_id, producer_epoch, marker, now_ms=now_ms)
        origin = Origin.BUMPED_MARKER if transaction_version >= BUMPED_SINCE else Origin.COORDINATOR
        return self.append(batch, now_ms=now_ms, origin=origin)

    def _conclude(
        self, outcome: Appended | AppendRefused, answer: asyncio.Future[Appended | AppendRefused], waits: bool
    ) -> None:
        """Answers an append, now or when it is as safe as its topic asks for."""
        if isinstance(outcome, Appended):
            self._mark_dirty(self)
            synced_first = self.log.config.durability is Durability.FSYNC
            if not synced_first:
                self._wake(self)
            if waits and synced_first and self.log.durable_end < outcome.end_offset:
                self._waiting.append((outcome.end_offset, answer, outcome))
                return
        self.tell_failure()
        if not answer.done():
            answer.set_result(outcome)

    async def _work_off(self, inspection: Inspection | None) -> None:
        """One append after the other until nobody is in line; the first one's inspection is given."""
        try:
            while self._line:
                first = self._line[0]
                outcome = await self._append_slowly(first, inspection)
                inspection = None
                self._line.popleft()
                self._conclude(outcome, first.answer, first.waits)
        finally:
            for left in (
                self._line
            ):  # of a bug: whoever is in line is told of it, and the next begin a line of their own
                if not left.answer.done():
                    left.answer.set_result(AppendRefused(ErrorCode.UNKNOWN_SERVER_ERROR))
            self._line.clear()

    async def _append_slowly(self, asked: _InLine, inspection: Inspection | None) -> Appended | AppendRefused:
        if inspection is None:
            if self.is_deleted:
                return AppendRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            outcome = self.log.begin_append(
                asked.records, leader_epoch=self.leader_epoch, now_ms=asked.now_ms, origin=asked.origin
            )
            if not isinstance(outcome, Inspection):
                return outcome
            inspection = outcome
        await self._work.carry(inspection.steps())
        if self.is_deleted:
            return AppendRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return self.log.append_inspected(inspection, leader_epoch=self.leader_epoch, now_ms=asked.now_ms)

    @property
    def is_gone(self) -> bool:
        return self.is_deleted or self.is_replaced

    @property
    def waits_for_disk(self) -> bool:
        """Whether a sync is under way, or is still to come for somebody who waits for it."""
        return self.log.is_at_work or (bool(self._waiting) and self.log.can_sync)

    def tell_failure(self) -> None:
        """Tells once if the log has stopped taking writes; one that is gone does, too, and that is no news."""
        if self.log.failure is not None and not self._is_failure_told and not self.is_gone:
            self._is_failure_told = True
            log.error("the log takes no more writes", partition=self.name, why=self.log.failure)
            self._on_failure(self)

    def synced(self) -> None:
        """The log's durable end has moved: answers what waited for it and wakes readers."""
        durable_end = self.log.durable_end
        while self._waiting and self._waiting[0][0] <= durable_end:
            _, answer, outcome = self._waiting.popleft()
            if not answer.done():
                answer.set_result(outcome)
        self._wake(self)

    def failed(self, why: str) -> None:
        """A sync failed: nothing that waits was promised, and nothing more will be."""
        self.tell_failure()
        self._refuse_waiting(AppendRefused(ErrorCode.KAFKA_STORAGE_ERROR, why))

    def begins_later(self) -> None:
        """The log's start has moved: where it held something up, there may be room now."""
        self._wake(self)

    def deleted(self) -> None:
        """The topic is gone; whoever waits learns it now."""
        self.is_deleted = True
        self._refuse_waiting(AppendRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))

    def replaced(self) -> None:
        """The log was opened anew, in another partition: whoever waits asks there."""
        self.is_replaced = True
        self._refuse_waiting(AppendRefused(ErrorCode.KAFKA_STORAGE_ERROR, "the log was opened anew"))

    def _refuse_waiting(self, refusal: AppendRefused) -> None:
        while self._waiting:
            _, answer, _ = self._waiting.popleft()
            if not answer.done():
                answer.set_result(refusal)
        self._wake(self)

    def check_leader_epoch(self, epoch: int) -> ErrorCode:
        """Whether a client's idea of the leader epoch (-1: none) is current."""
        if epoch < 0 or epoch == self.leader_epoch:
            return ErrorCode.NONE
        return ErrorCode.FENCED_LEADER_EPOCH if epoch < self.leader_epoch else ErrorCode.UNKNOWN_LEADER_EPOCH
