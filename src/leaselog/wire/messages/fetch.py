"""Fetch, key 1. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["AbortedTransaction", "EpochEndOffset", "FetchPartition", "FetchRequest", "FetchResponse", "FetchTopic", "FetchableTopicResponse", "ForgottenTopic", "LeaderIdAndEpoch", "NodeEndpoint", "PartitionData", "ReplicaState", "SnapshotId"]


class ReplicaState(Message):
    __slots__ = ('replica_id', 'replica_epoch')
    NAME = "ReplicaState"
    VERSIONS = Versions(4, 18)
    FLEXIBLE = Versions(12, 32767)
    FIELDS = (
        Field('replica_id', "int32", versions=Versions(15, 32767), default=-1),
        Field('replica_epoch', "int64", versions=Versions(15, 32767), default=-1),
    )

    def __init__(
        self,
        *,
        replica_id: int = -1,
        replica_epoch: int = -1,
    ) -> None:
        self.replica_id: int = replica_id
        self.replica_epoch: int = replica_epoch


class FetchPartition(Message):
    __slots__ = ('partition', 'current_leader_epoch', 'fetch_offset', 'last_fetched_epoch', 'log_start_offset', 'partition_max_bytes', 'replica_directory_id', 'high_watermark')
    NAME = "Partitions"
    VERSIONS = Versions(4, 18)
    FLEXIBLE = Versions(12, 32767)
    FIELDS = (
        Field('partition', "int32", default=0),
        Field('current_leader_epoch', "int32", versions=Versions(9, 32767), default=-1),
        Field('fetch_offset', "int64", default=0),
        Field('last_fetched_epoch', "int32", versions=Versions(12, 32767), default=-1),
        Field('log_start_offset', "int64", versions=Versions(5, 32767), default=-1),
        Field('partition_max_bytes', "int32", default=0),
        Field('replica_directory_id', "uuid", versions=Versions(17, 32767), tag=0, tagged=Versions(17, 32767), default=ZERO_UUID),
        Field('high_watermark', "int64", versions=Versions(18, 32767), tag=1, tagged=Versions(18, 32767), default=9223372036854775807),
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        current_leader_epoch: int = -1,
        fetch_offset: int = 0,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
        partition_max_bytes: int = 0,
        replica_directory_id: UUID = ZERO_UUID,
        high_watermark: int = 9223372036854775807,
    ) -> None:
        self.partition: int = partition
        self.current_leader_epoch: int = current_leader_epoch
        self.fetch_offset: int = fetch_offset
        self.last_fetched_epoch: int = last_fetched_epoch
        self.log_start_offset: int = log_start_offset
        self.partition_max_bytes: int = partition_max_bytes
        self.replica_directory_id: UUID = replica_directory_id
        self.high_watermark: int = high_watermark


class FetchTopic(Message):
    __slots__ = ('topic', 'topic_id', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(4, 18)
    FLEXIBLE = Versions(12, 32767)
    FIELDS = (
        Field('topic', "string", versions=Versions(0, 12), default=""),
        Field('topic_id', "uuid", versions=Versions(13, 32767), default=ZERO_UUID),
        Field('partitions', FetchPartition, array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: Sequence[FetchPartition] = (),
    ) -> None:
        self.topic: str = topic
        self.topic_id: UUID = topic_id
        self.partitions: Sequence[FetchPartition] = partitions


class ForgottenTopic(Message):
    __slots__ = ('topic', 'topic_id', 'partitions')
    NAME = "ForgottenTopicsData"
    VERSIONS = Versions(4, 18)
    FLEXIBLE = Versions(12, 32767)
    FIELDS = (
        Field('topic', "string", versions=Versions(7, 12), default=""),
        Field('topic_id', "uuid", versions=Versions(13, 32767), default=ZERO_UUID),
        Field('partitions', "int32", array=True, versions=Versions(7, 32767), default=()),
    )

    def __init__(
        self,
        *,
        topic: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic: str = topic
        self.topic_id: UUID = topic_id
        self.partitions: Sequence[int] = partitions


class FetchRequest(Message):
    __slots__ = ('cluster_id', 'replica_id', 'replica_state', 'max_wait_ms', 'min_bytes', 'max_bytes', 'isolation_level', 'session_id', 'session_epoch', 'topics', 'forgotten_topics_data', 'rack_id')
    NAME = "FetchRequest"
    API_KEY = 1
    VERSIONS = Versions(4, 18)
    FLEXIBLE = Versions(12, 32767)
    FIELDS = (
        Field('cluster_id', "string", versions=Versions(12, 32767), nullable=Versions(12, 32767), tag=0, tagged=Versions(12, 32767), default=None),
        Field('replica_id', "int32", versions=Versions(0, 14), default=-1),
        Field('replica_state', ReplicaState, versions=Versions(15, 32767), tag=1, tagged=Versions(15, 32767), default=None),
        Field('max_wait_ms', "int32", default=0),
        Field('min_bytes', "int32", default=0),
        Field('max_bytes', "int32", versions=Versions(3, 32767), default=2147483647),
        Field('isolation_level', "int8", versions=Versions(4, 32767), default=0),
        Field('session_id', "int32", versions=Versions(7, 32767), default=0),
        Field('session_epoch', "int32", versions=Versions(7, 32767), default=-1),
        Field('topics', FetchTopic, array=True, default=()),
        Field('forgotten_topics_data', ForgottenTopic, array=True, versions=Versions(7, 32767), default=()),
        Field('rack_id', "string", versions=Versions(11, 32767), default=""),
    )

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        replica_id: int = -1,
        replica_state: ReplicaState | None = None,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        topics: Sequence[FetchTopic] = (),
        forgotten_topics_data: Sequence[ForgottenTopic] = (),
        rack_id: str = "",
    ) -> None:
        self.cluster_id: str | None = cluster_id
        self.replica_id: int = replica_id
        self.replica_state: ReplicaState | None = replica_state
        self.max_wait_ms: int = max_wait_ms
        self.min_bytes: int = min_bytes
        self.max_bytes: int = max_bytes
        self.isolation_level: int = isolation_level
        self.session_id: int = session_id
        self.session_epoch: int = session_epoch
        self.topics: Sequence[FetchTopic] = topics
        self.forgotten_topics_data: Sequence[ForgottenTopic] = forgotten_topics_data
        self.rack_id: str = rack_id


class EpochEndOffset(Message):
    __slots__ = ('epoch', 'end_offset')
    NAME = "DivergingEpoch"
    VERSIONS = Versions(4, 18)
    FLEXIBLE = Versions(12, 32767)
    FIELDS = (
        Field('epoch', "int32", versions=Versions(12, 32767), default=-1),
        Field('end_offset', "int64", versions=Versions(12, 32767), default=-1),
    )

    def __init__(
        self,
        *,
        epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.epoch: int = epoch
        self.end_offset: int = end_offset


class LeaderIdAndEpoch(Message):
    __slots__ = ('leader_id', 'leader_epoch')
    NAME = "CurrentLeader"
    VERSIONS = Versions(4, 18)
    FLEXIBLE = Versions(12, 32767)
    FIELDS = (
        Field('leader_id', "int32", versions=Versions(12, 32767), default=-1),
        Field('leader_epoch', "int32", versions=Versions(12, 32767), default=-1),
    )

    def __init__(
        self,
        *,
        leader_id: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch


class SnapshotId(Message):
    __slots__ = ('end_offset', 'epoch')
    NAME = "SnapshotId"
    VERSIONS = Versions(4, 18)
    FLEXIBLE = Versions(12, 32767)
    FIELDS = (
        Field('end_offset', "int64", default=-1),
        Field('epoch', "int32", default=-1),
    )

    def __init__(
        self,
        *,
        end_offset: int = -1,
        epoch: int = -1,
    ) -> None:
        self.end_offset: int = end_offset
        self.epoch: int = epoch


class AbortedTransaction(Message):
    __slots__ = ('producer_id', 'first_offset')
    NAME = "AbortedTransactions"
    VERSIONS = Versions(4, 18)
    FLEXIBLE = Versions(12, 32767)
    FIELDS = (
        Field('producer_id', "int64", versions=Versions(4, 32767), default=0),
        Field('first_offset', "int64", versions=Versions(4, 32767), default=0),
    )

    def __init__(
        self,
        *,
        producer_id: int = 0,
        first_offset: int = 0,
    ) -> None:
        self.producer_id: int = producer_id
        self.first_offset: int = first_offset


class PartitionData(Message):
    __slots__ = ('partition_index', 'error_code', 'high_watermark', 'last_stable_offset', 'log_start_offset', 'diverging_epoch', 'current_leader', 'snapshot_id', 'aborted_transactions', 'preferred_read_replica', 'records')
    NAME = "Partitions"
    VERSIONS = Versions(4, 18)
    FLEXIBLE = Versions(12, 32767)
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('high_watermark', "int64", default=0),
        Field('last_stable_offset', "int64", versions=Versions(4, 32767), default=-1),
        Field('log_start_offset', "int64", versions=Versions(5, 32767), default=-1),
        Field('diverging_epoch', EpochEndOffset, versions=Versions(12, 32767), tag=0, tagged=Versions(12, 32767), default=None),
        Field('current_leader', LeaderIdAndEpoch, versions=Versions(12, 32767), tag=1, tagged=Versions(12, 32767), default=None),
        Field('snapshot_id', SnapshotId, versions=Versions(12, 32767), tag=2, tagged=Versions(12, 32767), default=None),
        Field('aborted_transactions', AbortedTransaction, array=True, versions=Versions(4, 32767), nullable=Versions(4, 32767), default=()),
        Field('preferred_read_replica', "int32", versions=Versions(11, 32767), default=-1),
        Field('records', "records", nullable=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        high_watermark: int = 0,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        diverging_epoch: EpochEndOffset | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        snapshot_id: SnapshotId | None = None,
        aborted_transactions: Sequence[AbortedTransaction] | None = (),
        preferred_read_replica: int = -1,
        records: Buffer | None = None,
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.high_watermark: int = high_watermark
        self.last_stable_offset: int = last_stable_offset
        self.log_start_offset: int = log_start_offset
        self.diverging_epoch: EpochEndOffset | None = diverging_epoch
        self.current_leader: LeaderIdAndEpoch | None = current_leader
        self.snapshot_id: SnapshotId | None = snapshot_id
        self.aborted_transactions: Sequence[AbortedTransaction] | None = aborted_transactions
        self.preferred_read_replica: int = preferred_read_replica
        self.records: Buffer | None = records


class FetchableTopicResponse(Message):
    __slots__ = ('topic', 'topic_id', 'partitions')
    NAME = "Responses"
    VERSIONS = Versions(4, 18)
    FLEXIBLE = Versions(12, 32767)
    FIELDS = (
        Field('topic', "string", versions=Versions(0, 12), default=""),
        Field('topic_id', "uuid", versions=Versions(13, 32767), default=ZERO_UUID),
        Field('partitions', PartitionData, array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: Sequence[PartitionData] = (),
    ) -> None:
        self.topic: str = topic
        self.topic_id: UUID = topic_id
        self.partitions: Sequence[PartitionData] = partitions


class NodeEndpoint(Message):
    __slots__ = ('node_id', 'host', 'port', 'rack')
    NAME = "NodeEndpoints"
    VERSIONS = Versions(4, 18)
    FLEXIBLE = Versions(12, 32767)
    FIELDS = (
        Field('node_id', "int32", versions=Versions(16, 32767), default=0),
        Field('host', "string", versions=Versions(16, 32767), default=""),
        Field('port', "int32", versions=Versions(16, 32767), default=0),
        Field('rack', "string", versions=Versions(16, 32767), nullable=Versions(16, 32767), default=None),
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


class FetchResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'session_id', 'responses', 'node_endpoints')
    NAME = "FetchResponse"
    API_KEY = 1
    VERSIONS = Versions(4, 18)
    FLEXIBLE = Versions(12, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", versions=Versions(1, 32767), default=0),
        Field('error_code', "int16", versions=Versions(7, 32767), default=0),
        Field('session_id', "int32", versions=Versions(7, 32767), default=0),
        Field('responses', FetchableTopicResponse, array=True, default=()),
        Field('node_endpoints', NodeEndpoint, array=True, versions=Versions(16, 32767), tag=0, tagged=Versions(16, 32767), default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
        responses: Sequence[FetchableTopicResponse] = (),
        node_endpoints: Sequence[NodeEndpoint] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.session_id: int = session_id
        self.responses: Sequence[FetchableTopicResponse] = responses
        self.node_endpoints: Sequence[NodeEndpoint] = node_endpoints
