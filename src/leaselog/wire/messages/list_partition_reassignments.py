"""ListPartitionReassignments, key 46. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["ListPartitionReassignmentsRequest", "ListPartitionReassignmentsResponse", "ListPartitionReassignmentsTopics", "OngoingPartitionReassignment", "OngoingTopicReassignment"]


class ListPartitionReassignmentsTopics(Message):
    __slots__ = ('name', 'partition_indexes')
    NAME = "Topics"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
        Field('partition_indexes', "int32", array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partition_indexes: Sequence[int] = (),
    ) -> None:
        self.name: str = name
        self.partition_indexes: Sequence[int] = partition_indexes


class ListPartitionReassignmentsRequest(Message):
    __slots__ = ('timeout_ms', 'topics')
    NAME = "ListPartitionReassignmentsRequest"
    API_KEY = 46
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('timeout_ms', "int32", default=60000),
        Field('topics', ListPartitionReassignmentsTopics, array=True, nullable=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        timeout_ms: int = 60000,
        topics: Sequence[ListPartitionReassignmentsTopics] | None = None,
    ) -> None:
        self.timeout_ms: int = timeout_ms
        self.topics: Sequence[ListPartitionReassignmentsTopics] | None = topics


class OngoingPartitionReassignment(Message):
    __slots__ = ('partition_index', 'replicas', 'adding_replicas', 'removing_replicas')
    NAME = "Partitions"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('replicas', "int32", array=True, default=()),
        Field('adding_replicas', "int32", array=True, default=()),
        Field('removing_replicas', "int32", array=True, default=()),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        replicas: Sequence[int] = (),
        adding_replicas: Sequence[int] = (),
        removing_replicas: Sequence[int] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.replicas: Sequence[int] = replicas
        self.adding_replicas: Sequence[int] = adding_replicas
        self.removing_replicas: Sequence[int] = removing_replicas


class OngoingTopicReassignment(Message):
    __slots__ = ('name', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
        Field('partitions', OngoingPartitionReassignment, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[OngoingPartitionReassignment] = (),
    ) -> None:
        self.name: str = name
        self.partitions: Sequence[OngoingPartitionReassignment] = partitions


class ListPartitionReassignmentsResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'error_message', 'topics')
    NAME = "ListPartitionReassignmentsResponse"
    API_KEY = 46
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=""),
        Field('topics', OngoingTopicReassignment, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        topics: Sequence[OngoingTopicReassignment] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.topics: Sequence[OngoingTopicReassignment] = topics
