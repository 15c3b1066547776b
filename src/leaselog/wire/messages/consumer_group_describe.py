"""ConsumerGroupDescribe, key 69. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["Assignment", "ConsumerGroupDescribeRequest", "ConsumerGroupDescribeResponse", "DescribedGroup", "Member", "TopicPartitions"]


class ConsumerGroupDescribeRequest(Message):
    __slots__ = ('group_ids', 'include_authorized_operations')
    NAME = "ConsumerGroupDescribeRequest"
    API_KEY = 69
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('group_ids', "string", array=True, default=()),
        Field('include_authorized_operations', "bool", default=False),
    )

    def __init__(
        self,
        *,
        group_ids: Sequence[str] = (),
        include_authorized_operations: bool = False,
    ) -> None:
        self.group_ids: Sequence[str] = group_ids
        self.include_authorized_operations: bool = include_authorized_operations


class TopicPartitions(Message):
    __slots__ = ('topic_id', 'topic_name', 'partitions')
    NAME = "TopicPartitions"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_id', "uuid", default=ZERO_UUID),
        Field('topic_name', "string", default=""),
        Field('partitions', "int32", array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic_id: UUID = ZERO_UUID,
        topic_name: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic_id: UUID = topic_id
        self.topic_name: str = topic_name
        self.partitions: Sequence[int] = partitions


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


class Member(Message):
    __slots__ = ('member_id', 'instance_id', 'rack_id', 'member_epoch', 'client_id', 'client_host', 'subscribed_topic_names', 'subscribed_topic_regex', 'assignment', 'target_assignment', 'member_type')
    NAME = "Members"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('member_id', "string", default=""),
        Field('instance_id', "string", nullable=ALWAYS, default=None),
        Field('rack_id', "string", nullable=ALWAYS, default=None),
        Field('member_epoch', "int32", default=0),
        Field('client_id', "string", default=""),
        Field('client_host', "string", default=""),
        Field('subscribed_topic_names', "string", array=True, default=()),
        Field('subscribed_topic_regex', "string", nullable=ALWAYS, default=None),
        Field('assignment', Assignment, default=Assignment()),
        Field('target_assignment', Assignment, default=Assignment()),
        Field('member_type', "int8", versions=Versions(1, 32767), default=-1),
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        instance_id: str | None = None,
        rack_id: str | None = None,
        member_epoch: int = 0,
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: Sequence[str] = (),
        subscribed_topic_regex: str | None = None,
        assignment: Assignment | None = None,
        target_assignment: Assignment | None = None,
        member_type: int = -1,
    ) -> None:
        self.member_id: str = member_id
        self.instance_id: str | None = instance_id
        self.rack_id: str | None = rack_id
        self.member_epoch: int = member_epoch
        self.client_id: str = client_id
        self.client_host: str = client_host
        self.subscribed_topic_names: Sequence[str] = subscribed_topic_names
        self.subscribed_topic_regex: str | None = subscribed_topic_regex
        self.assignment: Assignment = Assignment() if assignment is None else assignment
        self.target_assignment: Assignment = Assignment() if target_assignment is None else target_assignment
        self.member_type: int = member_type


class DescribedGroup(Message):
    __slots__ = ('error_code', 'error_message', 'group_id', 'group_state', 'group_epoch', 'assignment_epoch', 'assignor_name', 'members', 'authorized_operations')
    NAME = "Groups"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=None),
        Field('group_id', "string", default=""),
        Field('group_state', "string", default=""),
        Field('group_epoch', "int32", default=0),
        Field('assignment_epoch', "int32", default=0),
        Field('assignor_name', "string", default=""),
        Field('members', Member, array=True, default=()),
        Field('authorized_operations', "int32", default=-2147483648),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        assignor_name: str = "",
        members: Sequence[Member] = (),
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.group_id: str = group_id
        self.group_state: str = group_state
        self.group_epoch: int = group_epoch
        self.assignment_epoch: int = assignment_epoch
        self.assignor_name: str = assignor_name
        self.members: Sequence[Member] = members
        self.authorized_operations: int = authorized_operations


class ConsumerGroupDescribeResponse(Message):
    __slots__ = ('throttle_time_ms', 'groups')
    NAME = "ConsumerGroupDescribeResponse"
    API_KEY = 69
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('groups', DescribedGroup, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        groups: Sequence[DescribedGroup] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.groups: Sequence[DescribedGroup] = groups
