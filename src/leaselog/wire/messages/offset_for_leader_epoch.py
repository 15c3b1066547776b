"""OffsetForLeaderEpoch, key 23. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import Field, Message, Versions

__all__ = ["EpochEndOffset", "OffsetForLeaderEpochRequest", "OffsetForLeaderEpochResponse", "OffsetForLeaderPartition", "OffsetForLeaderTopic", "OffsetForLeaderTopicResult"]


class OffsetForLeaderPartition(Message):
    __slots__ = ('partition', 'current_leader_epoch', 'leader_epoch')
    NAME = "Partitions"
    VERSIONS = Versions(2, 4)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('partition', "int32", default=0),
        Field('current_leader_epoch', "int32", versions=Versions(2, 32767), default=-1),
        Field('leader_epoch', "int32", default=0),
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        current_leader_epoch: int = -1,
        leader_epoch: int = 0,
    ) -> None:
        self.partition: int = partition
        self.current_leader_epoch: int = current_leader_epoch
        self.leader_epoch: int = leader_epoch


class OffsetForLeaderTopic(Message):
    __slots__ = ('topic', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(2, 4)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('topic', "string", default=""),
        Field('partitions', OffsetForLeaderPartition, array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partitions: Sequence[OffsetForLeaderPartition] = (),
    ) -> None:
        self.topic: str = topic
        self.partitions: Sequence[OffsetForLeaderPartition] = partitions


class OffsetForLeaderEpochRequest(Message):
    __slots__ = ('replica_id', 'topics')
    NAME = "OffsetForLeaderEpochRequest"
    API_KEY = 23
    VERSIONS = Versions(2, 4)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('replica_id', "int32", versions=Versions(3, 32767), default=-2),
        Field('topics', OffsetForLeaderTopic, array=True, default=()),
    )

    def __init__(
        self,
        *,
        replica_id: int = -2,
        topics: Sequence[OffsetForLeaderTopic] = (),
    ) -> None:
        self.replica_id: int = replica_id
        self.topics: Sequence[OffsetForLeaderTopic] = topics


class EpochEndOffset(Message):
    __slots__ = ('error_code', 'partition', 'leader_epoch', 'end_offset')
    NAME = "Partitions"
    VERSIONS = Versions(2, 4)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('partition', "int32", default=0),
        Field('leader_epoch', "int32", versions=Versions(1, 32767), default=-1),
        Field('end_offset', "int64", default=-1),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        partition: int = 0,
        leader_epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.error_code: int = error_code
        self.partition: int = partition
        self.leader_epoch: int = leader_epoch
        self.end_offset: int = end_offset


class OffsetForLeaderTopicResult(Message):
    __slots__ = ('topic', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(2, 4)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('topic', "string", default=""),
        Field('partitions', EpochEndOffset, array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partitions: Sequence[EpochEndOffset] = (),
    ) -> None:
        self.topic: str = topic
        self.partitions: Sequence[EpochEndOffset] = partitions


class OffsetForLeaderEpochResponse(Message):
    __slots__ = ('throttle_time_ms', 'topics')
    NAME = "OffsetForLeaderEpochResponse"
    API_KEY = 23
    VERSIONS = Versions(2, 4)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", versions=Versions(2, 32767), default=0),
        Field('topics', OffsetForLeaderTopicResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[OffsetForLeaderTopicResult] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: Sequence[OffsetForLeaderTopicResult] = topics
