"""Produce, key 0. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["BatchIndexAndErrorMessage", "LeaderIdAndEpoch", "NodeEndpoint", "PartitionProduceData", "PartitionProduceResponse", "ProduceRequest", "ProduceResponse", "TopicProduceData", "TopicProduceResponse"]


class PartitionProduceData(Message):
    __slots__ = ('index', 'records')
    NAME = "PartitionData"
    VERSIONS = Versions(3, 13)
    FLEXIBLE = Versions(9, 32767)
    FIELDS = (
        Field('index', "int32", default=0),
        Field('records', "records", nullable=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        index: int = 0,
        records: Buffer | None = None,
    ) -> None:
        self.index: int = index
        self.records: Buffer | None = records


class TopicProduceData(Message):
    __slots__ = ('name', 'topic_id', 'partition_data')
    NAME = "TopicData"
    VERSIONS = Versions(3, 13)
    FLEXIBLE = Versions(9, 32767)
    FIELDS = (
        Field('name', "string", versions=Versions(0, 12), default=""),
        Field('topic_id', "uuid", versions=Versions(13, 32767), default=ZERO_UUID),
        Field('partition_data', PartitionProduceData, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        partition_data: Sequence[PartitionProduceData] = (),
    ) -> None:
        self.name: str = name
        self.topic_id: UUID = topic_id
        self.partition_data: Sequence[PartitionProduceData] = partition_data


class ProduceRequest(Message):
    __slots__ = ('transactional_id', 'acks', 'timeout_ms', 'topic_data')
    NAME = "ProduceRequest"
    API_KEY = 0
    VERSIONS = Versions(3, 13)
    FLEXIBLE = Versions(9, 32767)
    FIELDS = (
        Field('transactional_id', "string", versions=Versions(3, 32767), nullable=Versions(3, 32767), default=None),
        Field('acks', "int16", default=0),
        Field('timeout_ms', "int32", default=0),
        Field('topic_data', TopicProduceData, array=True, default=()),
    )

    def __init__(
        self,
        *,
        transactional_id: str | None = None,
        acks: int = 0,
        timeout_ms: int = 0,
        topic_data: Sequence[TopicProduceData] = (),
    ) -> None:
        self.transactional_id: str | None = transactional_id
        self.acks: int = acks
        self.timeout_ms: int = timeout_ms
        self.topic_data: Sequence[TopicProduceData] = topic_data


class BatchIndexAndErrorMessage(Message):
    __slots__ = ('batch_index', 'batch_index_error_message')
    NAME = "RecordErrors"
    VERSIONS = Versions(3, 13)
    FLEXIBLE = Versions(9, 32767)
    FIELDS = (
        Field('batch_index', "int32", versions=Versions(8, 32767), default=0),
        Field('batch_index_error_message', "string", versions=Versions(8, 32767), nullable=Versions(8, 32767), default=None),
    )

    def __init__(
        self,
        *,
        batch_index: int = 0,
        batch_index_error_message: str | None = None,
    ) -> None:
        self.batch_index: int = batch_index
        self.batch_index_error_message: str | None = batch_index_error_message


class LeaderIdAndEpoch(Message):
    __slots__ = ('leader_id', 'leader_epoch')
    NAME = "CurrentLeader"
    VERSIONS = Versions(3, 13)
    FLEXIBLE = Versions(9, 32767)
    FIELDS = (
        Field('leader_id', "int32", versions=Versions(10, 32767), default=-1),
        Field('leader_epoch', "int32", versions=Versions(10, 32767), default=-1),
    )

    def __init__(
        self,
        *,
        leader_id: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch


class PartitionProduceResponse(Message):
    __slots__ = ('index', 'error_code', 'base_offset', 'log_append_time_ms', 'log_start_offset', 'record_errors', 'error_message', 'current_leader')
    NAME = "PartitionResponses"
    VERSIONS = Versions(3, 13)
    FLEXIBLE = Versions(9, 32767)
    FIELDS = (
        Field('index', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('base_offset', "int64", default=0),
        Field('log_append_time_ms', "int64", versions=Versions(2, 32767), default=-1),
        Field('log_start_offset', "int64", versions=Versions(5, 32767), default=-1),
        Field('record_errors', BatchIndexAndErrorMessage, array=True, versions=Versions(8, 32767), default=()),
        Field('error_message', "string", versions=Versions(8, 32767), nullable=Versions(8, 32767), default=None),
        Field('current_leader', LeaderIdAndEpoch, versions=Versions(10, 32767), tag=0, tagged=Versions(10, 32767), default=None),
    )

    def __init__(
        self,
        *,
        index: int = 0,
        error_code: int = 0,
        base_offset: int = 0,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        record_errors: Sequence[BatchIndexAndErrorMessage] = (),
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
    ) -> None:
        self.index: int = index
        self.error_code: int = error_code
        self.base_offset: int = base_offset
        self.log_append_time_ms: int = log_append_time_ms
        self.log_start_offset: int = log_start_offset
        self.record_errors: Sequence[BatchIndexAndErrorMessage] = record_errors
        self.error_message: str | None = error_message
        self.current_leader: LeaderIdAndEpoch | None = current_leader


class TopicProduceResponse(Message):
    __slots__ = ('name', 'topic_id', 'partition_responses')
    NAME = "Responses"
    VERSIONS = Versions(3, 13)
    FLEXIBLE = Versions(9, 32767)
    FIELDS = (
        Field('name', "string", versions=Versions(0, 12), default=""),
        Field('topic_id', "uuid", versions=Versions(13, 32767), default=ZERO_UUID),
        Field('partition_responses', PartitionProduceResponse, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        partition_responses: Sequence[PartitionProduceResponse] = (),
    ) -> None:
        self.name: str = name
        self.topic_id: UUID = topic_id
        self.partition_responses: Sequence[PartitionProduceResponse] = partition_responses


class NodeEndpoint(Message):
    __slots__ = ('node_id', 'host', 'port', 'rack')
    NAME = "NodeEndpoints"
    VERSIONS = Versions(3, 13)
    FLEXIBLE = Versions(9, 32767)
    FIELDS = (
        Field('node_id', "int32", versions=Versions(10, 32767), default=0),
        Field('host', "string", versions=Versions(10, 32767), default=""),
        Field('port', "int32", versions=Versions(10, 32767), default=0),
        Field('rack', "string", versions=Versions(10, 32767), nullable=Versions(10, 32767), default=None),
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


class ProduceResponse(Message):
    __slots__ = ('responses', 'throttle_time_ms', 'node_endpoints')
    NAME = "ProduceResponse"
    API_KEY = 0
    VERSIONS = Versions(3, 13)
    FLEXIBLE = Versions(9, 32767)
    FIELDS = (
        Field('responses', TopicProduceResponse, array=True, default=()),
        Field('throttle_time_ms', "int32", versions=Versions(1, 32767), default=0),
        Field('node_endpoints', NodeEndpoint, array=True, versions=Versions(10, 32767), tag=0, tagged=Versions(10, 32767), default=()),
    )

    def __init__(
        self,
        *,
        responses: Sequence[TopicProduceResponse] = (),
        throttle_time_ms: int = 0,
        node_endpoints: Sequence[NodeEndpoint] = (),
    ) -> None:
        self.responses: Sequence[TopicProduceResponse] = responses
        self.throttle_time_ms: int = throttle_time_ms
        self.node_endpoints: Sequence[NodeEndpoint] = node_endpoints
