"""WriteShareGroupState, key 85. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["PartitionData", "PartitionResult", "StateBatch", "WriteShareGroupStateRequest", "WriteShareGroupStateResponse", "WriteStateData", "WriteStateResult"]


class StateBatch(Message):
    __slots__ = ('first_offset', 'last_offset', 'delivery_state', 'delivery_count')
    NAME = "StateBatches"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('first_offset', "int64", default=0),
        Field('last_offset', "int64", default=0),
        Field('delivery_state', "int8", default=0),
        Field('delivery_count', "int16", default=0),
    )

    def __init__(
        self,
        *,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
    ) -> None:
        self.first_offset: int = first_offset
        self.last_offset: int = last_offset
        self.delivery_state: int = delivery_state
        self.delivery_count: int = delivery_count


class PartitionData(Message):
    __slots__ = ('partition', 'state_epoch', 'leader_epoch', 'start_offset', 'delivery_complete_count', 'state_batches')
    NAME = "Partitions"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('partition', "int32", default=0),
        Field('state_epoch', "int32", default=0),
        Field('leader_epoch', "int32", default=0),
        Field('start_offset', "int64", default=0),
        Field('delivery_complete_count', "int32", versions=Versions(1, 32767), default=-1),
        Field('state_batches', StateBatch, array=True, default=()),
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        state_batches: Sequence[StateBatch] = (),
    ) -> None:
        self.partition: int = partition
        self.state_epoch: int = state_epoch
        self.leader_epoch: int = leader_epoch
        self.start_offset: int = start_offset
        self.delivery_complete_count: int = delivery_complete_count
        self.state_batches: Sequence[StateBatch] = state_batches


class WriteStateData(Message):
    __slots__ = ('topic_id', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(0, 1)
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


class WriteShareGroupStateRequest(Message):
    __slots__ = ('group_id', 'topics')
    NAME = "WriteShareGroupStateRequest"
    API_KEY = 85
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('group_id', "string", default=""),
        Field('topics', WriteStateData, array=True, default=()),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: Sequence[WriteStateData] = (),
    ) -> None:
        self.group_id: str = group_id
        self.topics: Sequence[WriteStateData] = topics


class PartitionResult(Message):
    __slots__ = ('partition', 'error_code', 'error_message')
    NAME = "Partitions"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('partition', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.partition: int = partition
        self.error_code: int = error_code
        self.error_message: str | None = error_message


class WriteStateResult(Message):
    __slots__ = ('topic_id', 'partitions')
    NAME = "Results"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_id', "uuid", default=ZERO_UUID),
        Field('partitions', PartitionResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic_id: UUID = ZERO_UUID,
        partitions: Sequence[PartitionResult] = (),
    ) -> None:
        self.topic_id: UUID = topic_id
        self.partitions: Sequence[PartitionResult] = partitions


class WriteShareGroupStateResponse(Message):
    __slots__ = ('results',)
    NAME = "WriteShareGroupStateResponse"
    API_KEY = 85
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('results', WriteStateResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        results: Sequence[WriteStateResult] = (),
    ) -> None:
        self.results: Sequence[WriteStateResult] = results
