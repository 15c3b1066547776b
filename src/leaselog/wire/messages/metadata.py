"""Metadata, key 3. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.schema import Field, Message, Versions

__all__ = ["MetadataRequest", "MetadataRequestTopic", "MetadataResponse", "MetadataResponseBroker", "MetadataResponsePartition", "MetadataResponseTopic"]


class MetadataRequestTopic(Message):
    __slots__ = ('topic_id', 'name')
    NAME = "Topics"
    VERSIONS = Versions(0, 13)
    FLEXIBLE = Versions(9, 32767)
    FIELDS = (
        Field('topic_id', "uuid", versions=Versions(10, 32767), default=ZERO_UUID),
        Field('name', "string", nullable=Versions(10, 32767), default=""),
    )

    def __init__(
        self,
        *,
        topic_id: UUID = ZERO_UUID,
        name: str | None = "",
    ) -> None:
        self.topic_id: UUID = topic_id
        self.name: str | None = name


class MetadataRequest(Message):
    __slots__ = ('topics', 'allow_auto_topic_creation', 'include_cluster_authorized_operations', 'include_topic_authorized_operations')
    NAME = "MetadataRequest"
    API_KEY = 3
    VERSIONS = Versions(0, 13)
    FLEXIBLE = Versions(9, 32767)
    FIELDS = (
        Field('topics', MetadataRequestTopic, array=True, nullable=Versions(1, 32767), default=()),
        Field('allow_auto_topic_creation', "bool", versions=Versions(4, 32767), default=True),
        Field('include_cluster_authorized_operations', "bool", versions=Versions(8, 10), default=False),
        Field('include_topic_authorized_operations', "bool", versions=Versions(8, 32767), default=False),
    )

    def __init__(
        self,
        *,
        topics: Sequence[MetadataRequestTopic] | None = (),
        allow_auto_topic_creation: bool = True,
        include_cluster_authorized_operations: bool = False,
        include_topic_authorized_operations: bool = False,
    ) -> None:
        self.topics: Sequence[MetadataRequestTopic] | None = topics
        self.allow_auto_topic_creation: bool = allow_auto_topic_creation
        self.include_cluster_authorized_operations: bool = include_cluster_authorized_operations
        self.include_topic_authorized_operations: bool = include_topic_authorized_operations


class MetadataResponseBroker(Message):
    __slots__ = ('node_id', 'host', 'port', 'rack')
    NAME = "Brokers"
    VERSIONS = Versions(0, 13)
    FLEXIBLE = Versions(9, 32767)
    FIELDS = (
        Field('node_id', "int32", default=0),
        Field('host', "string", default=""),
        Field('port', "int32", default=0),
        Field('rack', "string", versions=Versions(1, 32767), nullable=Versions(1, 32767), default=None),
    )

    def __init__(
        self,
        *,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
    ) -> None:
        self.node_id: int = node_id
        self.host: str = host
        self.port: int = port
        self.rack: str | None = rack


class MetadataResponsePartition(Message):
    __slots__ = ('error_code', 'partition_index', 'leader_id', 'leader_epoch', 'replica_nodes', 'isr_nodes', 'offline_replicas')
    NAME = "Partitions"
    VERSIONS = Versions(0, 13)
    FLEXIBLE = Versions(9, 32767)
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('partition_index', "int32", default=0),
        Field('leader_id', "int32", default=0),
        Field('leader_epoch', "int32", versions=Versions(7, 32767), default=-1),
        Field('replica_nodes', "int32", array=True, default=()),
        Field('isr_nodes', "int32", array=True, default=()),
        Field('offline_replicas', "int32", array=True, versions=Versions(5, 32767), default=()),
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
        offline_replicas: Sequence[int] = (),
    ) -> None:
        self.error_code: int = error_code
        self.partition_index: int = partition_index
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch
        self.replica_nodes: Sequence[int] = replica_nodes
        self.isr_nodes: Sequence[int] = isr_nodes
        self.offline_replicas: Sequence[int] = offline_replicas


class MetadataResponseTopic(Message):
    __slots__ = ('error_code', 'name', 'topic_id', 'is_internal', 'partitions', 'topic_authorized_operations')
    NAME = "Topics"
    VERSIONS = Versions(0, 13)
    FLEXIBLE = Versions(9, 32767)
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('name', "string", nullable=Versions(12, 32767), default=""),
        Field('topic_id', "uuid", versions=Versions(10, 32767), default=ZERO_UUID),
        Field('is_internal', "bool", versions=Versions(1, 32767), default=False),
        Field('partitions', MetadataResponsePartition, array=True, default=()),
        Field('topic_authorized_operations', "int32", versions=Versions(8, 32767), default=-2147483648),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        name: str | None = "",
        topic_id: UUID = ZERO_UUID,
        is_internal: bool = False,
        partitions: Sequence[MetadataResponsePartition] = (),
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code: int = error_code
        self.name: str | None = name
        self.topic_id: UUID = topic_id
        self.is_internal: bool = is_internal
        self.partitions: Sequence[MetadataResponsePartition] = partitions
        self.topic_authorized_operations: int = topic_authorized_operations


class MetadataResponse(Message):
    __slots__ = ('throttle_time_ms', 'brokers', 'cluster_id', 'controller_id', 'topics', 'cluster_authorized_operations', 'error_code')
    NAME = "MetadataResponse"
    API_KEY = 3
    VERSIONS = Versions(0, 13)
    FLEXIBLE = Versions(9, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", versions=Versions(3, 32767), default=0),
        Field('brokers', MetadataResponseBroker, array=True, default=()),
        Field('cluster_id', "string", versions=Versions(2, 32767), nullable=Versions(2, 32767), default=None),
        Field('controller_id', "int32", versions=Versions(1, 32767), default=-1),
        Field('topics', MetadataResponseTopic, array=True, default=()),
        Field('cluster_authorized_operations', "int32", versions=Versions(8, 10), default=-2147483648),
        Field('error_code', "int16", versions=Versions(13, 32767), default=0),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        brokers: Sequence[MetadataResponseBroker] = (),
        cluster_id: str | None = None,
        controller_id: int = -1,
        topics: Sequence[MetadataResponseTopic] = (),
        cluster_authorized_operations: int = -2147483648,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.brokers: Sequence[MetadataResponseBroker] = brokers
        self.cluster_id: str | None = cluster_id
        self.controller_id: int = controller_id
        self.topics: Sequence[MetadataResponseTopic] = topics
        self.cluster_authorized_operations: int = cluster_authorized_operations
        self.error_code: int = error_code
