"""DeleteAcls, key 31. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["DeleteAclsFilter", "DeleteAclsFilterResult", "DeleteAclsMatchingAcl", "DeleteAclsRequest", "DeleteAclsResponse"]


class DeleteAclsFilter(Message):
    __slots__ = ('resource_type_filter', 'resource_name_filter', 'pattern_type_filter', 'principal_filter', 'host_filter', 'operation', 'permission_type')
    NAME = "Filters"
    VERSIONS = Versions(1, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('resource_type_filter', "int8", default=0),
        Field('resource_name_filter', "string", nullable=ALWAYS, default=""),
        Field('pattern_type_filter', "int8", versions=Versions(1, 32767), default=3),
        Field('principal_filter', "string", nullable=ALWAYS, default=""),
        Field('host_filter', "string", nullable=ALWAYS, default=""),
        Field('operation', "int8", default=0),
        Field('permission_type', "int8", default=0),
    )

    def __init__(
        self,
        *,
        resource_type_filter: int = 0,
        resource_name_filter: str | None = "",
        pattern_type_filter: int = 3,
        principal_filter: str | None = "",
        host_filter: str | None = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type_filter: int = resource_type_filter
        self.resource_name_filter: str | None = resource_name_filter
        self.pattern_type_filter: int = pattern_type_filter
        self.principal_filter: str | None = principal_filter
        self.host_filter: str | None = host_filter
        self.operation: int = operation
        self.permission_type: int = permission_type


class DeleteAclsRequest(Message):
    __slots__ = ('filters',)
    NAME = "DeleteAclsRequest"
    API_KEY = 31
    VERSIONS = Versions(1, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('filters', DeleteAclsFilter, array=True, default=()),
    )

    def __init__(
        self,
        *,
        filters: Sequence[DeleteAclsFilter] = (),
    ) -> None:
        self.filters: Sequence[DeleteAclsFilter] = filters


class DeleteAclsMatchingAcl(Message):
    __slots__ = ('error_code', 'error_message', 'resource_type', 'resource_name', 'pattern_type', 'principal', 'host', 'operation', 'permission_type')
    NAME = "MatchingAcls"
    VERSIONS = Versions(1, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=""),
        Field('resource_type', "int8", default=0),
        Field('resource_name', "string", default=""),
        Field('pattern_type', "int8", versions=Versions(1, 32767), default=3),
        Field('principal', "string", default=""),
        Field('host', "string", default=""),
        Field('operation', "int8", default=0),
        Field('permission_type', "int8", default=0),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.pattern_type: int = pattern_type
        self.principal: str = principal
        self.host: str = host
        self.operation: int = operation
        self.permission_type: int = permission_type


class DeleteAclsFilterResult(Message):
    __slots__ = ('error_code', 'error_message', 'matching_acls')
    NAME = "FilterResults"
    VERSIONS = Versions(1, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=""),
        Field('matching_acls', DeleteAclsMatchingAcl, array=True, default=()),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        matching_acls: Sequence[DeleteAclsMatchingAcl] = (),
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.matching_acls: Sequence[DeleteAclsMatchingAcl] = matching_acls


class DeleteAclsResponse(Message):
    __slots__ = ('throttle_time_ms', 'filter_results')
    NAME = "DeleteAclsResponse"
    API_KEY = 31
    VERSIONS = Versions(1, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('filter_results', DeleteAclsFilterResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        filter_results: Sequence[DeleteAclsFilterResult] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.filter_results: Sequence[DeleteAclsFilterResult] = filter_results
