"""ReadShareGroupStateSummary, key 87. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["PartitionData", "PartitionResult", "ReadShareGroupStateSummaryRequest", "ReadShareGroupStateSummaryResponse", "ReadStateSummaryData", "ReadStateSummaryResult"]


class PartitionData(Message):
    __slots__ = ('partition', 'leader_epoch')
    NAME = "Partitions"
    VERSIONS = Versions(0, 1)
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


class ReadStateSummaryData(Message):
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


class ReadShareGroupStateSummaryRequest(Message):
    __slots__ = ('group_id', 'topics')
    NAME = "ReadShareGroupStateSummaryRequest"
    API_KEY = 87
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('group_id', "string", default=""),
        Field('topics', ReadStateSummaryData, array=True, default=()),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: Sequence[ReadStateSummaryData] = (),
    ) -> None:
        self.group_id: str = group_id
        self.topics: Sequence[ReadStateSummaryData] = topics


class PartitionResult(Message):
    __slots__ = ('partition', 'error_code', 'error_message', 'state_epoch', 'leader_epoch', 'start_offset', 'delivery_complete_count')
    NAME = "Partitions"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('partition', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=None),
        Field('state_epoch', "int32", default=0),
        Field('leader_epoch', "int32", default=0),
        Field('start_offset', "int64", default=0),
        Field('delivery_complete_count', "int32", versions=Versions(1, 32767), default=-1),
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
    ) -> None:
        self.partition: int = partition
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.state_epoch: int = state_epoch
        self.leader_epoch: int = leader_epoch
        self.start_offset: int = start_offset
        self.delivery_complete_count: int = delivery_complete_count


class ReadStateSummaryResult(Message):
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


class ReadShareGroupStateSummaryResponse(Message):
    __slots__ = ('results',)
    NAME = "ReadShareGroupStateSummaryResponse"
    API_KEY = 87
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('results', ReadStateSummaryResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        results: Sequence[ReadStateSummaryResult] = (),
    ) -> None:
        self.results: Sequence[ReadStateSummaryResult] = results
