"""DescribeTopicPartitions, key 75. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["Cursor", "DescribeTopicPartitionsRequest", "DescribeTopicPartitionsResponse", "DescribeTopicPartitionsResponsePartition", "DescribeTopicPartitionsResponseTopic", "TopicRequest"]


class TopicRequest(Message):
    __slots__ = ('name',)
    NAME = "Topics"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
    )

    def __init__(
        self,
        *,
        name: str = "",
    ) -> None:
        self.name: str = name


class Cursor(Message):
    __slots__ = ('topic_name', 'partition_index')
    NAME = "Cursor"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_name', "string", default=""),
        Field('partition_index', "int32", default=0),
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name: str = topic_name
        self.partition_index: int = partition_index


class DescribeTopicPartitionsRequest(Message):
    __slots__ = ('topics', 'response_partition_limit', 'cursor')
    NAME = "DescribeTopicPartitionsRequest"
    API_KEY = 75
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topics', TopicRequest, array=True, default=()),
        Field('response_partition_limit', "int32", default=2000),
        Field('cursor', Cursor, nullable=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        topics: Sequence[TopicRequest] = (),
        response_partition_limit: int = 2000,
        cursor: Cursor | None = None,
    ) -> None:
        self.topics: Sequence[TopicRequest] = topics
        self.response_partition_limit: int = response_partition_limit
        self.cursor: Cursor | None = cursor


class DescribeTopicPartitionsResponsePartition(Message):
    __slots__ = ('error_code', 'partition_index', 'leader_id', 'leader_epoch', 'replica_nodes', 'isr_nodes', 'eligible_leader_replicas', 'last_known_elr', 'offline_replicas')
    NAME = "Partitions"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('partition_index', "int32", default=0),
        Field('leader_id', "int32", default=0),
        Field('leader_epoch', "int32", default=-1),
        Field('replica_nodes', "int32", array=True, default=()),
        Field('isr_nodes', "int32", array=True, default=()),
        Field('eligible_leader_replicas', "int32", array=True, nullable=ALWAYS, default=None),
        Field('last_known_elr', "int32", array=True, nullable=ALWAYS, default=None),
        Field('offline_replicas', "int32", array=True, default=()),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: Sequence[int] = (),
        isr_nodes: Sequence[int] = (),
        eligible_leader_replicas: Sequence[int] | None = None,
        last_known_elr: Sequence[int] | None = None,
        offline_replicas: Sequence[int] = (),
    ) -> None:
        self.error_code: int = error_code
        self.partition_index: int = partition_index
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch
        self.replica_nodes: Sequence[int] = replica_nodes
        self.isr_nodes: Sequence[int] = isr_nodes
        self.eligible_leader_replicas: Sequence[int] | None = eligible_leader_replicas
        self.last_known_elr: Sequence[int] | None = last_known_elr
        self.offline_replicas: Sequence[int] = offline_replicas


class DescribeTopicPartitionsResponseTopic(Message):
    __slots__ = ('error_code', 'name', 'topic_id', 'is_internal', 'partitions', 'topic_authorized_operations')
    NAME = "Topics"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('name', "string", nullable=ALWAYS, default=""),
        Field('topic_id', "uuid", default=ZERO_UUID),
        Field('is_internal', "bool", default=False),
        Field('partitions', DescribeTopicPartitionsResponsePartition, array=True, default=()),
        Field('topic_authorized_operations', "int32", default=-2147483648),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        name: str | None = "",
        topic_id: UUID = ZERO_UUID,
        is_internal: bool = False,
        partitions: Sequence[DescribeTopicPartitionsResponsePartition] = (),
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code: int = error_code
        self.name: str | None = name
        self.topic_id: UUID = topic_id
        self.is_internal: bool = is_internal
        self.partitions: Sequence[DescribeTopicPartitionsResponsePartition] = partitions
        self.topic_authorized_operations: int = topic_authorized_operations


class DescribeTopicPartitionsResponse(Message):
    __slots__ = ('throttle_time_ms', 'topics', 'next_cursor')
    NAME = "DescribeTopicPartitionsResponse"
    API_KEY = 75
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('topics', DescribeTopicPartitionsResponseTopic, array=True, default=()),
        Field('next_cursor', Cursor, nullable=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[DescribeTopicPartitionsResponseTopic] = (),
        next_cursor: Cursor | None = None,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: Sequence[DescribeTopicPartitionsResponseTopic] = topics
        self.next_cursor: Cursor | None = next_cursor
