"""LeaveGroup, key 13. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import Field, Message, Versions

__all__ = ["LeaveGroupRequest", "LeaveGroupResponse", "MemberIdentity", "MemberResponse"]


class MemberIdentity(Message):
    __slots__ = ('member_id', 'group_instance_id', 'reason')
    NAME = "Members"
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('member_id', "string", versions=Versions(3, 32767), default=""),
        Field('group_instance_id', "string", versions=Versions(3, 32767), nullable=Versions(3, 32767), default=None),
        Field('reason', "string", versions=Versions(5, 32767), nullable=Versions(5, 32767), default=None),
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        group_instance_id: str | None = None,
        reason: str | None = None,
    ) -> None:
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.reason: str | None = reason


class LeaveGroupRequest(Message):
    __slots__ = ('group_id', 'member_id', 'members')
    NAME = "LeaveGroupRequest"
    API_KEY = 13
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('group_id', "string", default=""),
        Field('member_id', "string", versions=Versions(0, 2), default=""),
        Field('members', MemberIdentity, array=True, versions=Versions(3, 32767), default=()),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        members: Sequence[MemberIdentity] = (),
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id
        self.members: Sequence[MemberIdentity] = members


class MemberResponse(Message):
    __slots__ = ('member_id', 'group_instance_id', 'error_code')
    NAME = "Members"
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('member_id', "string", versions=Versions(3, 32767), default=""),
        Field('group_instance_id', "string", versions=Versions(3, 32767), nullable=Versions(3, 32767), default=""),
        Field('error_code', "int16", versions=Versions(3, 32767), default=0),
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        group_instance_id: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.error_code: int = error_code


class LeaveGroupResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'members')
    NAME = "LeaveGroupResponse"
    API_KEY = 13
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", versions=Versions(1, 32767), default=0),
        Field('error_code', "int16", default=0),
        Field('members', MemberResponse, array=True, versions=Versions(3, 32767), default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        members: Sequence[MemberResponse] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.members: Sequence[MemberResponse] = members
