"""DescribeProducers, key 61. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["DescribeProducersRequest", "DescribeProducersResponse", "PartitionResponse", "ProducerState", "TopicRequest", "TopicResponse"]


class TopicRequest(Message):
    __slots__ = ('name', 'partition_indexes')
    NAME = "Topics"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
        Field('partition_indexes', "int32", array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partition_indexes: Sequence[int] = (),
    ) -> None:
        self.name: str = name
        self.partition_indexes: Sequence[int] = partition_indexes


class DescribeProducersRequest(Message):
    __slots__ = ('topics',)
    NAME = "DescribeProducersRequest"
    API_KEY = 61
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topics', TopicRequest, array=True, default=()),
    )

    def __init__(
        self,
        *,
        topics: Sequence[TopicRequest] = (),
    ) -> None:
        self.topics: Sequence[TopicRequest] = topics


class ProducerState(Message):
    __slots__ = ('producer_id', 'producer_epoch', 'last_sequence', 'last_timestamp', 'coordinator_epoch', 'current_txn_start_offset')
    NAME = "ActiveProducers"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('producer_id', "int64", default=0),
        Field('producer_epoch', "int32", default=0),
        Field('last_sequence', "int32", default=-1),
        Field('last_timestamp', "int64", default=-1),
        Field('coordinator_epoch', "int32", default=0),
        Field('current_txn_start_offset', "int64", default=-1),
    )

    def __init__(
        self,
        *,
        producer_id: int = 0,
        producer_epoch: int = 0,
        last_sequence: int = -1,
        last_timestamp: int = -1,
        coordinator_epoch: int = 0,
        current_txn_start_offset: int = -1,
    ) -> None:
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.last_sequence: int = last_sequence
        self.last_timestamp: int = last_timestamp
        self.coordinator_epoch: int = coordinator_epoch
        self.current_txn_start_offset: int = current_txn_start_offset


class PartitionResponse(Message):
    __slots__ = ('partition_index', 'error_code', 'error_message', 'active_producers')
    NAME = "Partitions"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=None),
        Field('active_producers', ProducerState, array=True, default=()),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        active_producers: Sequence[ProducerState] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.active_producers: Sequence[ProducerState] = active_producers


class TopicResponse(Message):
    __slots__ = ('name', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
        Field('partitions', PartitionResponse, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[PartitionResponse] = (),
    ) -> None:
        self.name: str = name
        self.partitions: Sequence[PartitionResponse] = partitions


class DescribeProducersResponse(Message):
    __slots__ = ('throttle_time_ms', 'topics')
    NAME = "DescribeProducersResponse"
    API_KEY = 61
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('topics', TopicResponse, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[TopicResponse] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: Sequence[TopicResponse] = topics
