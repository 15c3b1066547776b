"""The records that Kafka's transaction-coordinator keeps. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, NEVER, Versions

__all__ = ["PartitionsSchema", "TransactionLogKey", "TransactionLogValue"]


class TransactionLogKey(Message):
    __slots__ = ('transactional_id',)
    NAME = "TransactionLogKey"
    API_KEY = 0
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('transactional_id', "string", versions=Versions(0, 0), default=""),
    )

    def __init__(
        self,
        *,
        transactional_id: str = "",
    ) -> None:
        self.transactional_id: str = transactional_id


class PartitionsSchema(Message):
    __slots__ = ('topic', 'partition_ids')
    NAME = "TransactionPartitions"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('topic', "string", default=""),
        Field('partition_ids', "int32", array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partition_ids: Sequence[int] = (),
    ) -> None:
        self.topic: str = topic
        self.partition_ids: Sequence[int] = partition_ids


class TransactionLogValue(Message):
    __slots__ = ('producer_id', 'previous_producer_id', 'next_producer_id', 'producer_epoch', 'next_producer_epoch', 'transaction_timeout_ms', 'transaction_status', 'transaction_partitions', 'transaction_last_update_timestamp_ms', 'transaction_start_timestamp_ms', 'client_transaction_version')
    NAME = "TransactionLogValue"
    API_KEY = 0
    VERSIONS = Versions(0, 1)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('producer_id', "int64", default=0),
        Field('previous_producer_id', "int64", versions=Versions(1, 32767), tag=0, tagged=Versions(1, 32767), default=-1),
        Field('next_producer_id', "int64", versions=Versions(1, 32767), tag=1, tagged=Versions(1, 32767), default=-1),
        Field('producer_epoch', "int16", default=0),
        Field('next_producer_epoch', "int16", versions=Versions(1, 32767), tag=3, tagged=Versions(1, 32767), default=-1),
        Field('transaction_timeout_ms', "int32", default=0),
        Field('transaction_status', "int8", default=0),
        Field('transaction_partitions', PartitionsSchema, array=True, nullable=ALWAYS, default=()),
        Field('transaction_last_update_timestamp_ms', "int64", default=0),
        Field('transaction_start_timestamp_ms', "int64", default=0),
        Field('client_transaction_version', "int16", versions=Versions(1, 32767), tag=2, tagged=Versions(1, 32767), default=0),
    )

    def __init__(
        self,
        *,
        producer_id: int = 0,
        previous_producer_id: int = -1,
        next_producer_id: int = -1,
        producer_epoch: int = 0,
        next_producer_epoch: int = -1,
        transaction_timeout_ms: int = 0,
        transaction_status: int = 0,
        transaction_partitions: Sequence[PartitionsSchema] | None = (),
        transaction_last_update_timestamp_ms: int = 0,
        transaction_start_timestamp_ms: int = 0,
        client_transaction_version: int = 0,
    ) -> None:
        self.producer_id: int = producer_id
        self.previous_producer_id: int = previous_producer_id
        self.next_producer_id: int = next_producer_id
        self.producer_epoch: int = producer_epoch
        self.next_producer_epoch: int = next_producer_epoch
        self.transaction_timeout_ms: int = transaction_timeout_ms
        self.transaction_status: int = transaction_status
        self.transaction_partitions: Sequence[PartitionsSchema] | None = transaction_partitions
        self.transaction_last_update_timestamp_ms: int = transaction_last_update_timestamp_ms
        self.transaction_start_timestamp_ms: int = transaction_start_timestamp_ms
        self.client_transaction_version: int = client_transaction_version
