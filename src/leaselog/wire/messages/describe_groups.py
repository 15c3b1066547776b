"""DescribeGroups, key 15. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import Field, Message, Versions

__all__ = ["DescribeGroupsRequest", "DescribeGroupsResponse", "DescribedGroup", "DescribedGroupMember"]


class DescribeGroupsRequest(Message):
    __slots__ = ('groups', 'include_authorized_operations')
    NAME = "DescribeGroupsRequest"
    API_KEY = 15
    VERSIONS = Versions(0, 6)
    FLEXIBLE = Versions(5, 32767)
    FIELDS = (
        Field('groups', "string", array=True, default=()),
        Field('include_authorized_operations', "bool", versions=Versions(3, 32767), default=False),
    )

    def __init__(
        self,
        *,
        groups: Sequence[str] = (),
        include_authorized_operations: bool = False,
    ) -> None:
        self.groups: Sequence[str] = groups
        self.include_authorized_operations: bool = include_authorized_operations


class DescribedGroupMember(Message):
    __slots__ = ('member_id', 'group_instance_id', 'client_id', 'client_host', 'member_metadata', 'member_assignment')
    NAME = "Members"
    VERSIONS = Versions(0, 6)
    FLEXIBLE = Versions(5, 32767)
    FIELDS = (
        Field('member_id', "string", default=""),
        Field('group_instance_id', "string", versions=Versions(4, 32767), nullable=Versions(4, 32767), default=None),
        Field('client_id', "string", default=""),
        Field('client_host', "string", default=""),
        Field('member_metadata', "bytes", default=b""),
        Field('member_assignment', "bytes", default=b""),
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        member_metadata: Buffer = b"",
        member_assignment: Buffer = b"",
    ) -> None:
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.client_id: str = client_id
        self.client_host: str = client_host
        self.member_metadata: Buffer = member_metadata
        self.member_assignment: Buffer = member_assignment


class DescribedGroup(Message):
    __slots__ = ('error_code', 'error_message', 'group_id', 'group_state', 'protocol_type', 'protocol_data', 'members', 'authorized_operations')
    NAME = "Groups"
    VERSIONS = Versions(0, 6)
    FLEXIBLE = Versions(5, 32767)
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('error_message', "string", versions=Versions(6, 32767), nullable=Versions(6, 32767), default=None),
        Field('group_id', "string", default=""),
        Field('group_state', "string", default=""),
        Field('protocol_type', "string", default=""),
        Field('protocol_data', "string", default=""),
        Field('members', DescribedGroupMember, array=True, default=()),
        Field('authorized_operations', "int32", versions=Versions(3, 32767), default=-2147483648),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        protocol_type: str = "",
        protocol_data: str = "",
        members: Sequence[DescribedGroupMember] = (),
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.group_id: str = group_id
        self.group_state: str = group_state
        self.protocol_type: str = protocol_type
        self.protocol_data: str = protocol_data
        self.members: Sequence[DescribedGroupMember] = members
        self.authorized_operations: int = authorized_operations


class DescribeGroupsResponse(Message):
    __slots__ = ('throttle_time_ms', 'groups')
    NAME = "DescribeGroupsResponse"
    API_KEY = 15
    VERSIONS = Versions(0, 6)
    FLEXIBLE = Versions(5, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", versions=Versions(1, 32767), default=0),
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
