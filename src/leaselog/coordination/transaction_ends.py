"""How a transaction ends: what its producer may ask for, and what becomes of it.

A client of before KIP-890 names the epoch it has, keeps it, and may repeat its request for ever: the state alone says
whether it did. A newer one has its epoch raised by every end, so that nothing it sent before can come into the next
transaction; its repetition names the epoch before.
"""

from __future__ import annotations

from dataclasses import replace

from leaselog.coordination.transaction_commands import (
    EndTransaction,
    NeedsProducerId,
    ProducerAnswer,
    ProducerEpoch,
)
from leaselog.coordination.transaction_facts import LAST_EPOCH, NO_PRODUCER, Transaction, TransactionState
from leaselog.model import ErrorCode, Refused

__all__ = ["end", "fenced"]

#: the client_version from which every end raises the epoch
RAISES_EPOCHS = 2

_State = TransactionState
_COMPLETE = (_State.COMPLETE_COMMIT, _State.COMPLETE_ABORT)


def fenced(known: Transaction, now_ms: int, version: int) -> Transaction:
    """An open transaction aborted by the coordinator, its producer fenced by an epoch that nobody is given."""
    raises = version >= RAISES_EPOCHS
    return replace(
        known,
        state=_State.PREPARE_ABORT,
        epoch=known.epoch + 1,
        last_epoch=known.epoch if raises else -1,
        updated_ms=now_ms,
        previous_producer_id=known.producer_id,
        client_version=RAISES_EPOCHS if raises else 0,
    )


def end(
    ask: EndTransaction, known: Transaction | None, now_ms: int
) -> Transaction | ProducerAnswer | NeedsProducerId | Refused:
    """The transaction as it is to be; or the answer, where it stays as it is."""
    if not ask.transactional_id:
        return Refused(ErrorCode.INVALID_REQUEST)
    if known is None:
        return Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if ask.client_version >= RAISES_EPOCHS:
        return _end_raising(ask, known, now_ms)
    return _end_keeping(ask, known, now_ms)


def _end_keeping(
    ask: EndTransaction, known: Transaction, now_ms: int
) -> Transaction | ProducerAnswer | Refused:
    if ask.producer.producer_id != known.producer_id:
        return Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if ask.producer.epoch != known.epoch:
        return Refused(ErrorCode.PRODUCER_FENCED)
    if known.state is _State.ONGOING:
        return replace(
            known,
            state=_State.PREPARE_COMMIT if ask.is_commit else _State.PREPARE_ABORT,
            updated_ms=now_ms,
            previous_producer_id=known.producer_id,
            client_version=0,
        )
    if known.state is _State.EMPTY or known.state.is_commit != ask.is_commit:
        return Refused(ErrorCode.INVALID_TXN_STATE)
    if known.state.is_prepared:
        return Refused(ErrorCode.CONCURRENT_TRANSACTIONS)
    return ProducerAnswer(known.producer_id, known.epoch)


def _end_raising(
    ask: EndTransaction, known: Transaction, now_ms: int
) -> Transaction | ProducerAnswer | NeedsProducerId | Refused:
    producer = ask.producer
    has_rotated = (
        producer.producer_id == known.previous_producer_id
        and known.producer_id != producer.producer_id
        and producer.epoch == LAST_EPOCH
        and known.epoch == 0
    )
    repeats = has_rotated or producer.epoch + 1 == known.epoch
    if producer.producer_id != known.producer_id and not has_rotated:
        return Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if producer.epoch > LAST_EPOCH or not _is_epoch_of(producer, known, repeats=repeats):
        return Refused(ErrorCode.PRODUCER_FENCED)
    if known.state is _State.ONGOING:
        return _raised(ask, known, known.started_ms, now_ms)
    if known.state.is_prepared:
        same = known.state.is_commit == ask.is_commit
        return Refused(ErrorCode.CONCURRENT_TRANSACTIONS if same else ErrorCode.INVALID_TXN_STATE)
    if repeats and known.state in _COMPLETE:
        if known.state.is_commit != ask.is_commit:
            return Refused(ErrorCode.INVALID_TXN_STATE)
        return ProducerAnswer(known.producer_id, known.epoch)
    if ask.is_commit:
        return Refused(ErrorCode.INVALID_TXN_STATE)
    # An abort of a transaction without partitions: it may have some in requests that are still on their way, which the
    # next epoch keeps out.
    return _raised(ask, known, now_ms, now_ms)


def _is_epoch_of(producer: ProducerEpoch, known: Transaction, *, repeats: bool) -> bool:
    if known.state in (_State.EMPTY, _State.ONGOING):
        return producer.epoch == known.epoch
    if known.state.is_prepared:
        return repeats
    return repeats or producer.epoch == known.epoch


def _raised(
    ask: EndTransaction, known: Transaction, started_ms: int, now_ms: int
) -> Transaction | NeedsProducerId:
    is_exhausted = known.epoch >= LAST_EPOCH
    if is_exhausted and ask.fresh_producer_id is None:
        return NeedsProducerId()
    fresh = ask.fresh_producer_id if is_exhausted and ask.fresh_producer_id is not None else NO_PRODUCER
    return replace(
        known,
        state=_State.PREPARE_COMMIT if ask.is_commit else _State.PREPARE_ABORT,
        epoch=known.epoch + 1,
        last_epoch=known.epoch,
        next_producer_id=fresh,
        previous_producer_id=known.producer_id,
        started_ms=started_ms,
        updated_ms=now_ms,
        client_version=ask.client_version,
    )
