"""AlterShareGroupOffsets, key 91. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["AlterShareGroupOffsetsRequest", "AlterShareGroupOffsetsRequestPartition", "AlterShareGroupOffsetsRequestTopic", "AlterShareGroupOffsetsResponse", "AlterShareGroupOffsetsResponsePartition", "AlterShareGroupOffsetsResponseTopic"]


class AlterShareGroupOffsetsRequestPartition(Message):
    __slots__ = ('partition_index', 'start_offset')
    NAME = "Partitions"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('start_offset', "int64", default=0),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        start_offset: int = 0,
    ) -> None:
        self.partition_index: int = partition_index
        self.start_offset: int = start_offset


class AlterShareGroupOffsetsRequestTopic(Message):
    __slots__ = ('topic_name', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_name', "string", default=""),
        Field('partitions', AlterShareGroupOffsetsRequestPartition, array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
        partitions: Sequence[AlterShareGroupOffsetsRequestPartition] = (),
    ) -> None:
        self.topic_name: str = topic_name
        self.partitions: Sequence[AlterShareGroupOffsetsRequestPartition] = partitions


class AlterShareGroupOffsetsRequest(Message):
    __slots__ = ('group_id', 'topics')
    NAME = "AlterShareGroupOffsetsRequest"
    API_KEY = 91
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('group_id', "string", default=""),
        Field('topics', AlterShareGroupOffsetsRequestTopic, array=True, default=()),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: Sequence[AlterShareGroupOffsetsRequestTopic] = (),
    ) -> None:
        self.group_id: str = group_id
        self.topics: Sequence[AlterShareGroupOffsetsRequestTopic] = topics


class AlterShareGroupOffsetsResponsePartition(Message):
    __slots__ = ('partition_index', 'error_code', 'error_message')
    NAME = "Partitions"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.error_message: str | None = error_message


class AlterShareGroupOffsetsResponseTopic(Message):
    __slots__ = ('topic_name', 'topic_id', 'partitions')
    NAME = "Responses"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_name', "string", default=""),
        Field('topic_id', "uuid", default=ZERO_UUID),
        Field('partitions', AlterShareGroupOffsetsResponsePartition, array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: Sequence[AlterShareGroupOffsetsResponsePartition] = (),
    ) -> None:
        self.topic_name: str = topic_name
        self.topic_id: UUID = topic_id
        self.partitions: Sequence[AlterShareGroupOffsetsResponsePartition] = partitions


class AlterShareGroupOffsetsResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'error_message', 'responses')
    NAME = "AlterShareGroupOffsetsResponse"
    API_KEY = 91
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=None),
        Field('responses', AlterShareGroupOffsetsResponseTopic, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: Sequence[AlterShareGroupOffsetsResponseTopic] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.responses: Sequence[AlterShareGroupOffsetsResponseTopic] = responses
