"""OffsetDelete, key 47. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import Field, Message, NEVER, Versions

__all__ = ["OffsetDeleteRequest", "OffsetDeleteRequestPartition", "OffsetDeleteRequestTopic", "OffsetDeleteResponse", "OffsetDeleteResponsePartition", "OffsetDeleteResponseTopic"]


class OffsetDeleteRequestPartition(Message):
    __slots__ = ('partition_index',)
    NAME = "Partitions"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('partition_index', "int32", default=0),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
    ) -> None:
        self.partition_index: int = partition_index


class OffsetDeleteRequestTopic(Message):
    __slots__ = ('name', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('name', "string", default=""),
        Field('partitions', OffsetDeleteRequestPartition, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[OffsetDeleteRequestPartition] = (),
    ) -> None:
        self.name: str = name
        self.partitions: Sequence[OffsetDeleteRequestPartition] = partitions


class OffsetDeleteRequest(Message):
    __slots__ = ('group_id', 'topics')
    NAME = "OffsetDeleteRequest"
    API_KEY = 47
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", default=""),
        Field('topics', OffsetDeleteRequestTopic, array=True, default=()),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: Sequence[OffsetDeleteRequestTopic] = (),
    ) -> None:
        self.group_id: str = group_id
        self.topics: Sequence[OffsetDeleteRequestTopic] = topics


class OffsetDeleteResponsePartition(Message):
    __slots__ = ('partition_index', 'error_code')
    NAME = "Partitions"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('error_code', "int16", default=0),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code


class OffsetDeleteResponseTopic(Message):
    __slots__ = ('name', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('name', "string", default=""),
        Field('partitions', OffsetDeleteResponsePartition, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[OffsetDeleteResponsePartition] = (),
    ) -> None:
        self.name: str = name
        self.partitions: Sequence[OffsetDeleteResponsePartition] = partitions


class OffsetDeleteResponse(Message):
    __slots__ = ('error_code', 'throttle_time_ms', 'topics')
    NAME = "OffsetDeleteResponse"
    API_KEY = 47
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('throttle_time_ms', "int32", default=0),
        Field('topics', OffsetDeleteResponseTopic, array=True, default=()),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        throttle_time_ms: int = 0,
        topics: Sequence[OffsetDeleteResponseTopic] = (),
    ) -> None:
        self.error_code: int = error_code
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: Sequence[OffsetDeleteResponseTopic] = topics
