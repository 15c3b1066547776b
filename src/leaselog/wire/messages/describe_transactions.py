"""DescribeTransactions, key 65. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["DescribeTransactionsRequest", "DescribeTransactionsResponse", "TopicData", "TransactionState"]


class DescribeTransactionsRequest(Message):
    __slots__ = ('transactional_ids',)
    NAME = "DescribeTransactionsRequest"
    API_KEY = 65
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('transactional_ids', "string", array=True, default=()),
    )

    def __init__(
        self,
        *,
        transactional_ids: Sequence[str] = (),
    ) -> None:
        self.transactional_ids: Sequence[str] = transactional_ids


class TopicData(Message):
    __slots__ = ('topic', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic', "string", default=""),
        Field('partitions', "int32", array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic: str = topic
        self.partitions: Sequence[int] = partitions


class TransactionState(Message):
    __slots__ = ('error_code', 'transactional_id', 'transaction_state', 'transaction_timeout_ms', 'transaction_start_time_ms', 'producer_id', 'producer_epoch', 'topics')
    NAME = "TransactionStates"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('transactional_id', "string", default=""),
        Field('transaction_state', "string", default=""),
        Field('transaction_timeout_ms', "int32", default=0),
        Field('transaction_start_time_ms', "int64", default=0),
        Field('producer_id', "int64", default=0),
        Field('producer_epoch', "int16", default=0),
        Field('topics', TopicData, array=True, default=()),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        transactional_id: str = "",
        transaction_state: str = "",
        transaction_timeout_ms: int = 0,
        transaction_start_time_ms: int = 0,
        producer_id: int = 0,
        producer_epoch: int = 0,
        topics: Sequence[TopicData] = (),
    ) -> None:
        self.error_code: int = error_code
        self.transactional_id: str = transactional_id
        self.transaction_state: str = transaction_state
        self.transaction_timeout_ms: int = transaction_timeout_ms
        self.transaction_start_time_ms: int = transaction_start_time_ms
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.topics: Sequence[TopicData] = topics


class DescribeTransactionsResponse(Message):
    __slots__ = ('throttle_time_ms', 'transaction_states')
    NAME = "DescribeTransactionsResponse"
    API_KEY = 65
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('transaction_states', TransactionState, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        transaction_states: Sequence[TransactionState] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.transaction_states: Sequence[TransactionState] = transaction_states
