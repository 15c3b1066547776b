"""The owner of one share partition: one topic partition as one group consumes it, on the node that leads it.

Runs the share machine: commands go in, its effects are carried out, and what became of a write goes back in as one more
command. Everything happens on the event loop and nothing waits, so there is no lock: whoever must wait is called back.

The state is read from the persister before anything else. An owner ends when its group has nobody here any more, when
the topic is gone, when a newer leader or new offsets have fenced it, or when its state turns out impossible; the next
fetch makes a new one. Leases are not durable: an owner that ends takes them with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar, assert_never

from leaselog.broker.config import GroupConfig
from leaselog.broker.lending.errors import ENDS_OWNER, as_members_are_told, outcome_of
from leaselog.broker.lending.feature import has_dead_letters
from leaselog.broker.lending.lease_timer import LeaseTimer
from leaselog.broker.lending.limits import limits_of
from leaselog.broker.lending.loading import machine_of
from leaselog.broker.lending.local_group import Line, LocalGroup
from leaselog.broker.lending.reading import ShareReader
from leaselog.broker.lending.support import LendingSupport
from leaselog.broker.records.partition import Partition
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.coordination.share_state_commands import ReadState, StateRead, WriteState, Written
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import BrokenInvariant, ErrorCode, GroupId, MemberId, Refused
from leaselog.share import (
    EVEN_CHANCE,
    Acknowledge,
    Acknowledged,
    AcknowledgementBatch,
    AcknowledgeType,
    Acquire,
    Acquired,
    AcquiredRange,
    AcquireMode,
    Answer,
    ChangeLimits,
    Command,
    DeadLettersEnded,
    Expire,
    Limits,
    MoveLogStart,
    Persist,
    Persisted,
    ReleaseMember,
    SharePartition,
    TopicIdPartition,
    WakeFetchers,
    WriteDeadLetters,
    WriteToken,
)
from leaselog.wire.primitives import Buffer

__all__ = ["Acquisition", "Report", "SharePartitionOwner"]

A = TypeVar("A")

#: into so many parts chance is cut where pauses are spread
_CHANCES = 1001

READ_COMMITTED = "read_committed"
#: what became of an acknowledgement: None when it is safe
Report = Callable[[Refused | None], None]

NOT_LOADED = Refused(
    ErrorCode.INVALID_RECORD_STATE,
    "Batch record not found. The request batch offsets are not found in the cache.",
)
NO_RENEWAL = Refused(
    ErrorCode.INVALID_RECORD_STATE, "Renewing acquisition locks is not enabled for the group."
)

log = StructuredLog("share")


class Acquisition(NamedTuple):
    """What one fetch got of one partition: whole batches, and which of their records are the member's."""

    records: Buffer = b""
    ranges: tuple[AcquiredRange, ...] = ()
    record_count: int = 0


NOTHING_ACQUIRED = Acquisition()


class SharePartitionOwner:
    __slots__ = (
        "_config",
        "_counted",
        "_ended",
        "_group",
        "_is_left",
        "_log_start",
        "_names_dead_letters",
        "_reader",
        "_reports",
        "_started_ms",
        "_state_epoch",
        "_support",
        "_timer",
        "at",
        "failure",
        "is_over",
        "key",
        "lines",
        "machine",
        "news_at",
        "partition",
    )

    def __init__(
        self,
        group_id: GroupId,
        at: TopicIdPartition,
        partition: Partition,
        support: LendingSupport,
        group: LocalGroup[SharePartitionOwner, Any],
        *,
        ended: Callable[[SharePartitionOwner], None],
    ) -> None:
        self.key = SharePartitionKey(group_id, at.topic_id, at.partition)
        self.at = at
        self.partition = partition
        #: the sessions that fetch from it, and when something last happened here, as the group counts: it keeps both
        self.lines: tuple[Line, ...] = ()
        self.news_at = 0
        #: None until the state has been read
        self.machine: SharePartition | None = None
        #: no longer the owner; leases are void, what was asked before is still answered
        self.is_over = False
        #: why it ended, for fetches that wait for it
        self.failure = ErrorCode.NONE
        self._support = support
        self._group = group
        self._ended = ended
        self._reader = ShareReader(partition.log, support.kept_reads)
        self._state_epoch = 0
        self._config: GroupConfig = support.cluster.configuration.group(group_id)
        #: whether the configuration has a topic for them; the machine has them if the feature is on, too
        self._names_dead_letters = False
        self._reader.read_committed(self._config.share_isolation_level == READ_COMMITTED)
        self._log_start = 0
        self._reports: dict[WriteToken, Report] = {}
        self._timer = LeaseTimer()
        #: of the machine's accepted and failed records, those that were told
        self._counted = (0, 0, 0)
        self._started_ms = support.runtime.monotonic_ms()
        self._is_left = False

    # -- life -----------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Reads the state; fetches that wait for this owner look again when it is there, or when it cannot be had."""
        self._support.waiting_room.follow(self.partition, self)
        read = self._support.persister.read(ReadState(self.key, self.partition.leader_epoch))
        if read.done():
            self._loaded(read)
        else:
            read.add_done_callback(self._loaded)

    def _loaded(self, read: asyncio.Future[StateRead | Refused]) -> None:
        answer = outcome_of(read)
        if self.is_over:
            return
        if isinstance(answer, StateRead):
            answer = self._begin(answer)
        if isinstance(answer, Refused):
            log.warning(
                "share state cannot be read", key=self.key, error=answer.code.name, why=answer.message
            )
            self.end(as_members_are_told(answer.code))
            return
        self._support.metrics.loaded((self._support.runtime.monotonic_ms() - self._started_ms) / 1000)
        self._handle(Expire())  # dead letters of the leader before
        self._group.changed(self)

    def _begin(self, read: StateRead) -> Refused | StateRead:
        machine = machine_of(read, self.partition, self._support, self._config, self._limits())
        if isinstance(machine, Refused):
            return machine
        self.machine = machine
        self._state_epoch, self._log_start = read.state_epoch, self.partition.log.start_offset
        return read

    def end(self, failure: ErrorCode = ErrorCode.NONE) -> None:
        """Stops being the owner. Writes under way are still waited for by those who asked for them."""
        if self.is_over:
            return
        self.is_over, self.failure = True, failure
        self._support.waiting_room.unfollow(self.partition, self)
        self._reader.forget_kept()
        self._timer.cancel()
        self._ended(self)

    def leave(self) -> None:
        """Nobody of the group is here any more: ends, when what it was asked to put aside is put aside."""
        self._is_left = True
        self._end_if_left()

    def come_back(self) -> None:
        """Somebody of the group is here again."""
        self._is_left = False

    def _end_if_left(self) -> None:
        if self._is_left and (self.machine is None or not self.machine.has_dead_letters_on_their_way):
            self.end()

    def woken(self) -> None:
        """The partition has new records, or begins later."""
        if not self.is_over:
            self._group.something_to_have(self)

    # -- what members ask -----------------------------------------------------------------------------------

    def can_give(self) -> bool:
        """Is there something to acquire now? No while the state is being read, or the group is paused."""
        machine = self.machine
        if machine is None or self.is_over:
            return False
        self._catch_up(machine)
        if self._is_paused():
            return False
        offset = machine.next_fetch_offset
        return offset < self._reader.visible_end and (offset < machine.end or not machine.is_full)

    def _is_paused(self) -> bool:
        return self._support.delivery.is_paused(self.key.group_id, self._config)

    def is_owed_by(self, member: MemberId) -> bool:
        """Has the member records that it has not acknowledged?"""
        return self.machine is not None and self.machine.is_owed_by(member)

    def holds_for(self, member: MemberId) -> bool:
        """Has the member records leased?"""
        return self.machine is not None and self.machine.holds_for(member)

    def readable_bytes(self, wanted_bytes: int) -> int:
        """How many bytes the next acquisition may read, counted up to those wanted."""
        if self.machine is None:
            return 0
        return self._reader.readable_bytes(self.machine.next_fetch_offset, wanted_bytes)

    def acquire(
        self,
        member: MemberId,
        *,
        max_records: int,
        batch_size: int,
        mode: AcquireMode,
        max_bytes: int,
        min_one_batch: bool,
    ) -> Acquisition | Refused:
        """Leases records to the member; nothing if there is nothing to have. Refuses what reading the log refuses."""
        machine = self.machine
        # It may be paused by now: a lease of another partition can have tripped the breaker.
        if machine is None or self.is_over or self._is_paused():
            return NOTHING_ACQUIRED
        offset = machine.next_fetch_offset
        read = self._reader.read(
            offset, records=max_records, max_bytes=max_bytes, min_one_batch=min_one_batch
        )
        if isinstance(read, Refused):
            return self._unreadable(read)
        if not read.spans:
            return NOTHING_ACQUIRED
        answer = self._handle(
            Acquire(member, offset, tuple(read.spans), max_records, max(1, batch_size), mode, read.withheld)
        )
        if isinstance(answer, Refused):
            return answer
        assert isinstance(answer, Acquired)
        if not answer.ranges:
            return NOTHING_ACQUIRED
        records = read.covering(answer.ranges[0].span.start, answer.ranges[-1].span.end)
        return Acquisition(records, answer.ranges, answer.record_count)

    def _unreadable(self, refused: Refused) -> Acquisition | Refused:
        """A log that begins later now is no error of the fetch's: the window moves along, and it looks again."""
        if refused.code is not ErrorCode.OFFSET_OUT_OF_RANGE:
            return refused
        if self.machine is not None:
            self._catch_up(self.machine)
        return NOTHING_ACQUIRED

    def acknowledge(
        self, member: MemberId, batches: tuple[AcknowledgementBatch, ...], report: Report
    ) -> None:
        """Reports once, now or when the outcome is safe: all of the batches, or a refusal of all of them."""
        machine = self.machine
        if machine is None or self.is_over:
            report(NOT_LOADED)
            return
        self._catch_up(machine)
        if not self._config.share_renew_acknowledge_enable and _renews(batches):
            report(NO_RENEWAL)
            return
        answer = self._handle(Acknowledge(member, batches))
        if isinstance(answer, Acknowledged) and answer.token is not None:
            self._reports[answer.token] = report
        else:
            report(answer if isinstance(answer, Refused) else None)

    def release(self, member: MemberId) -> None:
        """The member's share session is over: what it holds is released, by and by."""
        if self.machine is not None and not self.is_over and self.machine.holds_for(member):
            self._handle(ReleaseMember(member))

    # -- running the machine --------------------------------------------------------------------------------

    def _catch_up(self, machine: SharePartition) -> None:
        """Tells the machine of settings that changed and of a log that begins later: looked at, not announced."""
        config = self._support.cluster.configuration.group(self.key.group_id)
        if config is not self._config or self._names_dead_letters is not machine.limits.has_dead_letters:
            self._config = config
            self._reader.read_committed(config.share_isolation_level == READ_COMMITTED)
            limits = self._limits()
            if limits != machine.limits:
                self._handle(ChangeLimits(limits))
        start = self.partition.log.start_offset
        if start != self._log_start:
            self._log_start = start
            self._handle(MoveLogStart(start))

    def _handle(self, command: Command) -> Answer:
        """Nothing happens once the owner has ended: the state is somebody else's, who may have begun anew."""
        machine = self.machine
        assert machine is not None
        if self.is_over:
            return NOT_LOADED
        chance = EVEN_CHANCE if machine.limits.backoff is None else self._chance()
        try:
            outcome = machine.handle(command, int(self._support.runtime.monotonic_ms()), chance)
        except BrokenInvariant as broken:
            log.error("share partition is impossible, reading it anew", key=self.key, why=broken)
            self.end(ErrorCode.UNKNOWN_SERVER_ERROR)
            return Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
        for effect in outcome.effects:
            match effect:
                case Persist():
                    self._persist(effect)
                case WriteDeadLetters():
                    self._send(effect)
                case WakeFetchers():
                    self._group.something_to_have(self)
                case _:
                    assert_never(effect)
        if machine.first_end_ms < self._timer.at_ms and not self.is_over:
            self._timer.set(machine.next_deadline_ms, self._expire)
        finished = machine.finished_counts
        if finished != self._counted:
            accepted, failed, given_up = (
                now - before for now, before in zip(finished, self._counted, strict=True)
            )
            self._counted = finished
            self._support.delivery.finished(self.key.group_id, accepted, failed)
            if given_up:
                self._support.delivery.gave_up(self.key, self.partition.name, given_up)
        return outcome.answer

    def _chance(self) -> float:
        """The chance in the pauses of what fails now."""
        return self._support.runtime.machine.random_below(_CHANCES) / (_CHANCES - 1)

    def _send(self, effect: WriteDeadLetters) -> None:
        if not self.is_over:  # or else whoever reads the state next sends them
            done = partial(self._sent, effect.token)
            self._support.dead_letters.send(self.key.group_id, self.partition, effect.letters, done)

    def _sent(self, token: WriteToken) -> None:
        if not self.is_over:
            self._handle(DeadLettersEnded(token))
            self._end_if_left()

    def _persist(self, effect: Persist) -> None:
        write = self._support.persister.write(
            WriteState(
                self.key,
                state_epoch=self._state_epoch,
                leader_epoch=self.partition.leader_epoch,
                start_offset=effect.start_offset,
                delivery_complete_count=effect.delivery_complete_count,
                batches=self._support.due_times.kept(effect.spans),
            )
        )
        # never at once: whoever asked for this has not said yet whom to tell
        write.add_done_callback(partial(self._written, effect.token))

    def _written(self, token: WriteToken, write: asyncio.Future[Written | Refused]) -> None:
        answer = outcome_of(write)
        refused = answer if isinstance(answer, Refused) else None
        if refused is not None:
            log.warning(
                "share state cannot be written", key=self.key, error=refused.code.name, why=refused.message
            )
        self._handle(Persisted(token, ok=refused is None))  # which is nothing to an owner that has ended
        report = self._reports.pop(token, None)
        if report is not None:
            report(None if refused is None else Refused(as_members_are_told(refused.code), refused.message))
        if refused is not None and refused.code in ENDS_OWNER:
            self.end(as_members_are_told(refused.code))
        self._end_if_left()

    def _limits(self) -> Limits:
        config = self._config
        names_topic = self._names_dead_letters = bool(config.errors_deadletterqueue_topic_name)
        limits = limits_of(config, has_dead_letters=names_topic and has_dead_letters(self._support.cluster))
        return self._group.shared(limits)

    def _expire(self) -> None:
        self._handle(Expire())


def _renews(batches: tuple[AcknowledgementBatch, ...]) -> bool:
    return any(AcknowledgeType.RENEW in batch.types for batch in batches)
