"""ReadShareGroupState, key 84. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["PartitionData", "PartitionResult", "ReadShareGroupStateRequest", "ReadShareGroupStateResponse", "ReadStateData", "ReadStateResult", "StateBatch"]


class PartitionData(Message):
    __slots__ = ('partition', 'leader_epoch')
    NAME = "Partitions"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('partition', "int32", default=0),
        Field('leader_epoch', "int32", default=0),
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.partition: int = partition
        self.leader_epoch: int = leader_epoch


class ReadStateData(Message):
    __slots__ = ('topic_id', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(0, 0)
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


class ReadShareGroupStateRequest(Message):
    __slots__ = ('group_id', 'topics')
    NAME = "ReadShareGroupStateRequest"
    API_KEY = 84
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('group_id', "string", default=""),
        Field('topics', ReadStateData, array=True, default=()),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: Sequence[ReadStateData] = (),
    ) -> None:
        self.group_id: str = group_id
        self.topics: Sequence[ReadStateData] = topics


class StateBatch(Message):
    __slots__ = ('first_offset', 'last_offset', 'delivery_state', 'delivery_count')
    NAME = "StateBatches"
    VERSIONS = Versions(0, 0)
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


class PartitionResult(Message):
    __slots__ = ('partition', 'error_code', 'error_message', 'state_epoch', 'start_offset', 'state_batches')
    NAME = "Partitions"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('partition', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=None),
        Field('state_epoch', "int32", default=0),
        Field('start_offset', "int64", default=0),
        Field('state_batches', StateBatch, array=True, default=()),
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        state_epoch: int = 0,
        start_offset: int = 0,
        state_batches: Sequence[StateBatch] = (),
    ) -> None:
        self.partition: int = partition
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.state_epoch: int = state_epoch
        self.start_offset: int = start_offset
        self.state_batches: Sequence[StateBatch] = state_batches


class ReadStateResult(Message):
    __slots__ = ('topic_id', 'partitions')
    NAME = "Results"
    VERSIONS = Versions(0, 0)
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


class ReadShareGroupStateResponse(Message):
    __slots__ = ('results',)
    NAME = "ReadShareGroupStateResponse"
    API_KEY = 84
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('results', ReadStateResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        results: Sequence[ReadStateResult] = (),
    ) -> None:
        self.results: Sequence[ReadStateResult] = results
