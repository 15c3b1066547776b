"""ShareFetch, key 78. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["AcknowledgementBatch", "AcquiredRecords", "FetchPartition", "FetchTopic", "ForgottenTopic", "LeaderIdAndEpoch", "NodeEndpoint", "PartitionData", "ShareFetchRequest", "ShareFetchResponse", "ShareFetchableTopicResponse"]


class AcknowledgementBatch(Message):
    __slots__ = ('first_offset', 'last_offset', 'acknowledge_types')
    NAME = "AcknowledgementBatches"
    VERSIONS = Versions(1, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('first_offset', "int64", default=0),
        Field('last_offset', "int64", default=0),
        Field('acknowledge_types', "int8", array=True, default=()),
    )

    def __init__(
        self,
        *,
        first_offset: int = 0,
        last_offset: int = 0,
        acknowledge_types: Sequence[int] = (),
    ) -> None:
        self.first_offset: int = first_offset
        self.last_offset: int = last_offset
        self.acknowledge_types: Sequence[int] = acknowledge_types


class FetchPartition(Message):
    __slots__ = ('partition_index', 'partition_max_bytes', 'acknowledgement_batches')
    NAME = "Partitions"
    VERSIONS = Versions(1, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('partition_max_bytes', "int32", versions=Versions(0, 0), default=0),
        Field('acknowledgement_batches', AcknowledgementBatch, array=True, default=()),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        partition_max_bytes: int = 0,
        acknowledgement_batches: Sequence[AcknowledgementBatch] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.partition_max_bytes: int = partition_max_bytes
        self.acknowledgement_batches: Sequence[AcknowledgementBatch] = acknowledgement_batches


class FetchTopic(Message):
    __slots__ = ('topic_id', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(1, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_id', "uuid", default=ZERO_UUID),
        Field('partitions', FetchPartition, array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic_id: UUID = ZERO_UUID,
        partitions: Sequence[FetchPartition] = (),
    ) -> None:
        self.topic_id: UUID = topic_id
        self.partitions: Sequence[FetchPartition] = partitions


class ForgottenTopic(Message):
    __slots__ = ('topic_id', 'partitions')
    NAME = "ForgottenTopicsData"
    VERSIONS = Versions(1, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_id', "uuid", default=ZERO_UUID),
        Field('partitions', "int32", array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic_id: UUID = ZERO_UUID,
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic_id: UUID = topic_id
        self.partitions: Sequence[int] = partitions


class ShareFetchRequest(Message):
    __slots__ = ('group_id', 'member_id', 'share_session_epoch', 'max_wait_ms', 'min_bytes', 'max_bytes', 'max_records', 'batch_size', 'share_acquire_mode', 'is_renew_ack', 'topics', 'forgotten_topics_data')
    NAME = "ShareFetchRequest"
    API_KEY = 78
    VERSIONS = Versions(1, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('group_id', "string", nullable=ALWAYS, default=None),
        Field('member_id', "string", nullable=ALWAYS, default=""),
        Field('share_session_epoch', "int32", default=0),
        Field('max_wait_ms', "int32", default=0),
        Field('min_bytes', "int32", default=0),
        Field('max_bytes', "int32", default=2147483647),
        Field('max_records', "int32", versions=Versions(1, 32767), default=0),
        Field('batch_size', "int32", versions=Versions(1, 32767), default=0),
        Field('share_acquire_mode', "int8", versions=Versions(2, 32767), default=0),
        Field('is_renew_ack', "bool", versions=Versions(2, 32767), default=False),
        Field('topics', FetchTopic, array=True, default=()),
        Field('forgotten_topics_data', ForgottenTopic, array=True, default=()),
    )

    def __init__(
        self,
        *,
        group_id: str | None = None,
        member_id: str | None = "",
        share_session_epoch: int = 0,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        max_records: int = 0,
        batch_size: int = 0,
        share_acquire_mode: int = 0,
        is_renew_ack: bool = False,
        topics: Sequence[FetchTopic] = (),
        forgotten_topics_data: Sequence[ForgottenTopic] = (),
    ) -> None:
        self.group_id: str | None = group_id
        self.member_id: str | None = member_id
        self.share_session_epoch: int = share_session_epoch
        self.max_wait_ms: int = max_wait_ms
        self.min_bytes: int = min_bytes
        self.max_bytes: int = max_bytes
        self.max_records: int = max_records
        self.batch_size: int = batch_size
        self.share_acquire_mode: int = share_acquire_mode
        self.is_renew_ack: bool = is_renew_ack
        self.topics: Sequence[FetchTopic] = topics
        self.forgotten_topics_data: Sequence[ForgottenTopic] = forgotten_topics_data


class LeaderIdAndEpoch(Message):
    __slots__ = ('leader_id', 'leader_epoch')
    NAME = "CurrentLeader"
    VERSIONS = Versions(1, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('leader_id', "int32", default=0),
        Field('leader_epoch', "int32", default=0),
    )

    def __init__(
        self,
        *,
        leader_id: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch


class AcquiredRecords(Message):
    __slots__ = ('first_offset', 'last_offset', 'delivery_count')
    NAME = "AcquiredRecords"
    VERSIONS = Versions(1, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('first_offset', "int64", default=0),
        Field('last_offset', "int64", default=0),
        Field('delivery_count', "int16", default=0),
    )

    def __init__(
        self,
        *,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_count: int = 0,
    ) -> None:
        self.first_offset: int = first_offset
        self.last_offset: int = last_offset
        self.delivery_count: int = delivery_count


class PartitionData(Message):
    __slots__ = ('partition_index', 'error_code', 'error_message', 'acknowledge_error_code', 'acknowledge_error_message', 'current_leader', 'records', 'acquired_records')
    NAME = "Partitions"
    VERSIONS = Versions(1, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=None),
        Field('acknowledge_error_code', "int16", default=0),
        Field('acknowledge_error_message', "string", nullable=ALWAYS, default=None),
        Field('current_leader', LeaderIdAndEpoch, default=LeaderIdAndEpoch()),
        Field('records', "records", nullable=Versions(0, 0), default=None),
        Field('acquired_records', AcquiredRecords, array=True, default=()),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        acknowledge_error_code: int = 0,
        acknowledge_error_message: str | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        records: Buffer | None = None,
        acquired_records: Sequence[AcquiredRecords] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.acknowledge_error_code: int = acknowledge_error_code
        self.acknowledge_error_message: str | None = acknowledge_error_message
        self.current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch() if current_leader is None else current_leader
        self.records: Buffer | None = records
        self.acquired_records: Sequence[AcquiredRecords] = acquired_records


class ShareFetchableTopicResponse(Message):
    __slots__ = ('topic_id', 'partitions')
    NAME = "Responses"
    VERSIONS = Versions(1, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_id', "uuid", default=ZERO_UUID),
        Field('partitions', PartitionData, array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic_id: UUID = ZERO_UUID,
        partitions: Sequence[PartitionData] = (),
    ) -> None:
        self.topic_id: UUID = topic_id
        self.partitions: Sequence[PartitionData] = partitions


class NodeEndpoint(Message):
    __slots__ = ('node_id', 'host', 'port', 'rack')
    NAME = "NodeEndpoints"
    VERSIONS = Versions(1, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('node_id', "int32", default=0),
        Field('host', "string", default=""),
        Field('port', "int32", default=0),
        Field('rack', "string", nullable=ALWAYS, default=None),
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


class ShareFetchResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'error_message', 'acquisition_lock_timeout_ms', 'responses', 'node_endpoints')
    NAME = "ShareFetchResponse"
    API_KEY = 78
    VERSIONS = Versions(1, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=None),
        Field('acquisition_lock_timeout_ms', "int32", versions=Versions(1, 32767), default=0),
        Field('responses', ShareFetchableTopicResponse, array=True, default=()),
        Field('node_endpoints', NodeEndpoint, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        acquisition_lock_timeout_ms: int = 0,
        responses: Sequence[ShareFetchableTopicResponse] = (),
        node_endpoints: Sequence[NodeEndpoint] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.acquisition_lock_timeout_ms: int = acquisition_lock_timeout_ms
        self.responses: Sequence[ShareFetchableTopicResponse] = responses
        self.node_endpoints: Sequence[NodeEndpoint] = node_endpoints
