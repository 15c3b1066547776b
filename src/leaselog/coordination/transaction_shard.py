"""The transactional ids of one partition of ``__transaction_state``: their producers, and the transaction each is in.

One owner calls ``handle`` with each command, writes the facts of the outcome, replays them here at once, and gives the
answer when they are safe. ``handle`` changes nothing, ``replay`` alone does.

A transaction ends in two steps. The decision is a fact, `PREPARE_COMMIT` or `PREPARE_ABORT`: from there on nothing
changes it. The owner then writes a marker into every partition of the transaction and says ``MarkersWritten``, which
completes it. ``unfinished`` tells what is between the two, at any time: so a coordinator that dies there goes on at the
next start, and a marker that is written twice says the same twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import assert_never

from leaselog.coordination.transaction_commands import (
    AbortOverdue,
    AddPartitions,
    DescribeTransaction,
    DropExpired,
    EndTransaction,
    InitProducer,
    ListTransactions,
    MarkersWritten,
    NeedsProducerId,
    PartitionsVerified,
    ProducerAnswer,
    ProducerEpoch,
    TransactionAnswer,
    TransactionCommand,
    TransactionDescribed,
    TransactionListing,
    Upkeep,
    VerifyPartitions,
)
from leaselog.coordination.transaction_ends import end, fenced
from leaselog.coordination.transaction_facts import (
    LAST_EPOCH,
    NO_PRODUCER,
    Transaction,
    TransactionDropped,
    TransactionFact,
    TransactionState,
    TransactionStored,
)
from leaselog.model import BrokenInvariant, ErrorCode, Refused, TransactionalId

__all__ = ["TransactionLimits", "TransactionOutcome", "TransactionShard"]

#: of what is held for an id, beside its text and its partitions
ID_BYTES = 400
PARTITION_BYTES = 150

_FULL = Refused(ErrorCode.POLICY_VIOLATION, "The coordinator keeps as many transactional ids as it may.")


@dataclass(frozen=True, slots=True)
class TransactionLimits:
    """Kafka's broker settings of the same names, with its defaults, and bounds of our own at the end."""

    max_timeout_ms: int = 900_000
    id_expiration_ms: int = 7 * 24 * 3_600_000
    #: past either, what would add to it is refused with POLICY_VIOLATION, which no client tries again
    held_bytes_max: int = 256 << 20
    partitions_max: int = 10_000


@dataclass(frozen=True, slots=True)
class TransactionOutcome:
    """``facts`` to write and to replay, then ``answer`` once they are safe."""

    answer: TransactionAnswer
    facts: tuple[TransactionFact, ...] = ()


class TransactionShard:
    def __init__(self, limits: TransactionLimits | None = None) -> None:
        self.limits = limits or TransactionLimits()
        self._transactions: dict[TransactionalId, Transaction] = {}
        #: those in the state ONGOING, and those in a PREPARE state
        self._ongoing: dict[TransactionalId, None] = {}
        self._prepared: dict[TransactionalId, None] = {}
        self._held_bytes = 0

    def __len__(self) -> int:
        return len(self._transactions)

    def replay(self, fact: TransactionFact) -> None:
        """Make it so. The same whether the fact was written just now or is read back after a restart."""
        name = fact.transactional_id
        before = self._transactions.pop(name, None)
        if before is not None:
            self._held_bytes -= _held_bytes(name, before)
            self._ongoing.pop(name, None)
            self._prepared.pop(name, None)
        if isinstance(fact, TransactionDropped):
            return
        after = self._transactions[name] = fact.transaction
        self._held_bytes += _held_bytes(name, after)
        if after.state is TransactionState.ONGOING:
            self._ongoing[name] = None
        elif after.state.is_prepared:
            self._prepared[name] = None

    def handle(self, command: TransactionCommand, now_ms: int, *, version: int = 2) -> TransactionOutcome:
        """What the command leads to. ``version``: the cluster's transaction.version. Replay the facts before the next
        command."""
        match command:
            case InitProducer():
                return self._init(command, now_ms, version)
            case AddPartitions():
                return self._add(command, now_ms)
            case VerifyPartitions():
                return TransactionOutcome(self._verify(command))
            case EndTransaction(name):
                known = self._transactions.get(name)
                return _stored(name, known, end(command, known, now_ms))
            case MarkersWritten():
                return self._complete(command, now_ms)
            case AbortOverdue():
                return self._abort_overdue(command, now_ms, version)
            case DropExpired():
                return self._drop_expired(command, now_ms)
            case DescribeTransaction():
                return TransactionOutcome(self._describe(command))
            case ListTransactions():
                return TransactionOutcome(self._list(command, now_ms))
            case _:
                assert_never(command)

    # Producers

    def _init(self, ask: InitProducer, now_ms: int, version: int) -> TransactionOutcome:
        if not ask.transactional_id:
            return _refused(ErrorCode.INVALID_REQUEST)
        if not 0 < ask.timeout_ms <= self.limits.max_timeout_ms:
            return _refused(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        known = self._transactions.get(ask.transactional_id)
        if known is None:
            return self._found(ask, now_ms)
        if ask.continues is not None and not _may_continue(ask.continues, known):
            return _refused(ErrorCode.PRODUCER_FENCED)
        if known.state.is_prepared:
            return _refused(ErrorCode.CONCURRENT_TRANSACTIONS)
        if known.state is TransactionState.ONGOING:
            # Nobody is ever told this epoch: the transaction is aborted with it, and whoever asks comes again.
            fact = TransactionStored(ask.transactional_id, fenced(known, now_ms, version))
            return TransactionOutcome(Refused(ErrorCode.CONCURRENT_TRANSACTIONS), (fact,))
        return self._renew(ask, known, now_ms)

    def _found(self, ask: InitProducer, now_ms: int) -> TransactionOutcome:
        if ask.fresh_producer_id is None:
            return TransactionOutcome(NeedsProducerId())
        fresh = ask.fresh_producer_id
        begun = Transaction(
            fresh, 0, ask.timeout_ms, TransactionState.EMPTY, now_ms, previous_producer_id=fresh
        )
        if self._held_bytes + _held_bytes(ask.transactional_id, begun) > self.limits.held_bytes_max:
            return TransactionOutcome(_FULL)
        return _given(ask.transactional_id, begun)

    def _renew(self, ask: InitProducer, known: Transaction, now_ms: int) -> TransactionOutcome:
        """The next epoch of the producer; or a new producer, where it has had the last."""
        expected = None if ask.continues is None else ask.continues.epoch
        begun = replace(
            known,
            state=TransactionState.EMPTY,
            timeout_ms=ask.timeout_ms,
            updated_ms=now_ms,
            started_ms=-1,
            partitions=frozenset(),
            previous_producer_id=known.producer_id,
            next_producer_id=NO_PRODUCER,
            last_epoch=-1 if expected is None else known.epoch,
        )
        is_over = known.epoch >= LAST_EPOCH and expected in (None, known.epoch)
        # The coordinator took the epoch behind the last to fence the producer, which may go on, but not with that one.
        if is_over or (known.epoch > LAST_EPOCH and expected == known.last_epoch):
            if ask.fresh_producer_id is None:
                return TransactionOutcome(NeedsProducerId())
            return _given(ask.transactional_id, replace(begun, producer_id=ask.fresh_producer_id, epoch=0))
        if expected in (None, known.epoch):
            return _given(ask.transactional_id, replace(begun, epoch=known.epoch + 1))
        if expected == known.last_epoch:
            # A repetition: the answer to the first was lost.
            return _given(
                ask.transactional_id, replace(begun, epoch=known.epoch, last_epoch=known.last_epoch)
            )
        return _refused(ErrorCode.PRODUCER_FENCED)

    # Partitions

    def _add(self, ask: AddPartitions, now_ms: int) -> TransactionOutcome:
        known = self._transactions.get(ask.transactional_id)
        refused = _refusal_of_producer(ask.transactional_id, ask.producer, known)
        if refused is not None or known is None:
            return TransactionOutcome(refused or Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING))
        is_open = known.state is TransactionState.ONGOING
        answer = ProducerAnswer(known.producer_id, known.epoch)
        if is_open and ask.partitions <= known.partitions:
            return TransactionOutcome(answer)
        after = replace(
            known,
            state=TransactionState.ONGOING,
            partitions=known.partitions | ask.partitions if is_open else ask.partitions,
            started_ms=known.started_ms if is_open else now_ms,
            updated_ms=now_ms,
            previous_producer_id=known.producer_id,
            client_version=ask.client_version,
        )
        if len(after.partitions) > self.limits.partitions_max:
            most = f"A transaction has {self.limits.partitions_max} partitions at most."
            return _refused(ErrorCode.POLICY_VIOLATION, most)
        more_bytes = _held_bytes(ask.transactional_id, after) - _held_bytes(ask.transactional_id, known)
        if self._held_bytes + more_bytes > self.limits.held_bytes_max:
            return TransactionOutcome(_FULL)
        return TransactionOutcome(answer, (TransactionStored(ask.transactional_id, after),))

    def _verify(self, ask: VerifyPartitions) -> PartitionsVerified | Refused:
        known = self._transactions.get(ask.transactional_id)
        refused = _refusal_of_producer(ask.transactional_id, ask.producer, known)
        if refused is not None or known is None:
            return refused or Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        return PartitionsVerified(
            tuple(
                ErrorCode.NONE if partition in known.partitions else ErrorCode.TRANSACTION_ABORTABLE
                for partition in ask.partitions
            )
        )

    # Ends

    def _complete(self, done: MarkersWritten, now_ms: int) -> TransactionOutcome:
        known = self._transactions.get(done.transactional_id)
        if known is None or not known.state.is_prepared or _name(known) != done.producer:
            # Of an earlier life of the coordinator: the transaction is complete already.
            return _refused(ErrorCode.INVALID_TXN_STATE)
        is_over = known.next_producer_id != NO_PRODUCER
        after = replace(
            known,
            state=TransactionState.COMPLETE_COMMIT
            if known.state.is_commit
            else TransactionState.COMPLETE_ABORT,
            producer_id=known.next_producer_id if is_over else known.producer_id,
            epoch=0 if is_over else known.epoch,
            previous_producer_id=known.producer_id,
            next_producer_id=NO_PRODUCER,
            partitions=frozenset(),
            updated_ms=now_ms,
        )
        return _given(done.transactional_id, after)

    def _abort_overdue(self, ask: AbortOverdue, now_ms: int, version: int) -> TransactionOutcome:
        overdue = (
            TransactionStored(name, fenced(known, now_ms, version))
            for name in self._ongoing
            if (known := self._transactions[name]).started_ms + known.timeout_ms < now_ms
        )
        return _upkeep(overdue, ask.most)

    def _drop_expired(self, ask: DropExpired, now_ms: int) -> TransactionOutcome:
        before_ms = now_ms - self.limits.id_expiration_ms
        expired = (
            TransactionDropped(name)
            for name, known in self._transactions.items()
            if known.updated_ms <= before_ms and name not in self._ongoing and name not in self._prepared
        )
        return _upkeep(expired, ask.most)

    # What is there

    def _describe(self, ask: DescribeTransaction) -> TransactionDescribed | Refused:
        if not ask.transactional_id:
            return Refused(ErrorCode.INVALID_REQUEST)
        known = self._transactions.get(ask.transactional_id)
        return Refused(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND) if known is None else TransactionDescribed(known)

    def _list(self, ask: ListTransactions, now_ms: int) -> TransactionListing:
        return TransactionListing(
            tuple(
                (name, known)
                for name, known in self._transactions.items()
                if (not ask.states or known.state in ask.states)
                and (not ask.producer_ids or known.producer_id in ask.producer_ids)
                # One that has never had a transaction began at -1, and so long ago; as with Kafka.
                and (ask.longer_than_ms < 0 or now_ms - known.started_ms > ask.longer_than_ms)
            )
        )

    def unfinished(self) -> list[tuple[TransactionalId, Transaction]]:
        """Transactions whose end is decided and whose markers may be missing."""
        return [(name, self._transactions[name]) for name in self._prepared]

    def transactions(self) -> dict[TransactionalId, Transaction]:
        """A copy of all there is."""
        return dict(self._transactions)

    def find(self, transactional_id: TransactionalId) -> Transaction | None:
        return self._transactions.get(transactional_id)

    def ongoing_count(self) -> int:
        return len(self._ongoing)

    def check(self) -> None:
        """Raise ``BrokenInvariant`` unless every transaction is sound."""
        for name, known in self._transactions.items():
            if (known.state is TransactionState.ONGOING) != (name in self._ongoing):
                raise BrokenInvariant(f"{name!r:.100} is {known.state.label} and not counted as such")
            if known.state.is_prepared != (name in self._prepared):
                raise BrokenInvariant(f"{name!r:.100} is {known.state.label} and not counted as such")
            if known.partitions and known.state not in _WITH_PARTITIONS:
                raise BrokenInvariant(f"{name!r:.100} is {known.state.label} and has partitions")
        held = sum(_held_bytes(name, known) for name, known in self._transactions.items())
        if held != self._held_bytes:
            raise BrokenInvariant(f"{held} bytes are held, {self._held_bytes} are counted")


_WITH_PARTITIONS = (
    TransactionState.ONGOING,
    TransactionState.PREPARE_COMMIT,
    TransactionState.PREPARE_ABORT,
)


def _held_bytes(name: TransactionalId, known: Transaction) -> int:
    return len(name) * 2 + ID_BYTES + len(known.partitions) * PARTITION_BYTES


def _name(known: Transaction) -> ProducerEpoch:
    return ProducerEpoch(known.producer_id, known.epoch)


def _may_continue(claimed: ProducerEpoch, known: Transaction) -> bool:
    """Its epoch is looked at where the next one is given; the one before may repeat the call that ended it."""
    if claimed.producer_id == known.producer_id:
        return True
    return claimed.producer_id == known.previous_producer_id and claimed.epoch >= LAST_EPOCH


def _refusal_of_producer(
    name: TransactionalId, producer: ProducerEpoch, known: Transaction | None
) -> Refused | None:
    """Why the producer may not add to its transaction now; None if it may."""
    if not name:
        return Refused(ErrorCode.INVALID_REQUEST)
    if known is None or known.producer_id != producer.producer_id:
        return Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if known.epoch != producer.epoch or known.epoch > LAST_EPOCH:
        return Refused(ErrorCode.PRODUCER_FENCED)
    return Refused(ErrorCode.CONCURRENT_TRANSACTIONS) if known.state.is_prepared else None


def _refused(code: ErrorCode, message: str | None = None) -> TransactionOutcome:
    return TransactionOutcome(Refused(code, message))


def _given(name: TransactionalId, after: Transaction) -> TransactionOutcome:
    return TransactionOutcome(
        ProducerAnswer(after.producer_id, after.epoch), (TransactionStored(name, after),)
    )


def _stored(
    name: TransactionalId,
    known: Transaction | None,
    ended: Transaction | ProducerAnswer | NeedsProducerId | Refused,
) -> TransactionOutcome:
    if not isinstance(ended, Transaction):
        return TransactionOutcome(ended)
    # What the client is told is the producer of its next transaction, which is not there before this one is complete.
    is_over = ended.next_producer_id != NO_PRODUCER
    answer = ProducerAnswer(
        ended.next_producer_id if is_over else ended.producer_id, 0 if is_over else ended.epoch
    )
    return TransactionOutcome(answer, (TransactionStored(name, ended),))


def _upkeep(facts: Iterator[TransactionFact], most: int) -> TransactionOutcome:
    chosen = tuple(islice(facts, most + 1))
    return TransactionOutcome(Upkeep(min(len(chosen), most), len(chosen) > most), chosen[:most])
