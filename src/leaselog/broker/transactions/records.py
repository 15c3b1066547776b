"""The facts of a transaction shard as records of ``__transaction_state``, byte for byte as Apache Kafka 4 writes them.

A key is its version (0) and its body; a value is its version and its body: 1 with a ``transaction.version`` of 1 or
more, else 0; no value is a tombstone. Both versions are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct

from leaselog.broker.coordinators.versioned import read_prefix
from leaselog.coordination.transaction_facts import (
    Transaction,
    TransactionDropped,
    TransactionFact,
    TransactionState,
    TransactionStored,
)
from leaselog.model import ProducerId, TopicPartition, TransactionalId
from leaselog.wire.codec import decode, encode
from leaselog.wire.errors import BadValue
from leaselog.wire.messages.transaction_records import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from leaselog.wire.records import Record

__all__ = ["decode_transaction_fact", "encode_transaction_fact"]

_KEY_VERSION = 0
_SHORT = Struct(">h")


def encode_transaction_fact(fact: TransactionFact, now_ms: int, *, version: int) -> Record:
    """``version`` is the cluster's transaction.version."""
    key = _SHORT.pack(_KEY_VERSION) + encode(
        TransactionLogKey(transactional_id=fact.transactional_id), _KEY_VERSION
    )
    if isinstance(fact, TransactionDropped):
        return Record(key, None, timestamp_ms=now_ms)
    value_version = min(version, TransactionLogValue.VERSIONS.last)
    value = _SHORT.pack(value_version) + encode(_value(fact.transaction), value_version)
    return Record(key, value, timestamp_ms=now_ms)


def decode_transaction_fact(record: Record) -> TransactionFact | None:
    """What the record says; None if it is of a type unknown here. Raises ``DecodeError`` if it is malformed."""
    if record.key is None:
        raise BadValue(f"a record without a key at offset {record.offset}")
    if read_prefix(record.key) != _KEY_VERSION:
        return None
    name = TransactionalId(decode(TransactionLogKey, _KEY_VERSION, record.key, _SHORT.size).transactional_id)
    if record.value is None:
        return TransactionDropped(name)
    version = read_prefix(record.value)
    if version not in TransactionLogValue.VERSIONS:
        last = TransactionLogValue.VERSIONS.last
        raise BadValue(f"TransactionLogValue version {version}, known are up to {last}")
    return TransactionStored(
        name, _transaction(decode(TransactionLogValue, version, record.value, _SHORT.size))
    )


def _value(known: Transaction) -> TransactionLogValue:
    return TransactionLogValue(
        producer_id=known.producer_id,
        previous_producer_id=known.previous_producer_id,
        next_producer_id=known.next_producer_id,
        producer_epoch=known.epoch,
        transaction_timeout_ms=known.timeout_ms,
        transaction_status=known.state,
        transaction_partitions=None if known.state is TransactionState.EMPTY else _by_topic(known.partitions),
        transaction_last_update_timestamp_ms=known.updated_ms,
        transaction_start_timestamp_ms=known.started_ms,
        client_transaction_version=known.client_version,
    )


def _by_topic(partitions: Iterable[TopicPartition]) -> list[PartitionsSchema]:
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    return [PartitionsSchema(topic=topic, partition_ids=ids) for topic, ids in topics.items()]


def _transaction(value: TransactionLogValue) -> Transaction:
    try:
        state = TransactionState(value.transaction_status)
    except ValueError as unknown:
        raise BadValue(f"transaction state {value.transaction_status}") from unknown
    return Transaction(
        ProducerId(value.producer_id),
        value.producer_epoch,
        value.transaction_timeout_ms,
        state,
        value.transaction_last_update_timestamp_ms,
        value.transaction_start_timestamp_ms,
        frozenset(
            TopicPartition(topic.topic, partition)
            for topic in value.transaction_partitions or ()
            for partition in topic.partition_ids
        ),
        ProducerId(value.previous_producer_id),
        ProducerId(value.next_producer_id),
        value.client_transaction_version,
    )
