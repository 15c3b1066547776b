"""AddPartitionsToTxn, key 24. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import Field, Message, Versions

__all__ = ["AddPartitionsToTxnPartitionResult", "AddPartitionsToTxnRequest", "AddPartitionsToTxnResponse", "AddPartitionsToTxnResult", "AddPartitionsToTxnTopic", "AddPartitionsToTxnTopicResult", "AddPartitionsToTxnTransaction"]


class AddPartitionsToTxnTopic(Message):
    __slots__ = ('name', 'partitions')
    NAME = "AddPartitionsToTxnTopic"
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('name', "string", default=""),
        Field('partitions', "int32", array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.name: str = name
        self.partitions: Sequence[int] = partitions


class AddPartitionsToTxnTransaction(Message):
    __slots__ = ('transactional_id', 'producer_id', 'producer_epoch', 'verify_only', 'topics')
    NAME = "Transactions"
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('transactional_id', "string", versions=Versions(4, 32767), default=""),
        Field('producer_id', "int64", versions=Versions(4, 32767), default=0),
        Field('producer_epoch', "int16", versions=Versions(4, 32767), default=0),
        Field('verify_only', "bool", versions=Versions(4, 32767), default=False),
        Field('topics', AddPartitionsToTxnTopic, array=True, versions=Versions(4, 32767), default=()),
    )

    def __init__(
        self,
        *,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        verify_only: bool = False,
        topics: Sequence[AddPartitionsToTxnTopic] = (),
    ) -> None:
        self.transactional_id: str = transactional_id
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.verify_only: bool = verify_only
        self.topics: Sequence[AddPartitionsToTxnTopic] = topics


class AddPartitionsToTxnRequest(Message):
    __slots__ = ('transactions', 'v3_and_below_transactional_id', 'v3_and_below_producer_id', 'v3_and_below_producer_epoch', 'v3_and_below_topics')
    NAME = "AddPartitionsToTxnRequest"
    API_KEY = 24
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('transactions', AddPartitionsToTxnTransaction, array=True, versions=Versions(4, 32767), default=()),
        Field('v3_and_below_transactional_id', "string", versions=Versions(0, 3), default=""),
        Field('v3_and_below_producer_id', "int64", versions=Versions(0, 3), default=0),
        Field('v3_and_below_producer_epoch', "int16", versions=Versions(0, 3), default=0),
        Field('v3_and_below_topics', AddPartitionsToTxnTopic, array=True, versions=Versions(0, 3), default=()),
    )

    def __init__(
        self,
        *,
        transactions: Sequence[AddPartitionsToTxnTransaction] = (),
        v3_and_below_transactional_id: str = "",
        v3_and_below_producer_id: int = 0,
        v3_and_below_producer_epoch: int = 0,
        v3_and_below_topics: Sequence[AddPartitionsToTxnTopic] = (),
    ) -> None:
        self.transactions: Sequence[AddPartitionsToTxnTransaction] = transactions
        self.v3_and_below_transactional_id: str = v3_and_below_transactional_id
        self.v3_and_below_producer_id: int = v3_and_below_producer_id
        self.v3_and_below_producer_epoch: int = v3_and_below_producer_epoch
        self.v3_and_below_topics: Sequence[AddPartitionsToTxnTopic] = v3_and_below_topics


class AddPartitionsToTxnPartitionResult(Message):
    __slots__ = ('partition_index', 'partition_error_code')
    NAME = "AddPartitionsToTxnPartitionResult"
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('partition_error_code', "int16", default=0),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        partition_error_code: int = 0,
    ) -> None:
        self.partition_index: int = partition_index
        self.partition_error_code: int = partition_error_code


class AddPartitionsToTxnTopicResult(Message):
    __slots__ = ('name', 'results_by_partition')
    NAME = "AddPartitionsToTxnTopicResult"
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('name', "string", default=""),
        Field('results_by_partition', AddPartitionsToTxnPartitionResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        results_by_partition: Sequence[AddPartitionsToTxnPartitionResult] = (),
    ) -> None:
        self.name: str = name
        self.results_by_partition: Sequence[AddPartitionsToTxnPartitionResult] = results_by_partition


class AddPartitionsToTxnResult(Message):
    __slots__ = ('transactional_id', 'topic_results')
    NAME = "ResultsByTransaction"
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('transactional_id', "string", versions=Versions(4, 32767), default=""),
        Field('topic_results', AddPartitionsToTxnTopicResult, array=True, versions=Versions(4, 32767), default=()),
    )

    def __init__(
        self,
        *,
        transactional_id: str = "",
        topic_results: Sequence[AddPartitionsToTxnTopicResult] = (),
    ) -> None:
        self.transactional_id: str = transactional_id
        self.topic_results: Sequence[AddPartitionsToTxnTopicResult] = topic_results


class AddPartitionsToTxnResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'results_by_transaction', 'results_by_topic_v3_and_below')
    NAME = "AddPartitionsToTxnResponse"
    API_KEY = 24
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", versions=Versions(4, 32767), default=0),
        Field('results_by_transaction', AddPartitionsToTxnResult, array=True, versions=Versions(4, 32767), default=()),
        Field('results_by_topic_v3_and_below', AddPartitionsToTxnTopicResult, array=True, versions=Versions(0, 3), default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results_by_transaction: Sequence[AddPartitionsToTxnResult] = (),
        results_by_topic_v3_and_below: Sequence[AddPartitionsToTxnTopicResult] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.results_by_transaction: Sequence[AddPartitionsToTxnResult] = results_by_transaction
        self.results_by_topic_v3_and_below: Sequence[AddPartitionsToTxnTopicResult] = results_by_topic_v3_and_below
