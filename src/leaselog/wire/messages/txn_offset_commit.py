"""TxnOffsetCommit, key 28. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["TxnOffsetCommitRequest", "TxnOffsetCommitRequestPartition", "TxnOffsetCommitRequestTopic", "TxnOffsetCommitResponse", "TxnOffsetCommitResponsePartition", "TxnOffsetCommitResponseTopic"]


class TxnOffsetCommitRequestPartition(Message):
    __slots__ = ('partition_index', 'committed_offset', 'committed_leader_epoch', 'committed_metadata')
    NAME = "Partitions"
    VERSIONS = Versions(0, 6)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('committed_offset', "int64", default=0),
        Field('committed_leader_epoch', "int32", versions=Versions(2, 32767), default=-1),
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


class TxnOffsetCommitRequestTopic(Message):
    __slots__ = ('name', 'topic_id', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(0, 6)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('name', "string", versions=Versions(0, 5), default=""),
        Field('topic_id', "uuid", versions=Versions(6, 32767), default=ZERO_UUID),
        Field('partitions', TxnOffsetCommitRequestPartition, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: Sequence[TxnOffsetCommitRequestPartition] = (),
    ) -> None:
        self.name: str = name
        self.topic_id: UUID = topic_id
        self.partitions: Sequence[TxnOffsetCommitRequestPartition] = partitions


class TxnOffsetCommitRequest(Message):
    __slots__ = ('transactional_id', 'group_id', 'producer_id', 'producer_epoch', 'generation_id_or_member_epoch', 'member_id', 'group_instance_id', 'topics')
    NAME = "TxnOffsetCommitRequest"
    API_KEY = 28
    VERSIONS = Versions(0, 6)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('transactional_id', "string", default=""),
        Field('group_id', "string", default=""),
        Field('producer_id', "int64", default=0),
        Field('producer_epoch', "int16", default=0),
        Field('generation_id_or_member_epoch', "int32", versions=Versions(3, 32767), default=-1),
        Field('member_id', "string", versions=Versions(3, 32767), default=""),
        Field('group_instance_id', "string", versions=Versions(3, 32767), nullable=Versions(3, 32767), default=None),
        Field('topics', TxnOffsetCommitRequestTopic, array=True, default=()),
    )

    def __init__(
        self,
        *,
        transactional_id: str = "",
        group_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        generation_id_or_member_epoch: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        topics: Sequence[TxnOffsetCommitRequestTopic] = (),
    ) -> None:
        self.transactional_id: str = transactional_id
        self.group_id: str = group_id
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.generation_id_or_member_epoch: int = generation_id_or_member_epoch
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.topics: Sequence[TxnOffsetCommitRequestTopic] = topics


class TxnOffsetCommitResponsePartition(Message):
    __slots__ = ('partition_index', 'error_code')
    NAME = "Partitions"
    VERSIONS = Versions(0, 6)
    FLEXIBLE = Versions(3, 32767)
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


class TxnOffsetCommitResponseTopic(Message):
    __slots__ = ('name', 'topic_id', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(0, 6)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('name', "string", versions=Versions(0, 5), default=""),
        Field('topic_id', "uuid", versions=Versions(6, 32767), default=ZERO_UUID),
        Field('partitions', TxnOffsetCommitResponsePartition, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: Sequence[TxnOffsetCommitResponsePartition] = (),
    ) -> None:
        self.name: str = name
        self.topic_id: UUID = topic_id
        self.partitions: Sequence[TxnOffsetCommitResponsePartition] = partitions


class TxnOffsetCommitResponse(Message):
    __slots__ = ('throttle_time_ms', 'topics')
    NAME = "TxnOffsetCommitResponse"
    API_KEY = 28
    VERSIONS = Versions(0, 6)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('topics', TxnOffsetCommitResponseTopic, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[TxnOffsetCommitResponseTopic] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: Sequence[TxnOffsetCommitResponseTopic] = topics
