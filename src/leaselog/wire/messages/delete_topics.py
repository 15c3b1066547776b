"""DeleteTopics, key 20. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.schema import Field, Message, Versions

__all__ = ["DeletableTopicResult", "DeleteTopicState", "DeleteTopicsRequest", "DeleteTopicsResponse"]


class DeleteTopicState(Message):
    __slots__ = ('name', 'topic_id')
    NAME = "Topics"
    VERSIONS = Versions(1, 6)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('name', "string", versions=Versions(6, 32767), nullable=Versions(6, 32767), default=None),
        Field('topic_id', "uuid", versions=Versions(6, 32767), default=ZERO_UUID),
    )

    def __init__(
        self,
        *,
        name: str | None = None,
        topic_id: UUID = ZERO_UUID,
    ) -> None:
        self.name: str | None = name
        self.topic_id: UUID = topic_id


class DeleteTopicsRequest(Message):
    __slots__ = ('topics', 'topic_names', 'timeout_ms')
    NAME = "DeleteTopicsRequest"
    API_KEY = 20
    VERSIONS = Versions(1, 6)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('topics', DeleteTopicState, array=True, versions=Versions(6, 32767), default=()),
        Field('topic_names', "string", array=True, versions=Versions(0, 5), default=()),
        Field('timeout_ms', "int32", default=0),
    )

    def __init__(
        self,
        *,
        topics: Sequence[DeleteTopicState] = (),
        topic_names: Sequence[str] = (),
        timeout_ms: int = 0,
    ) -> None:
        self.topics: Sequence[DeleteTopicState] = topics
        self.topic_names: Sequence[str] = topic_names
        self.timeout_ms: int = timeout_ms


class DeletableTopicResult(Message):
    __slots__ = ('name', 'topic_id', 'error_code', 'error_message')
    NAME = "Responses"
    VERSIONS = Versions(1, 6)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('name', "string", nullable=Versions(6, 32767), default=""),
        Field('topic_id', "uuid", versions=Versions(6, 32767), default=ZERO_UUID),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", versions=Versions(5, 32767), nullable=Versions(5, 32767), default=None),
    )

    def __init__(
        self,
        *,
        name: str | None = "",
        topic_id: UUID = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.name: str | None = name
        self.topic_id: UUID = topic_id
        self.error_code: int = error_code
        self.error_message: str | None = error_message


class DeleteTopicsResponse(Message):
    __slots__ = ('throttle_time_ms', 'responses')
    NAME = "DeleteTopicsResponse"
    API_KEY = 20
    VERSIONS = Versions(1, 6)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", versions=Versions(1, 32767), default=0),
        Field('responses', DeletableTopicResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        responses: Sequence[DeletableTopicResult] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.responses: Sequence[DeletableTopicResult] = responses
