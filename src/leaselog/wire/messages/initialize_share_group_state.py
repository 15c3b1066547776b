"""InitializeShareGroupState, key 83. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["InitializeShareGroupStateRequest", "InitializeShareGroupStateResponse", "InitializeStateData", "InitializeStateResult", "PartitionData", "PartitionResult"]


class PartitionData(Message):
    __slots__ = ('partition', 'state_epoch', 'start_offset')
    NAME = "Partitions"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('partition', "int32", default=0),
        Field('state_epoch', "int32", default=0),
        Field('start_offset', "int64", default=0),
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        state_epoch: int = 0,
        start_offset: int = 0,
    ) -> None:
        self.partition: int = partition
        self.state_epoch: int = state_epoch
        self.start_offset: int = start_offset


class InitializeStateData(Message):
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


class InitializeShareGroupStateRequest(Message):
    __slots__ = ('group_id', 'topics')
    NAME = "InitializeShareGroupStateRequest"
    API_KEY = 83
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('group_id', "string", default=""),
        Field('topics', InitializeStateData, array=True, default=()),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: Sequence[InitializeStateData] = (),
    ) -> None:
        self.group_id: str = group_id
        self.topics: Sequence[InitializeStateData] = topics


class PartitionResult(Message):
    __slots__ = ('partition', 'error_code', 'error_message')
    NAME = "Partitions"
    VERSIONS = Versions(0, 0)
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


class InitializeStateResult(Message):
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


class InitializeShareGroupStateResponse(Message):
    __slots__ = ('results',)
    NAME = "InitializeShareGroupStateResponse"
    API_KEY = 83
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('results', InitializeStateResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        results: Sequence[InitializeStateResult] = (),
    ) -> None:
        self.results: Sequence[InitializeStateResult] = results
