"""The owner of one partition of ``__consumer_offsets``: runs its group shard against its log and its clock.

A command is decided, its facts are encoded and appended, and it is carried out, all at once and in the log's order; its
replies go out when everything appended so far is safe, so nobody is told of what a crash could still take back. Several
writes may wait for the disk together.

A command that cannot be decided or encoded is refused alone: until then nothing has changed. If anything fails after
that, the shard is read anew (see ``coordinator_owner``), also when the topic was deleted and made anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from leaselog.broker.coordinators.log import ReadBatch, Unwritable, read_batches, records_of
from leaselog.broker.coordinators.markers import Marker
from leaselog.broker.coordinators.owner import CoordinatorOwner
from leaselog.broker.groups.records import decode_fact, encode_fact
from leaselog.broker.records.partition import Partition
from leaselog.broker.records.portions import portions
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.coordination.cluster_view import EMPTY_CLUSTER, ClusterView
from leaselog.coordination.group_commands import (
    Answer,
    CommitOffsets,
    GroupCommand,
    ListedGroup,
    Reply,
    Token,
)
from leaselog.coordination.group_facts import (
    GroupFact,
    OffsetCommitted,
    TransactionalOffset,
    TransactionalOffsetsEnded,
)
from leaselog.coordination.group_shard import GroupShard
from leaselog.coordination.group_turn import GroupLimits, GroupOutcome
from leaselog.coordination.share_group_facts import Assignment, ShareEpochStored
from leaselog.log import Appended, AppendRefused, Origin
from leaselog.model import BrokenInvariant, ErrorCode, GroupId, MemberId, ProducerId, Refused
from leaselog.wire.errors import DecodeError
from leaselog.wire.records import Record, build_batch

__all__ = ["GroupCounts", "GroupOwner"]

A = TypeVar("A")

#: commands whose answers are not out yet; past it they are refused with an error that clients retry
MAX_WAITING = 100_000

log = StructuredLog("groups")

OVERLOADED = Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "too many requests wait for this coordinator")


@dataclass(slots=True)
class GroupCounts:
    """What has happened to the groups of all owners together, for whoever shows it."""

    #: new epochs of share groups, each of which makes a new assignment due
    share_rebalances: int = 0


class GroupOwner(CoordinatorOwner[GroupShard, list[GroupFact]]):
    SUBJECT = "group state"
    NOT_LOADED = Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    STOPPED = Refused(ErrorCode.NOT_COORDINATOR)

    def __init__(
        self,
        partition: Partition,
        limits: GroupLimits,
        cluster: ClusterView = EMPTY_CLUSTER,
        *,
        now_ms: Callable[[], int],
        counts: GroupCounts | None = None,
    ) -> None:
        super().__init__(partition, log)
        self._counts = counts or GroupCounts()
        self._limits = limits
        self._cluster = cluster
        self._now_ms = now_ms
        self._waiting: dict[Token, asyncio.Future[Answer]] = {}
        self._last_token = 0
        #: the latest append, if it is not known to be safe yet
        self._write: asyncio.Future[Appended | AppendRefused] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 0

    # -- what others ask ------------------------------------------------------------------------------------

    def ask(self, make: Callable[[Token], GroupCommand]) -> asyncio.Future[Answer]:
        """Decides the command now; the answer comes when it is there and safe."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        shard = self._shard
        if shard is None:
            answer.set_result(self._refusal)
            return answer
        if len(self._waiting) >= MAX_WAITING:
            answer.set_result(OVERLOADED)
            return answer
        self._last_token += 1
        token = Token(self._last_token)
        command, now_ms = make(token), self._now_ms()
        try:
            outcome = shard.handle(command, now_ms)
            records = self._records(outcome.facts, now_ms)
        except BrokenInvariant as broken:
            answer.set_result(Refused(ErrorCode.UNKNOWN_SERVER_ERROR))
            self._broken(f"{command!r:.500}", broken)
            return answer
        except Unwritable as why:
            code = ErrorCode.UNKNOWN_SERVER_ERROR
            if isinstance(command, CommitOffsets):
                code = ErrorCode.INVALID_COMMIT_OFFSET_SIZE
            answer.set_result(Refused(code))
            log.warning("a command cannot be written down", partition=self.partition.name, why=why)
            return answer
        except Exception:  # a supervisor: nothing has changed, and others can go on
            answer.set_result(Refused(ErrorCode.UNKNOWN_SERVER_ERROR))
            log.exception("a command cannot be decided", partition=self.partition.name)
            return answer
        producer = command.producer if isinstance(command, CommitOffsets) else None
        if producer is not None and records:
            refused = self._append_for(producer, records, now_ms)
            if refused is not None:
                answer.set_result(refused)
                return answer
            records = []
        self._waiting[token] = answer
        self._carry_out(outcome, records, now_ms)
        return answer

    def end_transaction(self, marker: Marker) -> asyncio.Future[Appended | AppendRefused]:
        """Writes the marker, and lets the offsets of the transaction count, or drops them; answers when it is safe."""
        shard = self._shard
        if shard is None:
            refused: asyncio.Future[Appended | AppendRefused] = asyncio.get_running_loop().create_future()
            refused.set_result(AppendRefused(self._refusal.code))
            return refused
        write = self.partition.write_marker(
            marker.producer_id,
            marker.epoch,
            marker.coordinator_epoch,
            marker.is_commit,
            now_ms=self._now_ms(),
            transaction_version=marker.version,
        )
        if write.done() and isinstance(write.result(), AppendRefused):
            return write
        self._note_write(write)
        try:
            shard.replay(TransactionalOffsetsEnded(marker.producer_id, marker.is_commit), self._now_ms())
        except Exception as failure:  # noqa: BLE001 - a supervisor: half of it may be done
            self._broken("the end of a transaction", failure)
        return write

    # -- what is told of it ---------------------------------------------------------------------------------

    def listed(self) -> Iterator[ListedGroup]:
        return iter(()) if self._shard is None else self._shard.listed()

    def share_partition_count(self) -> int:
        return 0 if self._shard is None else self._shard.share_partition_count()

    def revoked_from(self, group_id: GroupId, member_id: MemberId) -> Assignment:
        return {} if self._shard is None else self._shard.revoked_from(group_id, member_id)

    # -- running --------------------------------------------------------------------------------------------

    def _records(self, facts: Iterable[GroupFact], now_ms: int) -> list[Record]:
        return records_of(facts, lambda fact: encode_fact(fact, now_ms), self._batch_bytes_max())

    def _carry_out(self, outcome: GroupOutcome, records: list[Record], now_ms: int) -> None:
        """What takes more than one batch is not atomic; each fact stands alone."""
        shard = self._shard
        assert shard is not None
        try:
            for batch in portions(records, self._batch_bytes_max()):
                self._append(build_batch(batch), now_ms)
            shard.apply(outcome, now_ms)
            for fact in outcome.facts:
                self._counts.share_rebalances += isinstance(fact, ShareEpochStored) and fact.epoch is not None
            if outcome.replies:
                self._reply_when_safe(outcome.replies)
            self._arm()
        except Exception as failure:  # noqa: BLE001 - a supervisor: half of it may be done
            self._broken("carrying out", failure)

    def _batch_bytes_max(self) -> int:
        return self.partition.log.config.max_message_bytes

    def _append_for(
        self, producer: tuple[ProducerId, int], records: list[Record], now_ms: int
    ) -> Refused | None:
        """Appends a commit of the producer's transaction; the log may know that the producer is fenced."""
        for batch in portions(records, self._batch_bytes_max()):
            data = build_batch(
                batch, producer_id=producer[0], producer_epoch=producer[1], is_transactional=True
            )
            write = self.partition.append(data, now_ms=now_ms, origin=Origin.COORDINATOR)
            if write.done() and isinstance(outcome := write.result(), AppendRefused):
                return Refused(outcome.code, outcome.message)
            self._note_write(write)
        return None

    def _append(self, batch: bytearray, now_ms: int) -> None:
        self._note_write(self.partition.append(batch, now_ms=now_ms, origin=Origin.COORDINATOR))

    def _note_write(self, write: asyncio.Future[Appended | AppendRefused]) -> None:
        if write.done() and isinstance(write.result(), Appended):
            return
        self._write = write
        write.add_done_callback(partial(self._written, self._shard))

    def _written(self, shard: GroupShard | None, write: asyncio.Future[Appended | AppendRefused]) -> None:
        if self._write is write:
            self._write = None
        outcome = write.result()
        # One that was thrown away meanwhile has failed already.
        if self._shard is shard and not isinstance(outcome, Appended):
            self._write_failed(outcome)

    def _reply_when_safe(self, replies: tuple[Reply, ...]) -> None:
        if self._write is None:
            self._reply(replies)
        else:
            # Callbacks run in the order they were added: after `_written`, which refuses everybody on failure.
            self._write.add_done_callback(lambda _: self._reply(replies))

    def _reply(self, replies: tuple[Reply, ...]) -> None:
        for reply in replies:
            answer = self._waiting.pop(reply.token, None)
            if answer is not None and not answer.done():
                answer.set_result(reply.answer)

    def _abandon(self, refusal: Refused) -> None:
        """The shard is no more, and what it parked is refused."""
        self._shard = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            if not answer.done():
                answer.set_result(refusal)

    # -- time -----------------------------------------------------------------------------------------------

    def _arm(self) -> None:
        """Sees to it that `_expire` runs when the next deadline comes, or earlier."""
        due_ms = None if self._shard is None else self._shard.next_deadline()
        if due_ms is None or (self._timer is not None and self._timer_ms <= due_ms):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = due_ms
        delay_s = max(due_ms - self._now_ms(), 0) / 1000
        self._timer = asyncio.get_running_loop().call_later(delay_s, self._expire)

    def _expire(self) -> None:
        self._timer = None
        try:
            while self._shard is not None:
                now_ms = self._now_ms()
                outcome = self._shard.expire(now_ms)
                if outcome is None:
                    return self._arm()
                self._carry_out(outcome, self._records(outcome.facts, now_ms), now_ms)
        except Exception as failure:  # noqa: BLE001 - a supervisor: the deadline would come again and again
            self._broken("a deadline", failure)

    # -- loading --------------------------------------------------------------------------------------------

    def _new_shard(self) -> GroupShard:
        largest = self._batch_bytes_max() * 9 // 10  # the rest is for the batch around the record
        limits = replace(self._limits, record_bytes_max=min(self._limits.record_bytes_max, largest))
        return GroupShard(limits, self._cluster)

    def _load_steps(self) -> Iterator[list[GroupFact]]:
        for step in read_batches(self.partition.log, lambda header: True):
            yield [fact for batch in step for fact in self._facts(batch)]

    def _facts(self, batch: ReadBatch) -> Iterator[GroupFact]:
        header = batch.header
        if header.is_control:
            if batch.marker is not None:
                yield TransactionalOffsetsEnded(ProducerId(header.producer_id), batch.marker.is_commit)
            return
        for record in batch.records:
            fact = self._fact(record)
            if header.is_transactional and isinstance(fact, OffsetCommitted):
                producer = ProducerId(header.producer_id), header.producer_epoch
                yield TransactionalOffset(fact.group_id, fact.partition, fact.committed, *producer)
            elif fact is not None:
                yield fact

    def _fact(self, record: Record) -> GroupFact | None:
        try:
            return decode_fact(record)
        except DecodeError as bad:
            # Written by something newer than us, or not by a coordinator at all: skipping it loses one key.
            log.error("unreadable group record", partition=self.partition.name, offset=record.offset, why=bad)
            return None

    def _replay_step(self, shard: GroupShard, step: list[GroupFact]) -> None:
        now_ms = self._now_ms()
        for fact in step:
            shard.replay(fact, now_ms)

    def _begin(self, shard: GroupShard) -> None:
        now_ms = self._now_ms()
        outcome = shard.start(now_ms)
        self._carry_out(outcome, self._records(outcome.facts, now_ms), now_ms)
