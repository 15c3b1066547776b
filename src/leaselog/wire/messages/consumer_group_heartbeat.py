"""ConsumerGroupHeartbeat, key 68. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["Assignment", "ConsumerGroupHeartbeatRequest", "ConsumerGroupHeartbeatResponse", "TopicPartitions"]


class TopicPartitions(Message):
    __slots__ = ('topic_id', 'partitions')
    NAME = "TopicPartitions"
    VERSIONS = Versions(0, 1)
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


class ConsumerGroupHeartbeatRequest(Message):
    __slots__ = ('group_id', 'member_id', 'member_epoch', 'instance_id', 'rack_id', 'rebalance_timeout_ms', 'subscribed_topic_names', 'subscribed_topic_regex', 'server_assignor', 'topic_partitions')
    NAME = "ConsumerGroupHeartbeatRequest"
    API_KEY = 68
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('group_id', "string", default=""),
        Field('member_id', "string", default=""),
        Field('member_epoch', "int32", default=0),
        Field('instance_id', "string", nullable=ALWAYS, default=None),
        Field('rack_id', "string", nullable=ALWAYS, default=None),
        Field('rebalance_timeout_ms', "int32", default=-1),
        Field('subscribed_topic_names', "string", array=True, nullable=ALWAYS, default=None),
        Field('subscribed_topic_regex', "string", versions=Versions(1, 32767), nullable=Versions(1, 32767), default=None),
        Field('server_assignor', "string", nullable=ALWAYS, default=None),
        Field('topic_partitions', TopicPartitions, array=True, nullable=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        subscribed_topic_names: Sequence[str] | None = None,
        subscribed_topic_regex: str | None = None,
        server_assignor: str | None = None,
        topic_partitions: Sequence[TopicPartitions] | None = None,
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id
        self.member_epoch: int = member_epoch
        self.instance_id: str | None = instance_id
        self.rack_id: str | None = rack_id
        self.rebalance_timeout_ms: int = rebalance_timeout_ms
        self.subscribed_topic_names: Sequence[str] | None = subscribed_topic_names
        self.subscribed_topic_regex: str | None = subscribed_topic_regex
        self.server_assignor: str | None = server_assignor
        self.topic_partitions: Sequence[TopicPartitions] | None = topic_partitions


class Assignment(Message):
    __slots__ = ('topic_partitions',)
    NAME = "Assignment"
    VERSIONS = Versions(0, 1)
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


class ConsumerGroupHeartbeatResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'error_message', 'member_id', 'member_epoch', 'heartbeat_interval_ms', 'assignment')
    NAME = "ConsumerGroupHeartbeatResponse"
    API_KEY = 68
    VERSIONS = Versions(0, 1)
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
