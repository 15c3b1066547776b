"""DescribeAcls, key 29. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["AclDescription", "DescribeAclsRequest", "DescribeAclsResource", "DescribeAclsResponse"]


class DescribeAclsRequest(Message):
    __slots__ = ('resource_type_filter', 'resource_name_filter', 'pattern_type_filter', 'principal_filter', 'host_filter', 'operation', 'permission_type')
    NAME = "DescribeAclsRequest"
    API_KEY = 29
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


class AclDescription(Message):
    __slots__ = ('principal', 'host', 'operation', 'permission_type')
    NAME = "Acls"
    VERSIONS = Versions(1, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('principal', "string", default=""),
        Field('host', "string", default=""),
        Field('operation', "int8", default=0),
        Field('permission_type', "int8", default=0),
    )

    def __init__(
        self,
        *,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.principal: str = principal
        self.host: str = host
        self.operation: int = operation
        self.permission_type: int = permission_type


class DescribeAclsResource(Message):
    __slots__ = ('resource_type', 'resource_name', 'pattern_type', 'acls')
    NAME = "Resources"
    VERSIONS = Versions(1, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('resource_type', "int8", default=0),
        Field('resource_name', "string", default=""),
        Field('pattern_type', "int8", versions=Versions(1, 32767), default=3),
        Field('acls', AclDescription, array=True, default=()),
    )

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        acls: Sequence[AclDescription] = (),
    ) -> None:
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.pattern_type: int = pattern_type
        self.acls: Sequence[AclDescription] = acls


class DescribeAclsResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'error_message', 'resources')
    NAME = "DescribeAclsResponse"
    API_KEY = 29
    VERSIONS = Versions(1, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=""),
        Field('resources', DescribeAclsResource, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        resources: Sequence[DescribeAclsResource] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.resources: Sequence[DescribeAclsResource] = resources
