"""AlterPartitionReassignments, key 45. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["AlterPartitionReassignmentsRequest", "AlterPartitionReassignmentsResponse", "ReassignablePartition", "ReassignablePartitionResponse", "ReassignableTopic", "ReassignableTopicResponse"]


class ReassignablePartition(Message):
    __slots__ = ('partition_index', 'replicas')
    NAME = "Partitions"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('replicas', "int32", array=True, nullable=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        replicas: Sequence[int] | None = None,
    ) -> None:
        self.partition_index: int = partition_index
        self.replicas: Sequence[int] | None = replicas


class ReassignableTopic(Message):
    __slots__ = ('name', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
        Field('partitions', ReassignablePartition, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[ReassignablePartition] = (),
    ) -> None:
        self.name: str = name
        self.partitions: Sequence[ReassignablePartition] = partitions


class AlterPartitionReassignmentsRequest(Message):
    __slots__ = ('timeout_ms', 'allow_replication_factor_change', 'topics')
    NAME = "AlterPartitionReassignmentsRequest"
    API_KEY = 45
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('timeout_ms', "int32", default=60000),
        Field('allow_replication_factor_change', "bool", versions=Versions(1, 32767), default=True),
        Field('topics', ReassignableTopic, array=True, default=()),
    )

    def __init__(
        self,
        *,
        timeout_ms: int = 60000,
        allow_replication_factor_change: bool = True,
        topics: Sequence[ReassignableTopic] = (),
    ) -> None:
        self.timeout_ms: int = timeout_ms
        self.allow_replication_factor_change: bool = allow_replication_factor_change
        self.topics: Sequence[ReassignableTopic] = topics


class ReassignablePartitionResponse(Message):
    __slots__ = ('partition_index', 'error_code', 'error_message')
    NAME = "Partitions"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=""),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.error_message: str | None = error_message


class ReassignableTopicResponse(Message):
    __slots__ = ('name', 'partitions')
    NAME = "Responses"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
        Field('partitions', ReassignablePartitionResponse, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[ReassignablePartitionResponse] = (),
    ) -> None:
        self.name: str = name
        self.partitions: Sequence[ReassignablePartitionResponse] = partitions


class AlterPartitionReassignmentsResponse(Message):
    __slots__ = ('throttle_time_ms', 'allow_replication_factor_change', 'error_code', 'error_message', 'responses')
    NAME = "AlterPartitionReassignmentsResponse"
    API_KEY = 45
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('allow_replication_factor_change', "bool", versions=Versions(1, 32767), default=True),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=""),
        Field('responses', ReassignableTopicResponse, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        allow_replication_factor_change: bool = True,
        error_code: int = 0,
        error_message: str | None = "",
        responses: Sequence[ReassignableTopicResponse] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.allow_replication_factor_change: bool = allow_replication_factor_change
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.responses: Sequence[ReassignableTopicResponse] = responses
