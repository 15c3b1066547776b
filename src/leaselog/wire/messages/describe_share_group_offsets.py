"""DescribeShareGroupOffsets, key 90. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["DescribeShareGroupOffsetsRequest", "DescribeShareGroupOffsetsRequestGroup", "DescribeShareGroupOffsetsRequestTopic", "DescribeShareGroupOffsetsResponse", "DescribeShareGroupOffsetsResponseGroup", "DescribeShareGroupOffsetsResponsePartition", "DescribeShareGroupOffsetsResponseTopic"]


class DescribeShareGroupOffsetsRequestTopic(Message):
    __slots__ = ('topic_name', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_name', "string", default=""),
        Field('partitions', "int32", array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic_name: str = topic_name
        self.partitions: Sequence[int] = partitions


class DescribeShareGroupOffsetsRequestGroup(Message):
    __slots__ = ('group_id', 'topics')
    NAME = "Groups"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('group_id', "string", default=""),
        Field('topics', DescribeShareGroupOffsetsRequestTopic, array=True, nullable=ALWAYS, default=()),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: Sequence[DescribeShareGroupOffsetsRequestTopic] | None = (),
    ) -> None:
        self.group_id: str = group_id
        self.topics: Sequence[DescribeShareGroupOffsetsRequestTopic] | None = topics


class DescribeShareGroupOffsetsRequest(Message):
    __slots__ = ('groups',)
    NAME = "DescribeShareGroupOffsetsRequest"
    API_KEY = 90
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('groups', DescribeShareGroupOffsetsRequestGroup, array=True, default=()),
    )

    def __init__(
        self,
        *,
        groups: Sequence[DescribeShareGroupOffsetsRequestGroup] = (),
    ) -> None:
        self.groups: Sequence[DescribeShareGroupOffsetsRequestGroup] = groups


class DescribeShareGroupOffsetsResponsePartition(Message):
    __slots__ = ('partition_index', 'start_offset', 'leader_epoch', 'lag', 'error_code', 'error_message')
    NAME = "Partitions"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('start_offset', "int64", default=0),
        Field('leader_epoch', "int32", default=0),
        Field('lag', "int64", versions=Versions(1, 32767), default=-1),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        start_offset: int = 0,
        leader_epoch: int = 0,
        lag: int = -1,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.partition_index: int = partition_index
        self.start_offset: int = start_offset
        self.leader_epoch: int = leader_epoch
        self.lag: int = lag
        self.error_code: int = error_code
        self.error_message: str | None = error_message


class DescribeShareGroupOffsetsResponseTopic(Message):
    __slots__ = ('topic_name', 'topic_id', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_name', "string", default=""),
        Field('topic_id', "uuid", default=ZERO_UUID),
        Field('partitions', DescribeShareGroupOffsetsResponsePartition, array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: Sequence[DescribeShareGroupOffsetsResponsePartition] = (),
    ) -> None:
        self.topic_name: str = topic_name
        self.topic_id: UUID = topic_id
        self.partitions: Sequence[DescribeShareGroupOffsetsResponsePartition] = partitions


class DescribeShareGroupOffsetsResponseGroup(Message):
    __slots__ = ('group_id', 'topics', 'error_code', 'error_message')
    NAME = "Groups"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('group_id', "string", default=""),
        Field('topics', DescribeShareGroupOffsetsResponseTopic, array=True, default=()),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: Sequence[DescribeShareGroupOffsetsResponseTopic] = (),
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.group_id: str = group_id
        self.topics: Sequence[DescribeShareGroupOffsetsResponseTopic] = topics
        self.error_code: int = error_code
        self.error_message: str | None = error_message


class DescribeShareGroupOffsetsResponse(Message):
    __slots__ = ('throttle_time_ms', 'groups')
    NAME = "DescribeShareGroupOffsetsResponse"
    API_KEY = 90
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('groups', DescribeShareGroupOffsetsResponseGroup, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        groups: Sequence[DescribeShareGroupOffsetsResponseGroup] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.groups: Sequence[DescribeShareGroupOffsetsResponseGroup] = groups
