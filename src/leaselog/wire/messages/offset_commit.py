"""OffsetCommit, key 8. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["OffsetCommitRequest", "OffsetCommitRequestPartition", "OffsetCommitRequestTopic", "OffsetCommitResponse", "OffsetCommitResponsePartition", "OffsetCommitResponseTopic"]


class OffsetCommitRequestPartition(Message):
    __slots__ = ('partition_index', 'committed_offset', 'committed_leader_epoch', 'committed_metadata')
    NAME = "Partitions"
    VERSIONS = Versions(2, 10)
    FLEXIBLE = Versions(8, 32767)
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('committed_offset', "int64", default=0),
        Field('committed_leader_epoch', "int32", versions=Versions(6, 32767), default=-1),
        Field('committed_metadata', "string", nullable=ALWAYS, default=""),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        committed_metadata: str | None = "",
    ) -> None:
        self.partition_index: int = partition_index
        self.committed_offset: int = committed_offset
        self.committed_leader_epoch: int = committed_leader_epoch
        self.committed_metadata: str | None = committed_metadata


class OffsetCommitRequestTopic(Message):
    __slots__ = ('name', 'topic_id', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(2, 10)
    FLEXIBLE = Versions(8, 32767)
    FIELDS = (
        Field('name', "string", versions=Versions(0, 9), default=""),
        Field('topic_id', "uuid", versions=Versions(10, 32767), default=ZERO_UUID),
        Field('partitions', OffsetCommitRequestPartition, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: Sequence[OffsetCommitRequestPartition] = (),
    ) -> None:
        self.name: str = name
        self.topic_id: UUID = topic_id
        self.partitions: Sequence[OffsetCommitRequestPartition] = partitions


class OffsetCommitRequest(Message):
    __slots__ = ('group_id', 'generation_id_or_member_epoch', 'member_id', 'group_instance_id', 'retention_time_ms', 'topics')
    NAME = "OffsetCommitRequest"
    API_KEY = 8
    VERSIONS = Versions(2, 10)
    FLEXIBLE = Versions(8, 32767)
    FIELDS = (
        Field('group_id', "string", default=""),
        Field('generation_id_or_member_epoch', "int32", versions=Versions(1, 32767), default=-1),
        Field('member_id', "string", versions=Versions(1, 32767), default=""),
        Field('group_instance_id', "string", versions=Versions(7, 32767), nullable=Versions(7, 32767), default=None),
        Field('retention_time_ms', "int64", versions=Versions(2, 4), default=-1),
        Field('topics', OffsetCommitRequestTopic, array=True, default=()),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        generation_id_or_member_epoch: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        retention_time_ms: int = -1,
        topics: Sequence[OffsetCommitRequestTopic] = (),
    ) -> None:
        self.group_id: str = group_id
        self.generation_id_or_member_epoch: int = generation_id_or_member_epoch
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.retention_time_ms: int = retention_time_ms
        self.topics: Sequence[OffsetCommitRequestTopic] = topics


class OffsetCommitResponsePartition(Message):
    __slots__ = ('partition_index', 'error_code')
    NAME = "Partitions"
    VERSIONS = Versions(2, 10)
    FLEXIBLE = Versions(8, 32767)
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


class OffsetCommitResponseTopic(Message):
    __slots__ = ('name', 'topic_id', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(2, 10)
    FLEXIBLE = Versions(8, 32767)
    FIELDS = (
        Field('name', "string", versions=Versions(0, 9), default=""),
        Field('topic_id', "uuid", versions=Versions(10, 32767), default=ZERO_UUID),
        Field('partitions', OffsetCommitResponsePartition, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: Sequence[OffsetCommitResponsePartition] = (),
    ) -> None:
        self.name: str = name
        self.topic_id: UUID = topic_id
        self.partitions: Sequence[OffsetCommitResponsePartition] = partitions


class OffsetCommitResponse(Message):
    __slots__ = ('throttle_time_ms', 'topics')
    NAME = "OffsetCommitResponse"
    API_KEY = 8
    VERSIONS = Versions(2, 10)
    FLEXIBLE = Versions(8, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", versions=Versions(3, 32767), default=0),
        Field('topics', OffsetCommitResponseTopic, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[OffsetCommitResponseTopic] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: Sequence[OffsetCommitResponseTopic] = topics
