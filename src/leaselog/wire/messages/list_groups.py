"""ListGroups, key 16. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import Field, Message, Versions

__all__ = ["ListGroupsRequest", "ListGroupsResponse", "ListedGroup"]


class ListGroupsRequest(Message):
    __slots__ = ('states_filter', 'types_filter')
    NAME = "ListGroupsRequest"
    API_KEY = 16
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('states_filter', "string", array=True, versions=Versions(4, 32767), default=()),
        Field('types_filter', "string", array=True, versions=Versions(5, 32767), default=()),
    )

    def __init__(
        self,
        *,
        states_filter: Sequence[str] = (),
        types_filter: Sequence[str] = (),
    ) -> None:
        self.states_filter: Sequence[str] = states_filter
        self.types_filter: Sequence[str] = types_filter


class ListedGroup(Message):
    __slots__ = ('group_id', 'protocol_type', 'group_state', 'group_type')
    NAME = "Groups"
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('group_id', "string", default=""),
        Field('protocol_type', "string", default=""),
        Field('group_state', "string", versions=Versions(4, 32767), default=""),
        Field('group_type', "string", versions=Versions(5, 32767), default=""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        protocol_type: str = "",
        group_state: str = "",
        group_type: str = "",
    ) -> None:
        self.group_id: str = group_id
        self.protocol_type: str = protocol_type
        self.group_state: str = group_state
        self.group_type: str = group_type


class ListGroupsResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'groups')
    NAME = "ListGroupsResponse"
    API_KEY = 16
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", versions=Versions(1, 32767), default=0),
        Field('error_code', "int16", default=0),
        Field('groups', ListedGroup, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        groups: Sequence[ListedGroup] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.groups: Sequence[ListedGroup] = groups
