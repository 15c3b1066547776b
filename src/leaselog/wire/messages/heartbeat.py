"""Heartbeat, key 12. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from leaselog.wire.schema import Field, Message, Versions

__all__ = ["HeartbeatRequest", "HeartbeatResponse"]


class HeartbeatRequest(Message):
    __slots__ = ('group_id', 'generation_id', 'member_id', 'group_instance_id')
    NAME = "HeartbeatRequest"
    API_KEY = 12
    VERSIONS = Versions(0, 4)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('group_id', "string", default=""),
        Field('generation_id', "int32", default=0),
        Field('member_id', "string", default=""),
        Field('group_instance_id', "string", versions=Versions(3, 32767), nullable=Versions(3, 32767), default=None),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
    ) -> None:
        self.group_id: str = group_id
        self.generation_id: int = generation_id
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id


class HeartbeatResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code')
    NAME = "HeartbeatResponse"
    API_KEY = 12
    VERSIONS = Versions(0, 4)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", versions=Versions(1, 32767), default=0),
        Field('error_code', "int16", default=0),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
