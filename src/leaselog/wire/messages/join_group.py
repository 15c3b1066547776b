"""JoinGroup, key 11. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import Field, Message, Versions

__all__ = ["JoinGroupRequest", "JoinGroupRequestProtocol", "JoinGroupResponse", "JoinGroupResponseMember"]


class JoinGroupRequestProtocol(Message):
    __slots__ = ('name', 'metadata')
    NAME = "Protocols"
    VERSIONS = Versions(0, 9)
    FLEXIBLE = Versions(6, 32767)
    FIELDS = (
        Field('name', "string", default=""),
        Field('metadata', "bytes", default=b""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        metadata: Buffer = b"",
    ) -> None:
        self.name: str = name
        self.metadata: Buffer = metadata


class JoinGroupRequest(Message):
    __slots__ = ('group_id', 'session_timeout_ms', 'rebalance_timeout_ms', 'member_id', 'group_instance_id', 'protocol_type', 'protocols', 'reason')
    NAME = "JoinGroupRequest"
    API_KEY = 11
    VERSIONS = Versions(0, 9)
    FLEXIBLE = Versions(6, 32767)
    FIELDS = (
        Field('group_id', "string", default=""),
        Field('session_timeout_ms', "int32", default=0),
        Field('rebalance_timeout_ms', "int32", versions=Versions(1, 32767), default=-1),
        Field('member_id', "string", default=""),
        Field('group_instance_id', "string", versions=Versions(5, 32767), nullable=Versions(5, 32767), default=None),
        Field('protocol_type', "string", default=""),
        Field('protocols', JoinGroupRequestProtocol, array=True, default=()),
        Field('reason', "string", versions=Versions(8, 32767), nullable=Versions(8, 32767), default=None),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        session_timeout_ms: int = 0,
        rebalance_timeout_ms: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str = "",
        protocols: Sequence[JoinGroupRequestProtocol] = (),
        reason: str | None = None,
    ) -> None:
        self.group_id: str = group_id
        self.session_timeout_ms: int = session_timeout_ms
        self.rebalance_timeout_ms: int = rebalance_timeout_ms
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.protocol_type: str = protocol_type
        self.protocols: Sequence[JoinGroupRequestProtocol] = protocols
        self.reason: str | None = reason


class JoinGroupResponseMember(Message):
    __slots__ = ('member_id', 'group_instance_id', 'metadata')
    NAME = "Members"
    VERSIONS = Versions(0, 9)
    FLEXIBLE = Versions(6, 32767)
    FIELDS = (
        Field('member_id', "string", default=""),
        Field('group_instance_id', "string", versions=Versions(5, 32767), nullable=Versions(5, 32767), default=None),
        Field('metadata', "bytes", default=b""),
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        group_instance_id: str | None = None,
        metadata: Buffer = b"",
    ) -> None:
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.metadata: Buffer = metadata


class JoinGroupResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'generation_id', 'protocol_type', 'protocol_name', 'leader', 'skip_assignment', 'member_id', 'members')
    NAME = "JoinGroupResponse"
    API_KEY = 11
    VERSIONS = Versions(0, 9)
    FLEXIBLE = Versions(6, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", versions=Versions(2, 32767), default=0),
        Field('error_code', "int16", default=0),
        Field('generation_id', "int32", default=-1),
        Field('protocol_type', "string", versions=Versions(7, 32767), nullable=Versions(7, 32767), default=None),
        Field('protocol_name', "string", nullable=Versions(7, 32767), default=""),
        Field('leader', "string", default=""),
        Field('skip_assignment', "bool", versions=Versions(9, 32767), default=False),
        Field('member_id', "string", default=""),
        Field('members', JoinGroupResponseMember, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        generation_id: int = -1,
        protocol_type: str | None = None,
        protocol_name: str | None = "",
        leader: str = "",
        skip_assignment: bool = False,
        member_id: str = "",
        members: Sequence[JoinGroupResponseMember] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.generation_id: int = generation_id
        self.protocol_type: str | None = protocol_type
        self.protocol_name: str | None = protocol_name
        self.leader: str = leader
        self.skip_assignment: bool = skip_assignment
        self.member_id: str = member_id
        self.members: Sequence[JoinGroupResponseMember] = members
