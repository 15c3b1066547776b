"""What may be asked of a transaction shard, and what it answers. Values only."""

from __future__ import annotations

from typing import NamedTuple

from leaselog.coordination.transaction_facts import Transaction, TransactionState
from leaselog.model import ErrorCode, ProducerId, Refused, TopicPartition, TransactionalId

__all__ = [
    "AbortOverdue",
    "AddPartitions",
    "DescribeTransaction",
    "DropExpired",
    "EndTransaction",
    "InitProducer",
    "ListTransactions",
    "MarkersWritten",
    "NeedsProducerId",
    "ProducerAnswer",
    "ProducerEpoch",
    "TransactionAnswer",
    "TransactionCommand",
    "TransactionDescribed",
    "TransactionListing",
    "Upkeep",
    "VerifyPartitions",
    "PartitionsVerified",
]


class ProducerEpoch(NamedTuple):
    """A producer as it names itself."""

    producer_id: ProducerId
    epoch: int


class InitProducer(NamedTuple):
    transactional_id: TransactionalId
    timeout_ms: int
    #: what the producer was, if it goes on after an error (KIP-360)
    continues: ProducerEpoch | None = None
    #: an id nobody has had. Without one the shard answers ``NeedsProducerId`` where it takes one
    fresh_producer_id: ProducerId | None = None


class AddPartitions(NamedTuple):
    transactional_id: TransactionalId
    producer: ProducerEpoch
    partitions: frozenset[TopicPartition]
    client_version: int = 0


class VerifyPartitions(NamedTuple):
    """Whether each of them is part of the transaction."""

    transactional_id: TransactionalId
    producer: ProducerEpoch
    partitions: tuple[TopicPartition, ...]


class EndTransaction(NamedTuple):
    transactional_id: TransactionalId
    producer: ProducerEpoch
    is_commit: bool
    client_version: int = 0
    fresh_producer_id: ProducerId | None = None


class MarkersWritten(NamedTuple):
    """Every partition of the transaction has its marker, safely."""

    transactional_id: TransactionalId
    #: of the markers
    producer: ProducerEpoch


class AbortOverdue(NamedTuple):
    """Aborts transactions that have been open for longer than their producers said, so many at most."""

    most: int = 100


class DropExpired(NamedTuple):
    """Forgets ids that nobody has used for ``transactional.id.expiration.ms``, so many at most."""

    most: int = 1_000


class DescribeTransaction(NamedTuple):
    transactional_id: TransactionalId


class ListTransactions(NamedTuple):
    #: empty for all
    states: frozenset[TransactionState] = frozenset()
    producer_ids: frozenset[int] = frozenset()
    #: only those that began longer ago; negative for all
    longer_than_ms: int = -1


TransactionCommand = (
    InitProducer
    | AddPartitions
    | VerifyPartitions
    | EndTransaction
    | MarkersWritten
    | AbortOverdue
    | DropExpired
    | DescribeTransaction
    | ListTransactions
)


class NeedsProducerId(NamedTuple):
    """Ask again with a fresh id: this takes one, and none was brought."""


class ProducerAnswer(NamedTuple):
    """The producer as it is from now on."""

    producer_id: ProducerId
    epoch: int


class PartitionsVerified(NamedTuple):
    #: one for each partition, in the order asked
    codes: tuple[ErrorCode, ...]


class Upkeep(NamedTuple):
    fact_count: int
    #: there is more of the same to do
    has_more: bool


class TransactionDescribed(NamedTuple):
    transaction: Transaction


class TransactionListing(NamedTuple):
    transactions: tuple[tuple[TransactionalId, Transaction], ...]


TransactionAnswer = (
    Refused
    | NeedsProducerId
    | ProducerAnswer
    | PartitionsVerified
    | Upkeep
    | TransactionDescribed
    | TransactionListing
)
