"""DescribeLogDirs, key 35. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["DescribableLogDirTopic", "DescribeLogDirsPartition", "DescribeLogDirsRequest", "DescribeLogDirsResponse", "DescribeLogDirsResult", "DescribeLogDirsTopic"]


class DescribableLogDirTopic(Message):
    __slots__ = ('topic', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(1, 5)
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


class DescribeLogDirsRequest(Message):
    __slots__ = ('topics',)
    NAME = "DescribeLogDirsRequest"
    API_KEY = 35
    VERSIONS = Versions(1, 5)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('topics', DescribableLogDirTopic, array=True, nullable=ALWAYS, default=()),
    )

    def __init__(
        self,
        *,
        topics: Sequence[DescribableLogDirTopic] | None = (),
    ) -> None:
        self.topics: Sequence[DescribableLogDirTopic] | None = topics


class DescribeLogDirsPartition(Message):
    __slots__ = ('partition_index', 'partition_size', 'offset_lag', 'is_future_key')
    NAME = "Partitions"
    VERSIONS = Versions(1, 5)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('partition_size', "int64", default=0),
        Field('offset_lag', "int64", default=0),
        Field('is_future_key', "bool", default=False),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        partition_size: int = 0,
        offset_lag: int = 0,
        is_future_key: bool = False,
    ) -> None:
        self.partition_index: int = partition_index
        self.partition_size: int = partition_size
        self.offset_lag: int = offset_lag
        self.is_future_key: bool = is_future_key


class DescribeLogDirsTopic(Message):
    __slots__ = ('name', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(1, 5)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('name', "string", default=""),
        Field('partitions', DescribeLogDirsPartition, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[DescribeLogDirsPartition] = (),
    ) -> None:
        self.name: str = name
        self.partitions: Sequence[DescribeLogDirsPartition] = partitions


class DescribeLogDirsResult(Message):
    __slots__ = ('error_code', 'log_dir', 'topics', 'total_bytes', 'usable_bytes', 'is_cordoned')
    NAME = "Results"
    VERSIONS = Versions(1, 5)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('log_dir', "string", default=""),
        Field('topics', DescribeLogDirsTopic, array=True, default=()),
        Field('total_bytes', "int64", versions=Versions(4, 32767), default=-1),
        Field('usable_bytes', "int64", versions=Versions(4, 32767), default=-1),
        Field('is_cordoned', "bool", versions=Versions(5, 32767), default=False),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        log_dir: str = "",
        topics: Sequence[DescribeLogDirsTopic] = (),
        total_bytes: int = -1,
        usable_bytes: int = -1,
        is_cordoned: bool = False,
    ) -> None:
        self.error_code: int = error_code
        self.log_dir: str = log_dir
        self.topics: Sequence[DescribeLogDirsTopic] = topics
        self.total_bytes: int = total_bytes
        self.usable_bytes: int = usable_bytes
        self.is_cordoned: bool = is_cordoned


class DescribeLogDirsResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'results')
    NAME = "DescribeLogDirsResponse"
    API_KEY = 35
    VERSIONS = Versions(1, 5)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", versions=Versions(3, 32767), default=0),
        Field('results', DescribeLogDirsResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results: Sequence[DescribeLogDirsResult] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.results: Sequence[DescribeLogDirsResult] = results
