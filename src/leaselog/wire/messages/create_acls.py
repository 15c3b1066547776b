"""CreateAcls, key 30. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["AclCreation", "AclCreationResult", "CreateAclsRequest", "CreateAclsResponse"]


class AclCreation(Message):
    __slots__ = ('resource_type', 'resource_name', 'resource_pattern_type', 'principal', 'host', 'operation', 'permission_type')
    NAME = "Creations"
    VERSIONS = Versions(1, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('resource_type', "int8", default=0),
        Field('resource_name', "string", default=""),
        Field('resource_pattern_type', "int8", versions=Versions(1, 32767), default=3),
        Field('principal', "string", default=""),
        Field('host', "string", default=""),
        Field('operation', "int8", default=0),
        Field('permission_type', "int8", default=0),
    )

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        resource_pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.resource_pattern_type: int = resource_pattern_type
        self.principal: str = principal
        self.host: str = host
        self.operation: int = operation
        self.permission_type: int = permission_type


class CreateAclsRequest(Message):
    __slots__ = ('creations',)
    NAME = "CreateAclsRequest"
    API_KEY = 30
    VERSIONS = Versions(1, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('creations', AclCreation, array=True, default=()),
    )

    def __init__(
        self,
        *,
        creations: Sequence[AclCreation] = (),
    ) -> None:
        self.creations: Sequence[AclCreation] = creations


class AclCreationResult(Message):
    __slots__ = ('error_code', 'error_message')
    NAME = "Results"
    VERSIONS = Versions(1, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=""),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message


class CreateAclsResponse(Message):
    __slots__ = ('throttle_time_ms', 'results')
    NAME = "CreateAclsResponse"
    API_KEY = 30
    VERSIONS = Versions(1, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('results', AclCreationResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: Sequence[AclCreationResult] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.results: Sequence[AclCreationResult] = results
