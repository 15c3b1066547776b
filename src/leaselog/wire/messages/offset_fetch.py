"""OffsetFetch, key 9. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.schema import Field, Message, Versions

__all__ = ["OffsetFetchRequest", "OffsetFetchRequestGroup", "OffsetFetchRequestTopic", "OffsetFetchRequestTopics", "OffsetFetchResponse", "OffsetFetchResponseGroup", "OffsetFetchResponsePartition", "OffsetFetchResponsePartitions", "OffsetFetchResponseTopic", "OffsetFetchResponseTopics"]


class OffsetFetchRequestTopic(Message):
    __slots__ = ('name', 'partition_indexes')
    NAME = "Topics"
    VERSIONS = Versions(1, 10)
    FLEXIBLE = Versions(6, 32767)
    FIELDS = (
        Field('name', "string", versions=Versions(0, 7), default=""),
        Field('partition_indexes', "int32", array=True, versions=Versions(0, 7), default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partition_indexes: Sequence[int] = (),
    ) -> None:
        self.name: str = name
        self.partition_indexes: Sequence[int] = partition_indexes


class OffsetFetchRequestTopics(Message):
    __slots__ = ('name', 'topic_id', 'partition_indexes')
    NAME = "Topics"
    VERSIONS = Versions(1, 10)
    FLEXIBLE = Versions(6, 32767)
    FIELDS = (
        Field('name', "string", versions=Versions(8, 9), default=""),
        Field('topic_id', "uuid", versions=Versions(10, 32767), default=ZERO_UUID),
        Field('partition_indexes', "int32", array=True, versions=Versions(8, 32767), default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        partition_indexes: Sequence[int] = (),
    ) -> None:
        self.name: str = name
        self.topic_id: UUID = topic_id
        self.partition_indexes: Sequence[int] = partition_indexes


class OffsetFetchRequestGroup(Message):
    __slots__ = ('group_id', 'member_id', 'member_epoch', 'topics')
    NAME = "Groups"
    VERSIONS = Versions(1, 10)
    FLEXIBLE = Versions(6, 32767)
    FIELDS = (
        Field('group_id', "string", versions=Versions(8, 32767), default=""),
        Field('member_id', "string", versions=Versions(9, 32767), nullable=Versions(9, 32767), default=None),
        Field('member_epoch', "int32", versions=Versions(9, 32767), default=-1),
        Field('topics', OffsetFetchRequestTopics, array=True, versions=Versions(8, 32767), nullable=Versions(8, 32767), default=()),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str | None = None,
        member_epoch: int = -1,
        topics: Sequence[OffsetFetchRequestTopics] | None = (),
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str | None = member_id
        self.member_epoch: int = member_epoch
        self.topics: Sequence[OffsetFetchRequestTopics] | None = topics


class OffsetFetchRequest(Message):
    __slots__ = ('group_id', 'topics', 'groups', 'require_stable')
    NAME = "OffsetFetchRequest"
    API_KEY = 9
    VERSIONS = Versions(1, 10)
    FLEXIBLE = Versions(6, 32767)
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 7), default=""),
        Field('topics', OffsetFetchRequestTopic, array=True, versions=Versions(0, 7), nullable=Versions(2, 7), default=()),
        Field('groups', OffsetFetchRequestGroup, array=True, versions=Versions(8, 32767), default=()),
        Field('require_stable', "bool", versions=Versions(7, 32767), default=False),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: Sequence[OffsetFetchRequestTopic] | None = (),
        groups: Sequence[OffsetFetchRequestGroup] = (),
        require_stable: bool = False,
    ) -> None:
        self.group_id: str = group_id
        self.topics: Sequence[OffsetFetchRequestTopic] | None = topics
        self.groups: Sequence[OffsetFetchRequestGroup] = groups
        self.require_stable: bool = require_stable


class OffsetFetchResponsePartition(Message):
    __slots__ = ('partition_index', 'committed_offset', 'committed_leader_epoch', 'metadata', 'error_code')
    NAME = "Partitions"
    VERSIONS = Versions(1, 10)
    FLEXIBLE = Versions(6, 32767)
    FIELDS = (
        Field('partition_index', "int32", versions=Versions(0, 7), default=0),
        Field('committed_offset', "int64", versions=Versions(0, 7), default=0),
        Field('committed_leader_epoch', "int32", versions=Versions(5, 7), default=-1),
        Field('metadata', "string", versions=Versions(0, 7), nullable=Versions(0, 7), default=""),
        Field('error_code', "int16", versions=Versions(0, 7), default=0),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index: int = partition_index
        self.committed_offset: int = committed_offset
        self.committed_leader_epoch: int = committed_leader_epoch
        self.metadata: str | None = metadata
        self.error_code: int = error_code


class OffsetFetchResponseTopic(Message):
    __slots__ = ('name', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(1, 10)
    FLEXIBLE = Versions(6, 32767)
    FIELDS = (
        Field('name', "string", versions=Versions(0, 7), default=""),
        Field('partitions', OffsetFetchResponsePartition, array=True, versions=Versions(0, 7), default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[OffsetFetchResponsePartition] = (),
    ) -> None:
        self.name: str = name
        self.partitions: Sequence[OffsetFetchResponsePartition] = partitions


class OffsetFetchResponsePartitions(Message):
    __slots__ = ('partition_index', 'committed_offset', 'committed_leader_epoch', 'metadata', 'error_code')
    NAME = "Partitions"
    VERSIONS = Versions(1, 10)
    FLEXIBLE = Versions(6, 32767)
    FIELDS = (
        Field('partition_index', "int32", versions=Versions(8, 32767), default=0),
        Field('committed_offset', "int64", versions=Versions(8, 32767), default=0),
        Field('committed_leader_epoch', "int32", versions=Versions(8, 32767), default=-1),
        Field('metadata', "string", versions=Versions(8, 32767), nullable=Versions(8, 32767), default=""),
        Field('error_code', "int16", versions=Versions(8, 32767), default=0),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index: int = partition_index
        self.committed_offset: int = committed_offset
        self.committed_leader_epoch: int = committed_leader_epoch
        self.metadata: str | None = metadata
        self.error_code: int = error_code


class OffsetFetchResponseTopics(Message):
    __slots__ = ('name', 'topic_id', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(1, 10)
    FLEXIBLE = Versions(6, 32767)
    FIELDS = (
        Field('name', "string", versions=Versions(8, 9), default=""),
        Field('topic_id', "uuid", versions=Versions(10, 32767), default=ZERO_UUID),
        Field('partitions', OffsetFetchResponsePartitions, array=True, versions=Versions(8, 32767), default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: Sequence[OffsetFetchResponsePartitions] = (),
    ) -> None:
        self.name: str = name
        self.topic_id: UUID = topic_id
        self.partitions: Sequence[OffsetFetchResponsePartitions] = partitions


class OffsetFetchResponseGroup(Message):
    __slots__ = ('group_id', 'topics', 'error_code')
    NAME = "Groups"
    VERSIONS = Versions(1, 10)
    FLEXIBLE = Versions(6, 32767)
    FIELDS = (
        Field('group_id', "string", versions=Versions(8, 32767), default=""),
        Field('topics', OffsetFetchResponseTopics, array=True, versions=Versions(8, 32767), default=()),
        Field('error_code', "int16", versions=Versions(8, 32767), default=0),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: Sequence[OffsetFetchResponseTopics] = (),
        error_code: int = 0,
    ) -> None:
        self.group_id: str = group_id
        self.topics: Sequence[OffsetFetchResponseTopics] = topics
        self.error_code: int = error_code


class OffsetFetchResponse(Message):
    __slots__ = ('throttle_time_ms', 'topics', 'error_code', 'groups')
    NAME = "OffsetFetchResponse"
    API_KEY = 9
    VERSIONS = Versions(1, 10)
    FLEXIBLE = Versions(6, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", versions=Versions(3, 32767), default=0),
        Field('topics', OffsetFetchResponseTopic, array=True, versions=Versions(0, 7), default=()),
        Field('error_code', "int16", versions=Versions(2, 7), default=0),
        Field('groups', OffsetFetchResponseGroup, array=True, versions=Versions(8, 32767), default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[OffsetFetchResponseTopic] = (),
        error_code: int = 0,
        groups: Sequence[OffsetFetchResponseGroup] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: Sequence[OffsetFetchResponseTopic] = topics
        self.error_code: int = error_code
        self.groups: Sequence[OffsetFetchResponseGroup] = groups
