"""CreateTopics, key 19. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["CreatableReplicaAssignment", "CreatableTopic", "CreatableTopicConfig", "CreatableTopicConfigs", "CreatableTopicResult", "CreateTopicsRequest", "CreateTopicsResponse"]


class CreatableReplicaAssignment(Message):
    __slots__ = ('partition_index', 'broker_ids')
    NAME = "Assignments"
    VERSIONS = Versions(2, 7)
    FLEXIBLE = Versions(5, 32767)
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('broker_ids', "int32", array=True, default=()),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        broker_ids: Sequence[int] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.broker_ids: Sequence[int] = broker_ids


class CreatableTopicConfig(Message):
    __slots__ = ('name', 'value')
    NAME = "Configs"
    VERSIONS = Versions(2, 7)
    FLEXIBLE = Versions(5, 32767)
    FIELDS = (
        Field('name', "string", default=""),
        Field('value', "string", nullable=ALWAYS, default=""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.name: str = name
        self.value: str | None = value


class CreatableTopic(Message):
    __slots__ = ('name', 'num_partitions', 'replication_factor', 'assignments', 'configs')
    NAME = "Topics"
    VERSIONS = Versions(2, 7)
    FLEXIBLE = Versions(5, 32767)
    FIELDS = (
        Field('name', "string", default=""),
        Field('num_partitions', "int32", default=0),
        Field('replication_factor', "int16", default=0),
        Field('assignments', CreatableReplicaAssignment, array=True, default=()),
        Field('configs', CreatableTopicConfig, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        num_partitions: int = 0,
        replication_factor: int = 0,
        assignments: Sequence[CreatableReplicaAssignment] = (),
        configs: Sequence[CreatableTopicConfig] = (),
    ) -> None:
        self.name: str = name
        self.num_partitions: int = num_partitions
        self.replication_factor: int = replication_factor
        self.assignments: Sequence[CreatableReplicaAssignment] = assignments
        self.configs: Sequence[CreatableTopicConfig] = configs


class CreateTopicsRequest(Message):
    __slots__ = ('topics', 'timeout_ms', 'validate_only')
    NAME = "CreateTopicsRequest"
    API_KEY = 19
    VERSIONS = Versions(2, 7)
    FLEXIBLE = Versions(5, 32767)
    FIELDS = (
        Field('topics', CreatableTopic, array=True, default=()),
        Field('timeout_ms', "int32", default=60000),
        Field('validate_only', "bool", versions=Versions(1, 32767), default=False),
    )

    def __init__(
        self,
        *,
        topics: Sequence[CreatableTopic] = (),
        timeout_ms: int = 60000,
        validate_only: bool = False,
    ) -> None:
        self.topics: Sequence[CreatableTopic] = topics
        self.timeout_ms: int = timeout_ms
        self.validate_only: bool = validate_only


class CreatableTopicConfigs(Message):
    __slots__ = ('name', 'value', 'read_only', 'config_source', 'is_sensitive')
    NAME = "Configs"
    VERSIONS = Versions(2, 7)
    FLEXIBLE = Versions(5, 32767)
    FIELDS = (
        Field('name', "string", versions=Versions(5, 32767), default=""),
        Field('value', "string", versions=Versions(5, 32767), nullable=Versions(5, 32767), default=""),
        Field('read_only', "bool", versions=Versions(5, 32767), default=False),
        Field('config_source', "int8", versions=Versions(5, 32767), default=-1),
        Field('is_sensitive', "bool", versions=Versions(5, 32767), default=False),
    )

    def __init__(
        self,
        *,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
    ) -> None:
        self.name: str = name
        self.value: str | None = value
        self.read_only: bool = read_only
        self.config_source: int = config_source
        self.is_sensitive: bool = is_sensitive


class CreatableTopicResult(Message):
    __slots__ = ('name', 'topic_id', 'error_code', 'error_message', 'topic_config_error_code', 'num_partitions', 'replication_factor', 'configs')
    NAME = "Topics"
    VERSIONS = Versions(2, 7)
    FLEXIBLE = Versions(5, 32767)
    FIELDS = (
        Field('name', "string", default=""),
        Field('topic_id', "uuid", versions=Versions(7, 32767), default=ZERO_UUID),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", versions=Versions(1, 32767), nullable=ALWAYS, default=""),
        Field('topic_config_error_code', "int16", versions=Versions(5, 32767), tag=0, tagged=Versions(5, 32767), default=0),
        Field('num_partitions', "int32", versions=Versions(5, 32767), default=-1),
        Field('replication_factor', "int16", versions=Versions(5, 32767), default=-1),
        Field('configs', CreatableTopicConfigs, array=True, versions=Versions(5, 32767), nullable=Versions(5, 32767), default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = "",
        topic_config_error_code: int = 0,
        num_partitions: int = -1,
        replication_factor: int = -1,
        configs: Sequence[CreatableTopicConfigs] | None = (),
    ) -> None:
        self.name: str = name
        self.topic_id: UUID = topic_id
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.topic_config_error_code: int = topic_config_error_code
        self.num_partitions: int = num_partitions
        self.replication_factor: int = replication_factor
        self.configs: Sequence[CreatableTopicConfigs] | None = configs


class CreateTopicsResponse(Message):
    __slots__ = ('throttle_time_ms', 'topics')
    NAME = "CreateTopicsResponse"
    API_KEY = 19
    VERSIONS = Versions(2, 7)
    FLEXIBLE = Versions(5, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", versions=Versions(2, 32767), default=0),
        Field('topics', CreatableTopicResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[CreatableTopicResult] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: Sequence[CreatableTopicResult] = topics
