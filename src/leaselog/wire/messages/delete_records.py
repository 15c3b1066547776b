"""DeleteRecords, key 21. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import Field, Message, Versions

__all__ = ["DeleteRecordsPartition", "DeleteRecordsPartitionResult", "DeleteRecordsRequest", "DeleteRecordsResponse", "DeleteRecordsTopic", "DeleteRecordsTopicResult"]


class DeleteRecordsPartition(Message):
    __slots__ = ('partition_index', 'offset')
    NAME = "Partitions"
    VERSIONS = Versions(0, 2)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('offset', "int64", default=0),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        offset: int = 0,
    ) -> None:
        self.partition_index: int = partition_index
        self.offset: int = offset


class DeleteRecordsTopic(Message):
    __slots__ = ('name', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(0, 2)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('name', "string", default=""),
        Field('partitions', DeleteRecordsPartition, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[DeleteRecordsPartition] = (),
    ) -> None:
        self.name: str = name
        self.partitions: Sequence[DeleteRecordsPartition] = partitions


class DeleteRecordsRequest(Message):
    __slots__ = ('topics', 'timeout_ms')
    NAME = "DeleteRecordsRequest"
    API_KEY = 21
    VERSIONS = Versions(0, 2)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('topics', DeleteRecordsTopic, array=True, default=()),
        Field('timeout_ms', "int32", default=0),
    )

    def __init__(
        self,
        *,
        topics: Sequence[DeleteRecordsTopic] = (),
        timeout_ms: int = 0,
    ) -> None:
        self.topics: Sequence[DeleteRecordsTopic] = topics
        self.timeout_ms: int = timeout_ms


class DeleteRecordsPartitionResult(Message):
    __slots__ = ('partition_index', 'low_watermark', 'error_code')
    NAME = "Partitions"
    VERSIONS = Versions(0, 2)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('low_watermark', "int64", default=0),
        Field('error_code', "int16", default=0),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        low_watermark: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index: int = partition_index
        self.low_watermark: int = low_watermark
        self.error_code: int = error_code


class DeleteRecordsTopicResult(Message):
    __slots__ = ('name', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(0, 2)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('name', "string", default=""),
        Field('partitions', DeleteRecordsPartitionResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[DeleteRecordsPartitionResult] = (),
    ) -> None:
        self.name: str = name
        self.partitions: Sequence[DeleteRecordsPartitionResult] = partitions


class DeleteRecordsResponse(Message):
    __slots__ = ('throttle_time_ms', 'topics')
    NAME = "DeleteRecordsResponse"
    API_KEY = 21
    VERSIONS = Versions(0, 2)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('topics', DeleteRecordsTopicResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[DeleteRecordsTopicResult] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: Sequence[DeleteRecordsTopicResult] = topics
