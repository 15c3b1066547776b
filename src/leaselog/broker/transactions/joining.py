"""How a partition becomes part of a transaction by being written, or is seen to be part of it (KIP-890).

Without this a request that was long on its way could write into a partition whose transaction has ended: a batch that
no marker would ever follow, which hides all behind it from readers of committed records.

A client of before KIP-890 adds its partitions by itself: then they are only verified.
"""

from __future__ import annotations

from collections.abc import Collection

from leaselog.broker.transactions.coordinator import TransactionCoordinator
from leaselog.coordination.transaction_commands import (
    AddPartitions,
    PartitionsVerified,
    ProducerAnswer,
    ProducerEpoch,
    VerifyPartitions,
)
from leaselog.coordination.transaction_facts import TransactionState
from leaselog.model import ErrorCode, Refused, TopicPartition, TransactionalId

__all__ = ["join"]


async def join(
    transactions: TransactionCoordinator,
    name: TransactionalId,
    producer: ProducerEpoch,
    places: Collection[TopicPartition],
    *,
    adds: bool,
    patience_s: float,
) -> dict[TopicPartition, ErrorCode]:
    """Which of them the producer may write to now, in this very turn of the loop, and why not to the others.

    The end of the transaction before is waited for, ``patience_s`` long.
    """
    codes = await _ask(transactions, name, producer, places, adds=adds)
    if ErrorCode.CONCURRENT_TRANSACTIONS in codes.values():
        await transactions.finished(name, patience_s)
        codes = await _ask(transactions, name, producer, places, adds=adds)
    known = transactions.find(name)
    is_current = known is not None and (known.producer_id, known.epoch) == producer
    is_open = is_current and known is not None and known.state is TransactionState.ONGOING
    meanwhile = ErrorCode.TRANSACTION_ABORTABLE if is_current else ErrorCode.PRODUCER_FENCED
    for place in places:
        # It was open when it was asked about. What ends it decides before it writes a marker, so this is the last word.
        if codes[place] is ErrorCode.NONE and not is_open:
            codes[place] = meanwhile
    return codes


async def _ask(
    transactions: TransactionCoordinator,
    name: TransactionalId,
    producer: ProducerEpoch,
    places: Collection[TopicPartition],
    *,
    adds: bool,
) -> dict[TopicPartition, ErrorCode]:
    if adds:
        command = AddPartitions(name, producer, frozenset(places), 2)
        added = await transactions.ask(name, command, ProducerAnswer)
        return dict.fromkeys(places, added.code if isinstance(added, Refused) else ErrorCode.NONE)
    verified = await transactions.ask(
        name, VerifyPartitions(name, producer, tuple(places)), PartitionsVerified
    )
    if isinstance(verified, Refused):
        return dict.fromkeys(places, verified.code)
    return dict(zip(places, verified.codes, strict=True))
