"""DeleteGroups, key 42. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import Field, Message, Versions

__all__ = ["DeletableGroupResult", "DeleteGroupsRequest", "DeleteGroupsResponse"]


class DeleteGroupsRequest(Message):
    __slots__ = ('groups_names',)
    NAME = "DeleteGroupsRequest"
    API_KEY = 42
    VERSIONS = Versions(0, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('groups_names', "string", array=True, default=()),
    )

    def __init__(
        self,
        *,
        groups_names: Sequence[str] = (),
    ) -> None:
        self.groups_names: Sequence[str] = groups_names


class DeletableGroupResult(Message):
    __slots__ = ('group_id', 'error_code', 'error_message')
    NAME = "Results"
    VERSIONS = Versions(0, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('group_id', "string", default=""),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", versions=Versions(3, 32767), nullable=Versions(3, 32767), default=None),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.group_id: str = group_id
        self.error_code: int = error_code
        self.error_message: str | None = error_message


class DeleteGroupsResponse(Message):
    __slots__ = ('throttle_time_ms', 'results')
    NAME = "DeleteGroupsResponse"
    API_KEY = 42
    VERSIONS = Versions(0, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('results', DeletableGroupResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: Sequence[DeletableGroupResult] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.results: Sequence[DeletableGroupResult] = results
