"""CreatePartitions, key 37. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["CreatePartitionsAssignment", "CreatePartitionsRequest", "CreatePartitionsResponse", "CreatePartitionsTopic", "CreatePartitionsTopicResult"]


class CreatePartitionsAssignment(Message):
    __slots__ = ('broker_ids',)
    NAME = "Assignments"
    VERSIONS = Versions(0, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('broker_ids', "int32", array=True, default=()),
    )

    def __init__(
        self,
        *,
        broker_ids: Sequence[int] = (),
    ) -> None:
        self.broker_ids: Sequence[int] = broker_ids


class CreatePartitionsTopic(Message):
    __slots__ = ('name', 'count', 'assignments')
    NAME = "Topics"
    VERSIONS = Versions(0, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('name', "string", default=""),
        Field('count', "int32", default=0),
        Field('assignments', CreatePartitionsAssignment, array=True, nullable=ALWAYS, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        count: int = 0,
        assignments: Sequence[CreatePartitionsAssignment] | None = (),
    ) -> None:
        self.name: str = name
        self.count: int = count
        self.assignments: Sequence[CreatePartitionsAssignment] | None = assignments


class CreatePartitionsRequest(Message):
    __slots__ = ('topics', 'timeout_ms', 'validate_only')
    NAME = "CreatePartitionsRequest"
    API_KEY = 37
    VERSIONS = Versions(0, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('topics', CreatePartitionsTopic, array=True, default=()),
        Field('timeout_ms', "int32", default=0),
        Field('validate_only', "bool", default=False),
    )

    def __init__(
        self,
        *,
        topics: Sequence[CreatePartitionsTopic] = (),
        timeout_ms: int = 0,
        validate_only: bool = False,
    ) -> None:
        self.topics: Sequence[CreatePartitionsTopic] = topics
        self.timeout_ms: int = timeout_ms
        self.validate_only: bool = validate_only


class CreatePartitionsTopicResult(Message):
    __slots__ = ('name', 'error_code', 'error_message')
    NAME = "Results"
    VERSIONS = Versions(0, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('name', "string", default=""),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        name: str = "",
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.name: str = name
        self.error_code: int = error_code
        self.error_message: str | None = error_message


class CreatePartitionsResponse(Message):
    __slots__ = ('throttle_time_ms', 'results')
    NAME = "CreatePartitionsResponse"
    API_KEY = 37
    VERSIONS = Versions(0, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('results', CreatePartitionsTopicResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: Sequence[CreatePartitionsTopicResult] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.results: Sequence[CreatePartitionsTopicResult] = results
