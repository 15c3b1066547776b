"""SyncGroup, key 14. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import Field, Message, Versions

__all__ = ["SyncGroupRequest", "SyncGroupRequestAssignment", "SyncGroupResponse"]


class SyncGroupRequestAssignment(Message):
    __slots__ = ('member_id', 'assignment')
    NAME = "Assignments"
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('member_id', "string", default=""),
        Field('assignment', "bytes", default=b""),
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        assignment: Buffer = b"",
    ) -> None:
        self.member_id: str = member_id
        self.assignment: Buffer = assignment


class SyncGroupRequest(Message):
    __slots__ = ('group_id', 'generation_id', 'member_id', 'group_instance_id', 'protocol_type', 'protocol_name', 'assignments')
    NAME = "SyncGroupRequest"
    API_KEY = 14
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('group_id', "string", default=""),
        Field('generation_id', "int32", default=0),
        Field('member_id', "string", default=""),
        Field('group_instance_id', "string", versions=Versions(3, 32767), nullable=Versions(3, 32767), default=None),
        Field('protocol_type', "string", versions=Versions(5, 32767), nullable=Versions(5, 32767), default=None),
        Field('protocol_name', "string", versions=Versions(5, 32767), nullable=Versions(5, 32767), default=None),
        Field('assignments', SyncGroupRequestAssignment, array=True, default=()),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignments: Sequence[SyncGroupRequestAssignment] = (),
    ) -> None:
        self.group_id: str = group_id
        self.generation_id: int = generation_id
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.protocol_type: str | None = protocol_type
        self.protocol_name: str | None = protocol_name
        self.assignments: Sequence[SyncGroupRequestAssignment] = assignments


class SyncGroupResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'protocol_type', 'protocol_name', 'assignment')
    NAME = "SyncGroupResponse"
    API_KEY = 14
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", versions=Versions(1, 32767), default=0),
        Field('error_code', "int16", default=0),
        Field('protocol_type', "string", versions=Versions(5, 32767), nullable=Versions(5, 32767), default=None),
        Field('protocol_name', "string", versions=Versions(5, 32767), nullable=Versions(5, 32767), default=None),
        Field('assignment', "bytes", default=b""),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignment: Buffer = b"",
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.protocol_type: str | None = protocol_type
        self.protocol_name: str | None = protocol_name
        self.assignment: Buffer = assignment
