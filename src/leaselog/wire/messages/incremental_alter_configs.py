"""IncrementalAlterConfigs, key 44. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["AlterConfigsResource", "AlterConfigsResourceResponse", "AlterableConfig", "IncrementalAlterConfigsRequest", "IncrementalAlterConfigsResponse"]


class AlterableConfig(Message):
    __slots__ = ('name', 'config_operation', 'value')
    NAME = "Configs"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('name', "string", default=""),
        Field('config_operation', "int8", default=0),
        Field('value', "string", nullable=ALWAYS, default=""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        config_operation: int = 0,
        value: str | None = "",
    ) -> None:
        self.name: str = name
        self.config_operation: int = config_operation
        self.value: str | None = value


class AlterConfigsResource(Message):
    __slots__ = ('resource_type', 'resource_name', 'configs')
    NAME = "Resources"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('resource_type', "int8", default=0),
        Field('resource_name', "string", default=""),
        Field('configs', AlterableConfig, array=True, default=()),
    )

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        configs: Sequence[AlterableConfig] = (),
    ) -> None:
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.configs: Sequence[AlterableConfig] = configs


class IncrementalAlterConfigsRequest(Message):
    __slots__ = ('resources', 'validate_only')
    NAME = "IncrementalAlterConfigsRequest"
    API_KEY = 44
    VERSIONS = Versions(0, 1)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('resources', AlterConfigsResource, array=True, default=()),
        Field('validate_only', "bool", default=False),
    )

    def __init__(
        self,
        *,
        resources: Sequence[AlterConfigsResource] = (),
        validate_only: bool = False,
    ) -> None:
        self.resources: Sequence[AlterConfigsResource] = resources
        self.validate_only: bool = validate_only


class AlterConfigsResourceResponse(Message):
    __slots__ = ('error_code', 'error_message', 'resource_type', 'resource_name')
    NAME = "Responses"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=""),
        Field('resource_type', "int8", default=0),
        Field('resource_name', "string", default=""),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name


class IncrementalAlterConfigsResponse(Message):
    __slots__ = ('throttle_time_ms', 'responses')
    NAME = "IncrementalAlterConfigsResponse"
    API_KEY = 44
    VERSIONS = Versions(0, 1)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('responses', AlterConfigsResourceResponse, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        responses: Sequence[AlterConfigsResourceResponse] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.responses: Sequence[AlterConfigsResourceResponse] = responses
