"""What a transaction shard writes down: the only things that change it, and what they hold.

One fact is one record of ``__transaction_state``; ``broker.transactions.records`` knows the bytes. A fact says all
there is to say about its transactional id, so the topic may be compacted.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from leaselog.model import ProducerId, TopicPartition, TransactionalId

__all__ = [
    "LAST_EPOCH",
    "NO_PRODUCER",
    "Transaction",
    "TransactionDropped",
    "TransactionFact",
    "TransactionState",
    "TransactionStored",
]

NO_PRODUCER = ProducerId(-1)
#: producers are given none past this: the one above it is for the coordinator, to fence the last producer of an id
LAST_EPOCH = 2**15 - 2


class TransactionState(IntEnum):
    """The numbers are those in the records."""

    EMPTY = 0
    ONGOING = 1
    #: the decision is written, its markers may not be
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    #: Kafka holds these two in memory while a write is under way. Here a decision is replayed as soon as it is made, so
    #: nothing is ever in them; they can be asked for by name.
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def label(self) -> str:
        """As Kafka's tools say it."""
        return self.name.title().replace("_", "")

    @property
    def is_prepared(self) -> bool:
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def is_commit(self) -> bool:
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)


@dataclass(frozen=True, slots=True)
class Transaction:
    """What is known of a transactional id: its producer, and the transaction it is in or has ended last."""

    producer_id: ProducerId
    #: -1 until somebody was given one
    epoch: int
    timeout_ms: int
    state: TransactionState
    updated_ms: int
    #: when the first partition was added; -1 before the first transaction
    started_ms: int = -1
    partitions: frozenset[TopicPartition] = frozenset()
    #: whose id it was before the last change: a repetition may come with it
    previous_producer_id: ProducerId = NO_PRODUCER
    #: the producer's id once this transaction is complete, where its epochs are used up
    next_producer_id: ProducerId = NO_PRODUCER
    #: 2 for a client that expects its epoch to rise with every end (KIP-890)
    client_version: int = 0
    #: what a repetition would name; no record holds it, as with Kafka, so after a restart there are no repetitions
    last_epoch: int = -1


@dataclass(frozen=True, slots=True)
class TransactionStored:
    transactional_id: TransactionalId
    transaction: Transaction


@dataclass(frozen=True, slots=True)
class TransactionDropped:
    transactional_id: TransactionalId


TransactionFact = TransactionStored | TransactionDropped
