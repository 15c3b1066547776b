"""ListOffsets, key 2. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import Field, Message, Versions

__all__ = ["ListOffsetsPartition", "ListOffsetsPartitionResponse", "ListOffsetsRequest", "ListOffsetsResponse", "ListOffsetsTopic", "ListOffsetsTopicResponse"]


class ListOffsetsPartition(Message):
    __slots__ = ('partition_index', 'current_leader_epoch', 'timestamp')
    NAME = "Partitions"
    VERSIONS = Versions(1, 11)
    FLEXIBLE = Versions(6, 32767)
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('current_leader_epoch', "int32", versions=Versions(4, 32767), default=-1),
        Field('timestamp', "int64", default=0),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        current_leader_epoch: int = -1,
        timestamp: int = 0,
    ) -> None:
        self.partition_index: int = partition_index
        self.current_leader_epoch: int = current_leader_epoch
        self.timestamp: int = timestamp


class ListOffsetsTopic(Message):
    __slots__ = ('name', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(1, 11)
    FLEXIBLE = Versions(6, 32767)
    FIELDS = (
        Field('name', "string", default=""),
        Field('partitions', ListOffsetsPartition, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[ListOffsetsPartition] = (),
    ) -> None:
        self.name: str = name
        self.partitions: Sequence[ListOffsetsPartition] = partitions


class ListOffsetsRequest(Message):
    __slots__ = ('replica_id', 'isolation_level', 'topics', 'timeout_ms')
    NAME = "ListOffsetsRequest"
    API_KEY = 2
    VERSIONS = Versions(1, 11)
    FLEXIBLE = Versions(6, 32767)
    FIELDS = (
        Field('replica_id', "int32", default=0),
        Field('isolation_level', "int8", versions=Versions(2, 32767), default=0),
        Field('topics', ListOffsetsTopic, array=True, default=()),
        Field('timeout_ms', "int32", versions=Versions(10, 32767), default=0),
    )

    def __init__(
        self,
        *,
        replica_id: int = 0,
        isolation_level: int = 0,
        topics: Sequence[ListOffsetsTopic] = (),
        timeout_ms: int = 0,
    ) -> None:
        self.replica_id: int = replica_id
        self.isolation_level: int = isolation_level
        self.topics: Sequence[ListOffsetsTopic] = topics
        self.timeout_ms: int = timeout_ms


class ListOffsetsPartitionResponse(Message):
    __slots__ = ('partition_index', 'error_code', 'timestamp', 'offset', 'leader_epoch')
    NAME = "Partitions"
    VERSIONS = Versions(1, 11)
    FLEXIBLE = Versions(6, 32767)
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('timestamp', "int64", versions=Versions(1, 32767), default=-1),
        Field('offset', "int64", versions=Versions(1, 32767), default=-1),
        Field('leader_epoch', "int32", versions=Versions(4, 32767), default=-1),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        timestamp: int = -1,
        offset: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.timestamp: int = timestamp
        self.offset: int = offset
        self.leader_epoch: int = leader_epoch


class ListOffsetsTopicResponse(Message):
    __slots__ = ('name', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(1, 11)
    FLEXIBLE = Versions(6, 32767)
    FIELDS = (
        Field('name', "string", default=""),
        Field('partitions', ListOffsetsPartitionResponse, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[ListOffsetsPartitionResponse] = (),
    ) -> None:
        self.name: str = name
        self.partitions: Sequence[ListOffsetsPartitionResponse] = partitions


class ListOffsetsResponse(Message):
    __slots__ = ('throttle_time_ms', 'topics')
    NAME = "ListOffsetsResponse"
    API_KEY = 2
    VERSIONS = Versions(1, 11)
    FLEXIBLE = Versions(6, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", versions=Versions(2, 32767), default=0),
        Field('topics', ListOffsetsTopicResponse, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[ListOffsetsTopicResponse] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: Sequence[ListOffsetsTopicResponse] = topics
