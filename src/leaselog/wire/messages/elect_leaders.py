"""ElectLeaders, key 43. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["ElectLeadersRequest", "ElectLeadersResponse", "PartitionResult", "ReplicaElectionResult", "TopicPartitions"]


class TopicPartitions(Message):
    __slots__ = ('topic', 'partitions')
    NAME = "TopicPartitions"
    VERSIONS = Versions(0, 2)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('topic', "string", default=""),
        Field('partitions', "int32", array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic: str = topic
        self.partitions: Sequence[int] = partitions


class ElectLeadersRequest(Message):
    __slots__ = ('election_type', 'topic_partitions', 'timeout_ms')
    NAME = "ElectLeadersRequest"
    API_KEY = 43
    VERSIONS = Versions(0, 2)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('election_type', "int8", versions=Versions(1, 32767), default=0),
        Field('topic_partitions', TopicPartitions, array=True, nullable=ALWAYS, default=()),
        Field('timeout_ms', "int32", default=60000),
    )

    def __init__(
        self,
        *,
        election_type: int = 0,
        topic_partitions: Sequence[TopicPartitions] | None = (),
        timeout_ms: int = 60000,
    ) -> None:
        self.election_type: int = election_type
        self.topic_partitions: Sequence[TopicPartitions] | None = topic_partitions
        self.timeout_ms: int = timeout_ms


class PartitionResult(Message):
    __slots__ = ('partition_id', 'error_code', 'error_message')
    NAME = "PartitionResult"
    VERSIONS = Versions(0, 2)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('partition_id', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=""),
    )

    def __init__(
        self,
        *,
        partition_id: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.partition_id: int = partition_id
        self.error_code: int = error_code
        self.error_message: str | None = error_message


class ReplicaElectionResult(Message):
    __slots__ = ('topic', 'partition_result')
    NAME = "ReplicaElectionResults"
    VERSIONS = Versions(0, 2)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('topic', "string", default=""),
        Field('partition_result', PartitionResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partition_result: Sequence[PartitionResult] = (),
    ) -> None:
        self.topic: str = topic
        self.partition_result: Sequence[PartitionResult] = partition_result


class ElectLeadersResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'replica_election_results')
    NAME = "ElectLeadersResponse"
    API_KEY = 43
    VERSIONS = Versions(0, 2)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", versions=Versions(1, 32767), default=0),
        Field('replica_election_results', ReplicaElectionResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        replica_election_results: Sequence[ReplicaElectionResult] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.replica_election_results: Sequence[ReplicaElectionResult] = replica_election_results
