"""ListConfigResources, key 74. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["ConfigResource", "ListConfigResourcesRequest", "ListConfigResourcesResponse"]


class ListConfigResourcesRequest(Message):
    __slots__ = ('resource_types',)
    NAME = "ListConfigResourcesRequest"
    API_KEY = 74
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('resource_types', "int8", array=True, versions=Versions(1, 32767), default=()),
    )

    def __init__(
        self,
        *,
        resource_types: Sequence[int] = (),
    ) -> None:
        self.resource_types: Sequence[int] = resource_types


class ConfigResource(Message):
    __slots__ = ('resource_name', 'resource_type')
    NAME = "ConfigResources"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('resource_name', "string", default=""),
        Field('resource_type', "int8", versions=Versions(1, 32767), default=16),
    )

    def __init__(
        self,
        *,
        resource_name: str = "",
        resource_type: int = 16,
    ) -> None:
        self.resource_name: str = resource_name
        self.resource_type: int = resource_type


class ListConfigResourcesResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'config_resources')
    NAME = "ListConfigResourcesResponse"
    API_KEY = 74
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('config_resources', ConfigResource, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        config_resources: Sequence[ConfigResource] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.config_resources: Sequence[ConfigResource] = config_resources
