"""The owner of the share state that is kept in one partition: runs its shard against the partition's log.

How facts lie in the log is the ledger's business: as records of ``__share_group_state``, or as control records among
the very records they are about.

A command is decided and its facts are encoded, then replayed at once: one that cannot be encoded is refused alone, and
spoils nothing for those whose facts share its turn. All facts of one turn of the event loop, whoever asked and about
whichever share partition, go into the log together at the end of the turn: one append and, since the flusher takes
whatever is there, one sync. Nobody waits for a timer. Answers go out when everything decided so far is safe, so nobody
is told of what a crash could still take back.

If anything fails from there on the shard is read anew (see ``coordinator_owner``), also when the topic was deleted and
made anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from leaselog.broker.coordinators.log import Unwritable
from leaselog.broker.coordinators.owner import CoordinatorOwner
from leaselog.broker.records.partition import Partition
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.broker.share_state.ledger import Entry, LoadStep, ShareLedger
from leaselog.coordination.share_state_commands import (
    ShareStateAnswer,
    ShareStateCommand,
    ShareSummary,
    Written,
)
from leaselog.coordination.share_state_facts import SharePartitionKey, ShareSnapshot
from leaselog.coordination.share_state_shard import ShareStateLimits, ShareStateShard
from leaselog.log import Appended, AppendRefused, Durability, Origin
from leaselog.model import BrokenInvariant, ErrorCode, Refused, TopicId
from leaselog.wire.primitives import LONGEST_TEXT_BYTES

__all__ = ["ShareStateCounts", "ShareStateOwner"]

#: what one stretch of offsets takes in a record, with the time until which it waits
STATE_BATCH_BYTES = 31
#: answers that are not out yet; past it commands are refused with an error that is tried again
MAX_WAITING = 100_000
#: Kafka's default
WRITE_TIMEOUT_S = 5.0
#: snapshots of cold keys written before other work gets its turn
COLD_STEP = 256

log = StructuredLog("share state")

TOO_LATE = Refused(
    ErrorCode.COORDINATOR_NOT_AVAILABLE, "the write takes longer than share.coordinator.write.timeout.ms"
)
OVERLOADED = Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "too many requests wait for this coordinator")
CANNOT = Refused(ErrorCode.UNKNOWN_SERVER_ERROR)


@dataclass(slots=True)
class ShareStateCounts:
    """What has been written by all owners together, for whoever shows it."""

    #: records, as in Kafka's write-total
    written: int = 0
    appends: int = 0
    #: from the decision to its safety, added up over records
    write_s: float = 0.0
    longest_write_s: float = 0.0
    #: share partitions whose state was ahead of their log when that was opened
    cut: int = 0

    def wrote(self, records: int, seconds: float) -> None:
        self.written += records
        self.appends += 1
        self.write_s += records * seconds
        self.longest_write_s = max(self.longest_write_s, seconds)


_Answer = asyncio.Future[ShareStateAnswer]
_Promise = tuple[_Answer, ShareStateAnswer]


@dataclass(slots=True)
class _Turn:
    """What this turn of the loop has decided."""

    #: where the log ended when the turn's first fact was replayed, and when that was
    start: int
    began_s: float
    entries: list[Entry] = field(default_factory=list)
    promises: list[_Promise] = field(default_factory=list)


@dataclass(slots=True)
class _Write:
    began_s: float
    promises: list[_Promise] = field(default_factory=list)


class ShareStateOwner(CoordinatorOwner[ShareStateShard, LoadStep]):
    SUBJECT = "share state"
    NOT_LOADED = Refused(
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "The coordinator is loading and hence can't process requests."
    )
    STOPPED = Refused(ErrorCode.NOT_COORDINATOR, "This is not the correct coordinator.")

    def __init__(
        self,
        partition: Partition,
        ledger: ShareLedger,
        limits: ShareStateLimits,
        *,
        now_ms: Callable[[], int],
        counts: ShareStateCounts | None = None,
        write_timeout_s: float = WRITE_TIMEOUT_S,
    ) -> None:
        super().__init__(partition, log)
        self._counts = counts or ShareStateCounts()
        self._ledger = ledger
        self._limits = limits
        self._now_ms = now_ms
        self._turn: _Turn | None = None
        #: (end, needed from) when the log went up to that end, part of which was not safe yet; for `prune`
        self._needed: tuple[int, int] | None = None
        #: appended and not known to be safe, with what is promised for then, in order
        self._writes: dict[asyncio.Future[Appended | AppendRefused], _Write] = {}
        self._write_timeout_s = write_timeout_s
        self._late: asyncio.TimerHandle | None = None
        self._waiting_count = 0

    # -- what others ask ------------------------------------------------------------------------------------

    def ask(self, command: ShareStateCommand, *, exists: bool = True) -> _Answer:
        """Decides the command now; the answer comes when it is safe. ``exists``: the cluster has the partition."""
        answer: _Answer = asyncio.get_running_loop().create_future()
        shard = self._shard
        if shard is None:
            answer.set_result(self._refusal)
            return answer
        if self._waiting_count >= MAX_WAITING:
            answer.set_result(OVERLOADED)
            return answer
        now_ms = self._now_ms()
        try:
            outcome = shard.handle(command, now_ms, exists=exists)
            entries = self._ledger.entries(outcome.facts, now_ms) if outcome.facts else ()
        except BrokenInvariant as broken:
            answer.set_result(CANNOT)
            self._broken(f"{command!r:.500}", broken)
        except Unwritable as why:
            answer.set_result(CANNOT)
            log.warning("a command cannot be written down", partition=self.partition.name, why=why)
        except Exception:  # a supervisor: nothing has changed, and others can go on
            answer.set_result(CANNOT)
            log.exception("a command cannot be decided", partition=self.partition.name)
        else:
            if self._decided(entries):
                self._promise(answer, outcome.answer)
            else:
                answer.set_result(CANNOT)
        return answer

    async def settled(self) -> bool:
        """Returns when all that is decided so far is safe; False if it is not, or nobody knows in time."""
        if self._shard is None:
            return False
        answer: _Answer = asyncio.get_running_loop().create_future()
        self._promise(answer, Written())
        return isinstance(await answer, Written)

    def stop(self) -> None:
        """Writes what is decided, refuses whoever waits, and everybody from now on."""
        if self._turn is not None:
            self._write_turn()
        super().stop()
        if self._late is not None:
            self._late.cancel()

    def topic_ids(self) -> set[TopicId]:
        """Of all topics it knows something about."""
        return set() if self._shard is None else self._shard.topic_ids()

    def state_epochs(self) -> Iterator[tuple[SharePartitionKey, int]]:
        """Of every key there is."""
        return iter(()) if self._shard is None else self._shard.state_epochs()

    def kept_keys(self) -> list[SharePartitionKey]:
        return [] if self._shard is None else self._shard.kept_keys()

    def summary(self, key: SharePartitionKey) -> ShareSummary | None:
        """As it was decided last, safe or not; None if nothing is kept."""
        return None if self._shard is None else self._shard.summary(key)

    def key_count(self) -> int:
        return 0 if self._shard is None else len(self._shard)

    # -- keeping the log short ------------------------------------------------------------------------------

    async def snapshot_cold(self, *, all_keys: bool = False) -> None:
        """Writes anew what has not been for long, or everything, so that `prune` gets past it."""
        shard = self._shard
        if shard is None:
            return
        cold = list(shard.snapshots()) if all_keys else shard.cold_keys(self._now_ms())
        for at in range(0, len(cold), COLD_STEP):
            if self._shard is not shard:
                return
            now_ms = self._now_ms()
            again = (shard.snapshot_again(key, now_ms) for key in cold[at : at + COLD_STEP])
            for snapshot in again:
                if snapshot is not None and not self._decided(self._writable(snapshot, now_ms)):
                    return
            await asyncio.sleep(0)

    def prune(self) -> bool:
        """Lets go of the log's beginning as far as nothing there is needed; whether it moved.

        Never past what is on disk: what takes the place of the old must not be lost after it. Where syncing is
        left to the system, this is the one thing that syncs, and the loop waits for it.
        """
        partition_log = self.partition.log
        assert self._ledger.is_alone, "the log is not only share state, and not ours to cut"
        if self._shard is None or self._turn is not None or partition_log.failure is not None:
            return False
        end = partition_log.end_offset
        needed = end, self._shard.needed_from(end)
        if partition_log.config.durability is Durability.OS and needed[1] > partition_log.start_offset:
            with suppress(OSError):
                partition_log.flush()
            self.partition.tell_failure()
        # what a snapshot takes the place of is needed until that snapshot is safe, so wait for all that was looked at
        if end > partition_log.durable_end and self._needed is not None:
            needed = self._needed
        if needed[0] > partition_log.durable_end:
            self._needed = needed
            return False
        self._needed, before = None, needed[1]
        if before <= partition_log.start_offset:
            return False
        outcome = partition_log.delete_records(before)
        self.partition.tell_failure()  # or nobody would open it anew: it may have failed behind the cut
        if isinstance(outcome, Refused):
            log.error("share state cannot be pruned", partition=self.partition.name, why=outcome.message)
            return False
        log.info("share state pruned", partition=self.partition.name, start=outcome)
        return True

    # -- running --------------------------------------------------------------------------------------------

    def _writable(self, snapshot: ShareSnapshot, now_ms: int) -> Sequence[Entry]:
        """Nothing if it cannot be written: the log is kept from where it was last."""
        try:
            return self._ledger.entries((snapshot,), now_ms)
        except Unwritable as why:
            log.warning("a snapshot cannot be written", partition=self.partition.name, why=why)
            return ()

    def _decided(self, entries: Sequence[Entry]) -> bool:
        """Replays them, and sees to it that they are written when the turn ends; False if that broke the shard."""
        shard = self._shard
        assert shard is not None
        for entry in entries:
            turn = self._turn
            if turn is None:
                loop = asyncio.get_running_loop()
                turn = self._turn = _Turn(self.partition.log.end_offset, loop.time())
                loop.call_soon(self._write_turn)
            try:
                shard.replay(entry[0], turn.start + len(turn.entries))
            except Exception as failure:  # noqa: BLE001 - a supervisor: it may have changed by half
                self._broken(f"{entry[0]!r:.500}", failure)
                return False
            turn.entries.append(entry)
        return True

    def _promise(self, answer: _Answer, what: ShareStateAnswer) -> None:
        """The answer goes out behind everything decided before it."""
        self._waiting_count += 1
        if self._turn is not None:
            self._turn.promises.append((answer, what))
        elif self._writes:
            next(reversed(self._writes.values())).promises.append((answer, what))
        else:
            self._keep([(answer, what)])

    def _write_turn(self) -> None:
        turn, self._turn = self._turn, None
        if turn is None:
            return
        try:
            writes = self._append(turn)
        except Exception as failure:  # noqa: BLE001 - a supervisor: nobody knows how much of it is in the log
            self._refuse(turn.promises, OVERLOADED if isinstance(failure, BrokenInvariant) else CANNOT)
            self._broken("a write", failure)
            return
        for write in writes:
            self._writes[write] = _Write(turn.began_s)
        self._writes[writes[-1]].promises = turn.promises
        if self._late is None:
            self._watch(turn.began_s)
        writes[-1].add_done_callback(lambda write: self._count(write, turn))
        for write in writes:
            if write.done():
                self._written(write)
            else:
                write.add_done_callback(self._written)

    def _append(self, turn: _Turn) -> list[asyncio.Future[Appended | AppendRefused]]:
        has_moved = self.partition.log.end_offset != turn.start and self.partition.log.failure is None
        if self._ledger.is_alone and has_moved:
            # Somebody else wrote to the topic: what was replayed is not where the shard believes it to be.
            raise BrokenInvariant(f"the log has moved on from {turn.start}")
        now_ms = self._now_ms()
        return [
            self.partition.append(batch, now_ms=now_ms, origin=Origin.COORDINATOR)
            for batch in self._ledger.batches(turn.entries, now_ms)
        ]

    def _count(self, write: asyncio.Future[Appended | AppendRefused], turn: _Turn) -> None:
        if isinstance(write.result(), Appended):
            elapsed_s = asyncio.get_running_loop().time() - turn.began_s
            self._counts.wrote(len(turn.entries), elapsed_s)

    def _batch_bytes_max(self) -> int:
        return self.partition.log.config.max_message_bytes

    def _written(self, write: asyncio.Future[Appended | AppendRefused]) -> None:
        ended = self._writes.pop(write, None)
        if ended is None:
            return  # the shard it was for is no more
        outcome = write.result()
        if isinstance(outcome, Appended):
            self._keep(ended.promises)
            return
        self._writes = {write: ended, **self._writes}  # refused with all the others, and first
        self._write_failed(outcome)

    def _watch(self, began_s: float) -> None:
        """One timer, for the oldest write; it stays where it is when that ends in time, as nearly all do."""
        loop = asyncio.get_running_loop()
        self._late = loop.call_at(began_s + self._write_timeout_s, self._give_up_late)

    def _give_up_late(self) -> None:
        """Who waits too long is told to try again. The write goes on: what it says may well be safe in the end, and
        whoever tries again says the same."""
        now_s = asyncio.get_running_loop().time()
        self._late, late_s = None, now_s - self._write_timeout_s
        for write in self._writes.values():
            if write.began_s > late_s:
                return self._watch(write.began_s)
            promises, write.promises = write.promises, []
            self._refuse(promises, TOO_LATE)
        if self._writes:
            self._watch(now_s)  # who comes to wait behind them
        return None

    def _keep(self, promises: list[_Promise]) -> None:
        self._waiting_count -= len(promises)
        for answer, what in promises:
            if not answer.done():
                answer.set_result(what)

    def _refuse(self, promises: list[_Promise], refusal: Refused) -> None:
        self._keep([(answer, refusal) for answer, _ in promises])

    def _abandon(self, refusal: Refused) -> None:
        """The shard is no more, and nobody is told that what is not safe yet went well."""
        self._needed = None
        self._shard = None
        turn, self._turn = self._turn, None
        writes, self._writes = self._writes, {}
        for write in writes.values():
            self._refuse(write.promises, refusal)
        if turn is not None:
            self._refuse(turn.promises, refusal)

    # -- loading --------------------------------------------------------------------------------------------

    def _new_shard(self) -> ShareStateShard:
        fits = (self._batch_bytes_max() - LONGEST_TEXT_BYTES - 1024) // STATE_BATCH_BYTES
        return ShareStateShard(replace(self._limits, batches_max=max(1, min(self._limits.batches_max, fits))))

    def _load_steps(self) -> Iterator[LoadStep]:
        return self._ledger.load_steps()

    def _replay_step(self, shard: ShareStateShard, step: LoadStep) -> None:
        for offset, fact in step:
            shard.replay(fact, offset)
