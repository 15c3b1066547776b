"""The owner of one partition of ``__transaction_state``: runs its transaction shard against its log and the clock.

A command is decided, its facts are encoded, appended and replayed, all at once and in the log's order; its answer goes
out when everything appended so far is safe, so nobody is told of what a crash could still take back.

Once the decision about a transaction is safe, and no sooner, its markers are written, in a task of their own; then the
shard is told, which completes it. A shard that has been read anew writes the decisions it finds down again before it
goes on: they may have been read before they were safe, and a marker must not survive the decision behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial

from leaselog.broker.coordinators.log import Unwritable, read_back, records_of
from leaselog.broker.coordinators.owner import CoordinatorOwner
from leaselog.broker.records.partition import Partition
from leaselog.broker.records.portions import portions
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.broker.transactions.records import decode_transaction_fact, encode_transaction_fact
from leaselog.coordination.transaction_commands import (
    MarkersWritten,
    ProducerEpoch,
    TransactionAnswer,
    TransactionCommand,
)
from leaselog.coordination.transaction_facts import Transaction, TransactionFact, TransactionStored
from leaselog.coordination.transaction_shard import TransactionLimits, TransactionShard
from leaselog.log import Appended, AppendRefused, Origin
from leaselog.model import BrokenInvariant, ErrorCode, Refused, TransactionalId
from leaselog.wire.errors import DecodeError
from leaselog.wire.records import Record, build_batch

__all__ = ["TransactionOwner", "WriteMarkers"]

#: returns when every partition of the transaction has its marker, safely, or is no more
WriteMarkers = Callable[[Transaction], Awaitable[None]]

#: commands whose answers are not out yet; past it they are refused with an error that clients retry
MAX_WAITING = 100_000

log = StructuredLog("transactions")

OVERLOADED = Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "too many requests wait for this coordinator")
CANNOT = Refused(ErrorCode.UNKNOWN_SERVER_ERROR)

_Answer = asyncio.Future[TransactionAnswer]


class TransactionOwner(CoordinatorOwner[TransactionShard, list[TransactionFact]]):
    SUBJECT = "transaction state"
    NOT_LOADED = Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    STOPPED = Refused(ErrorCode.NOT_COORDINATOR)

    def __init__(
        self,
        partition: Partition,
        limits: TransactionLimits,
        write_markers: WriteMarkers,
        *,
        now_ms: Callable[[], int],
        version: Callable[[], int],
    ) -> None:
        """``version`` is the cluster's transaction.version as it is now."""
        super().__init__(partition, log)
        self._limits = limits
        self._write_markers = write_markers
        self._now_ms = now_ms
        self._version = version
        #: answers that wait for the disk
        self._waiting: dict[_Answer, None] = {}
        #: the latest append, if it is not known to be safe yet
        self._write: asyncio.Future[Appended | AppendRefused] | None = None
        #: who writes markers, by transactional id
        self._finishing: dict[TransactionalId, asyncio.Task[None]] = {}

    # -- what others ask ------------------------------------------------------------------------------------

    def ask(self, command: TransactionCommand) -> _Answer:
        """Decides the command now; the answer comes when it is safe."""
        answer: _Answer = asyncio.get_running_loop().create_future()
        shard = self._shard
        if shard is None:
            answer.set_result(self._refusal)
            return answer
        if len(self._waiting) >= MAX_WAITING:
            answer.set_result(OVERLOADED)
            return answer
        now_ms = self._now_ms()
        try:
            outcome = shard.handle(command, now_ms, version=self._version())
            records = self._records(outcome.facts, now_ms)
        except Unwritable as why:
            answer.set_result(CANNOT)
            log.warning("a command cannot be written down", partition=self.partition.name, why=why)
            return answer
        except Exception:  # a supervisor: nothing has changed, and others can go on
            answer.set_result(CANNOT)
            log.exception("a command cannot be decided", partition=self.partition.name)
            return answer
        self._waiting[answer] = None
        try:
            self._carry_out(shard, outcome.facts, records, now_ms)
        except Exception as failure:  # noqa: BLE001 - a supervisor: half of it may be done
            self._broken(f"{command!r:.500}", failure)
        else:
            self._when_safe(lambda: self._answer(answer, outcome.answer))
        return answer

    def find(self, transactional_id: TransactionalId) -> Transaction | None:
        """As it was decided last, safe or not."""
        return None if self._shard is None else self._shard.find(transactional_id)

    async def finished(self, transactional_id: TransactionalId, patience_s: float) -> None:
        """Returns when the transaction that is ending is over, or after that long."""
        finishing = self._finishing.get(transactional_id)
        if finishing is not None:
            await asyncio.wait([finishing], timeout=patience_s)

    # -- what is told of it ---------------------------------------------------------------------------------

    def counts(self) -> tuple[int, int, int]:
        """Ids, open transactions, and those whose markers are being written."""
        shard = self._shard
        return (0, 0, 0) if shard is None else (len(shard), shard.ongoing_count(), len(shard.unfinished()))

    # -- running --------------------------------------------------------------------------------------------

    def _records(self, facts: Iterable[TransactionFact], now_ms: int) -> list[Record]:
        version = self._version()
        return records_of(
            facts,
            lambda fact: encode_transaction_fact(fact, now_ms, version=version),
            self._batch_bytes_max(),
        )

    def _batch_bytes_max(self) -> int:
        return self.partition.log.config.max_message_bytes

    def _carry_out(
        self, shard: TransactionShard, facts: Iterable[TransactionFact], records: list[Record], now_ms: int
    ) -> None:
        for batch in portions(records, self._batch_bytes_max()):
            self._append(build_batch(batch), now_ms)
        for fact in facts:
            shard.replay(fact)
            if isinstance(fact, TransactionStored) and fact.transaction.state.is_prepared:
                self._when_safe(partial(self._finish, shard, fact))

    def _append(self, batch: bytearray, now_ms: int) -> None:
        write = self.partition.append(batch, now_ms=now_ms, origin=Origin.COORDINATOR)
        if write.done() and isinstance(write.result(), Appended):
            return
        self._write = write
        write.add_done_callback(partial(self._written, self._shard))

    def _written(
        self, shard: TransactionShard | None, write: asyncio.Future[Appended | AppendRefused]
    ) -> None:
        if self._write is write:
            self._write = None
        outcome = write.result()
        # One that was thrown away meanwhile has failed already.
        if self._shard is shard and not isinstance(outcome, Appended):
            self._write_failed(outcome)

    def _when_safe(self, act: Callable[[], None]) -> None:
        """Callbacks run in the order they were added: after `_written`, which refuses everybody on failure."""
        if self._write is None:
            act()
        else:
            self._write.add_done_callback(lambda _: act())

    def _answer(self, answer: _Answer, what: TransactionAnswer) -> None:
        if answer in self._waiting:
            del self._waiting[answer]
            if not answer.done():
                answer.set_result(what)

    def _abandon(self, refusal: Refused) -> None:
        """The shard is no more: what it decided and is not safe may never have been."""
        self._shard = None
        self._write = None
        waiting, self._waiting = self._waiting, {}
        for answer in waiting:
            if not answer.done():
                answer.set_result(refusal)
        finishing, self._finishing = self._finishing, {}
        for task in finishing.values():
            task.cancel()

    # -- ends -----------------------------------------------------------------------------------------------

    def _finish(self, shard: TransactionShard, decided: TransactionStored) -> None:
        if self._shard is not shard:
            return
        name, known = decided.transactional_id, decided.transaction
        task = asyncio.get_running_loop().create_task(self._see_to_markers(shard, name, known))
        self._finishing[name] = task
        task.add_done_callback(partial(self._finished, shard, name))

    async def _see_to_markers(
        self, shard: TransactionShard, name: TransactionalId, known: Transaction
    ) -> None:
        await self._write_markers(known)
        if self._shard is shard:
            # Nobody waits for this to be safe: what is lost of it is found unfinished, and is finished again.
            self.ask(MarkersWritten(name, ProducerEpoch(known.producer_id, known.epoch)))

    def _finished(self, shard: TransactionShard, name: TransactionalId, task: asyncio.Task[None]) -> None:
        if self._finishing.get(name) is task:
            del self._finishing[name]
        if self._shard is shard and not task.cancelled() and (failure := task.exception()) is not None:
            self._broken(
                f"the end of {name!r:.200}", failure if isinstance(failure, Exception) else BrokenInvariant()
            )

    # -- loading --------------------------------------------------------------------------------------------

    def _new_shard(self) -> TransactionShard:
        return TransactionShard(self._limits)

    def _load_steps(self) -> Iterator[list[TransactionFact]]:
        for step in read_back(self.partition.log, lambda header: not header.is_control):
            yield [fact for record in step if (fact := self._fact(record)) is not None]

    def _fact(self, record: Record) -> TransactionFact | None:
        try:
            return decode_transaction_fact(record)
        except DecodeError as bad:
            # Written by something newer than us, or not by a coordinator at all: skipping it loses one key.
            log.error(
                "unreadable transaction record", partition=self.partition.name, offset=record.offset, why=bad
            )
            return None

    def _replay_step(self, shard: TransactionShard, step: list[TransactionFact]) -> None:
        for fact in step:
            shard.replay(fact)

    def _begin(self, shard: TransactionShard) -> None:
        again = [TransactionStored(name, known) for name, known in shard.unfinished()]
        now_ms = self._now_ms()
        self._carry_out(shard, again, self._records(again, now_ms), now_ms)
