"""AlterReplicaLogDirs, key 34. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import Field, Message, Versions

__all__ = ["AlterReplicaLogDir", "AlterReplicaLogDirPartitionResult", "AlterReplicaLogDirTopic", "AlterReplicaLogDirTopicResult", "AlterReplicaLogDirsRequest", "AlterReplicaLogDirsResponse"]


class AlterReplicaLogDirTopic(Message):
    __slots__ = ('name', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(1, 2)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('name', "string", default=""),
        Field('partitions', "int32", array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.name: str = name
        self.partitions: Sequence[int] = partitions


class AlterReplicaLogDir(Message):
    __slots__ = ('path', 'topics')
    NAME = "Dirs"
    VERSIONS = Versions(1, 2)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('path', "string", default=""),
        Field('topics', AlterReplicaLogDirTopic, array=True, default=()),
    )

    def __init__(
        self,
        *,
        path: str = "",
        topics: Sequence[AlterReplicaLogDirTopic] = (),
    ) -> None:
        self.path: str = path
        self.topics: Sequence[AlterReplicaLogDirTopic] = topics


class AlterReplicaLogDirsRequest(Message):
    __slots__ = ('dirs',)
    NAME = "AlterReplicaLogDirsRequest"
    API_KEY = 34
    VERSIONS = Versions(1, 2)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('dirs', AlterReplicaLogDir, array=True, default=()),
    )

    def __init__(
        self,
        *,
        dirs: Sequence[AlterReplicaLogDir] = (),
    ) -> None:
        self.dirs: Sequence[AlterReplicaLogDir] = dirs


class AlterReplicaLogDirPartitionResult(Message):
    __slots__ = ('partition_index', 'error_code')
    NAME = "Partitions"
    VERSIONS = Versions(1, 2)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('error_code', "int16", default=0),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code


class AlterReplicaLogDirTopicResult(Message):
    __slots__ = ('topic_name', 'partitions')
    NAME = "Results"
    VERSIONS = Versions(1, 2)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('topic_name', "string", default=""),
        Field('partitions', AlterReplicaLogDirPartitionResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
        partitions: Sequence[AlterReplicaLogDirPartitionResult] = (),
    ) -> None:
        self.topic_name: str = topic_name
        self.partitions: Sequence[AlterReplicaLogDirPartitionResult] = partitions


class AlterReplicaLogDirsResponse(Message):
    __slots__ = ('throttle_time_ms', 'results')
    NAME = "AlterReplicaLogDirsResponse"
    API_KEY = 34
    VERSIONS = Versions(1, 2)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('results', AlterReplicaLogDirTopicResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: Sequence[AlterReplicaLogDirTopicResult] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.results: Sequence[AlterReplicaLogDirTopicResult] = results
