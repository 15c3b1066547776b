"""DeleteShareGroupOffsets, key 92. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["DeleteShareGroupOffsetsRequest", "DeleteShareGroupOffsetsRequestTopic", "DeleteShareGroupOffsetsResponse", "DeleteShareGroupOffsetsResponseTopic"]


class DeleteShareGroupOffsetsRequestTopic(Message):
    __slots__ = ('topic_name',)
    NAME = "Topics"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_name', "string", default=""),
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
    ) -> None:
        self.topic_name: str = topic_name


class DeleteShareGroupOffsetsRequest(Message):
    __slots__ = ('group_id', 'topics')
    NAME = "DeleteShareGroupOffsetsRequest"
    API_KEY = 92
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('group_id', "string", default=""),
        Field('topics', DeleteShareGroupOffsetsRequestTopic, array=True, default=()),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: Sequence[DeleteShareGroupOffsetsRequestTopic] = (),
    ) -> None:
        self.group_id: str = group_id
        self.topics: Sequence[DeleteShareGroupOffsetsRequestTopic] = topics


class DeleteShareGroupOffsetsResponseTopic(Message):
    __slots__ = ('topic_name', 'topic_id', 'error_code', 'error_message')
    NAME = "Responses"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_name', "string", default=""),
        Field('topic_id', "uuid", default=ZERO_UUID),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
        topic_id: UUID = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.topic_name: str = topic_name
        self.topic_id: UUID = topic_id
        self.error_code: int = error_code
        self.error_message: str | None = error_message


class DeleteShareGroupOffsetsResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'error_message', 'responses')
    NAME = "DeleteShareGroupOffsetsResponse"
    API_KEY = 92
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=None),
        Field('responses', DeleteShareGroupOffsetsResponseTopic, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: Sequence[DeleteShareGroupOffsetsResponseTopic] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.responses: Sequence[DeleteShareGroupOffsetsResponseTopic] = responses
