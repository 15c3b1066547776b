"""ShareGroupHeartbeat, key 76. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["Assignment", "ShareGroupHeartbeatRequest", "ShareGroupHeartbeatResponse", "TopicPartitions"]


class ShareGroupHeartbeatRequest(Message):
    __slots__ = ('group_id', 'member_id', 'member_epoch', 'rack_id', 'subscribed_topic_names')
    NAME = "ShareGroupHeartbeatRequest"
    API_KEY = 76
    VERSIONS = Versions(1, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('group_id', "string", default=""),
        Field('member_id', "string", default=""),
        Field('member_epoch', "int32", default=0),
        Field('rack_id', "string", nullable=ALWAYS, default=None),
        Field('subscribed_topic_names', "string", array=True, nullable=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        rack_id: str | None = None,
        subscribed_topic_names: Sequence[str] | None = None,
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id
        self.member_epoch: int = member_epoch
        self.rack_id: str | None = rack_id
        self.subscribed_topic_names: Sequence[str] | None = subscribed_topic_names


class TopicPartitions(Message):
    __slots__ = ('topic_id', 'partitions')
    NAME = "TopicPartitions"
    VERSIONS = Versions(1, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_id', "uuid", default=ZERO_UUID),
        Field('partitions', "int32", array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic_id: UUID = ZERO_UUID,
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic_id: UUID = topic_id
        self.partitions: Sequence[int] = partitions


class Assignment(Message):
    __slots__ = ('topic_partitions',)
    NAME = "Assignment"
    VERSIONS = Versions(1, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_partitions', TopicPartitions, array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic_partitions: Sequence[TopicPartitions] = (),
    ) -> None:
        self.topic_partitions: Sequence[TopicPartitions] = topic_partitions


class ShareGroupHeartbeatResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'error_message', 'member_id', 'member_epoch', 'heartbeat_interval_ms', 'assignment')
    NAME = "ShareGroupHeartbeatResponse"
    API_KEY = 76
    VERSIONS = Versions(1, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=None),
        Field('member_id', "string", nullable=ALWAYS, default=None),
        Field('member_epoch', "int32", default=0),
        Field('heartbeat_interval_ms', "int32", default=0),
        Field('assignment', Assignment, nullable=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str | None = None,
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        assignment: Assignment | None = None,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.member_id: str | None = member_id
        self.member_epoch: int = member_epoch
        self.heartbeat_interval_ms: int = heartbeat_interval_ms
        self.assignment: Assignment | None = assignment
