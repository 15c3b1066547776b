"""DescribeQuorum, key 55. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["DescribeQuorumRequest", "DescribeQuorumResponse", "DescribeQuorumResponsePartitionData", "DescribeQuorumResponseTopicData", "Listener", "Node", "PartitionData", "ReplicaState", "TopicData"]


class PartitionData(Message):
    __slots__ = ('partition_index',)
    NAME = "Partitions"
    VERSIONS = Versions(0, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('partition_index', "int32", default=0),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
    ) -> None:
        self.partition_index: int = partition_index


class TopicData(Message):
    __slots__ = ('topic_name', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(0, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_name', "string", default=""),
        Field('partitions', PartitionData, array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
        partitions: Sequence[PartitionData] = (),
    ) -> None:
        self.topic_name: str = topic_name
        self.partitions: Sequence[PartitionData] = partitions


class DescribeQuorumRequest(Message):
    __slots__ = ('topics',)
    NAME = "DescribeQuorumRequest"
    API_KEY = 55
    VERSIONS = Versions(0, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topics', TopicData, array=True, default=()),
    )

    def __init__(
        self,
        *,
        topics: Sequence[TopicData] = (),
    ) -> None:
        self.topics: Sequence[TopicData] = topics


class ReplicaState(Message):
    __slots__ = ('replica_id', 'replica_directory_id', 'log_end_offset', 'last_fetch_timestamp', 'last_caught_up_timestamp')
    NAME = "ReplicaState"
    VERSIONS = Versions(0, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('replica_id', "int32", default=0),
        Field('replica_directory_id', "uuid", versions=Versions(2, 32767), default=ZERO_UUID),
        Field('log_end_offset', "int64", default=0),
        Field('last_fetch_timestamp', "int64", versions=Versions(1, 32767), default=-1),
        Field('last_caught_up_timestamp', "int64", versions=Versions(1, 32767), default=-1),
    )

    def __init__(
        self,
        *,
        replica_id: int = 0,
        replica_directory_id: UUID = ZERO_UUID,
        log_end_offset: int = 0,
        last_fetch_timestamp: int = -1,
        last_caught_up_timestamp: int = -1,
    ) -> None:
        self.replica_id: int = replica_id
        self.replica_directory_id: UUID = replica_directory_id
        self.log_end_offset: int = log_end_offset
        self.last_fetch_timestamp: int = last_fetch_timestamp
        self.last_caught_up_timestamp: int = last_caught_up_timestamp


class DescribeQuorumResponsePartitionData(Message):
    __slots__ = ('partition_index', 'error_code', 'error_message', 'leader_id', 'leader_epoch', 'high_watermark', 'current_voters', 'observers')
    NAME = "Partitions"
    VERSIONS = Versions(0, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", versions=Versions(2, 32767), nullable=Versions(2, 32767), default=""),
        Field('leader_id', "int32", default=0),
        Field('leader_epoch', "int32", default=0),
        Field('high_watermark', "int64", default=0),
        Field('current_voters', ReplicaState, array=True, default=()),
        Field('observers', ReplicaState, array=True, default=()),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        leader_id: int = 0,
        leader_epoch: int = 0,
        high_watermark: int = 0,
        current_voters: Sequence[ReplicaState] = (),
        observers: Sequence[ReplicaState] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch
        self.high_watermark: int = high_watermark
        self.current_voters: Sequence[ReplicaState] = current_voters
        self.observers: Sequence[ReplicaState] = observers


class DescribeQuorumResponseTopicData(Message):
    __slots__ = ('topic_name', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(0, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_name', "string", default=""),
        Field('partitions', DescribeQuorumResponsePartitionData, array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
        partitions: Sequence[DescribeQuorumResponsePartitionData] = (),
    ) -> None:
        self.topic_name: str = topic_name
        self.partitions: Sequence[DescribeQuorumResponsePartitionData] = partitions


class Listener(Message):
    __slots__ = ('name', 'host', 'port')
    NAME = "Listeners"
    VERSIONS = Versions(0, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", versions=Versions(2, 32767), default=""),
        Field('host', "string", versions=Versions(2, 32767), default=""),
        Field('port', "uint16", versions=Versions(2, 32767), default=0),
    )

    def __init__(
        self,
        *,
        name: str = "",
        host: str = "",
        port: int = 0,
    ) -> None:
        self.name: str = name
        self.host: str = host
        self.port: int = port


class Node(Message):
    __slots__ = ('node_id', 'listeners')
    NAME = "Nodes"
    VERSIONS = Versions(0, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('node_id', "int32", versions=Versions(2, 32767), default=0),
        Field('listeners', Listener, array=True, versions=Versions(2, 32767), default=()),
    )

    def __init__(
        self,
        *,
        node_id: int = 0,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.node_id: int = node_id
        self.listeners: Sequence[Listener] = listeners


class DescribeQuorumResponse(Message):
    __slots__ = ('error_code', 'error_message', 'topics', 'nodes')
    NAME = "DescribeQuorumResponse"
    API_KEY = 55
    VERSIONS = Versions(0, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('error_message', "string", versions=Versions(2, 32767), nullable=Versions(2, 32767), default=""),
        Field('topics', DescribeQuorumResponseTopicData, array=True, default=()),
        Field('nodes', Node, array=True, versions=Versions(2, 32767), default=()),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        topics: Sequence[DescribeQuorumResponseTopicData] = (),
        nodes: Sequence[Node] = (),
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.topics: Sequence[DescribeQuorumResponseTopicData] = topics
        self.nodes: Sequence[Node] = nodes
