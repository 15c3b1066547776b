"""DescribeConfigs, key 32. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["DescribeConfigsRequest", "DescribeConfigsResource", "DescribeConfigsResourceResult", "DescribeConfigsResponse", "DescribeConfigsResult", "DescribeConfigsSynonym"]


class DescribeConfigsResource(Message):
    __slots__ = ('resource_type', 'resource_name', 'configuration_keys')
    NAME = "Resources"
    VERSIONS = Versions(1, 4)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('resource_type', "int8", default=0),
        Field('resource_name', "string", default=""),
        Field('configuration_keys', "string", array=True, nullable=ALWAYS, default=()),
    )

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        configuration_keys: Sequence[str] | None = (),
    ) -> None:
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.configuration_keys: Sequence[str] | None = configuration_keys


class DescribeConfigsRequest(Message):
    __slots__ = ('resources', 'include_synonyms', 'include_documentation')
    NAME = "DescribeConfigsRequest"
    API_KEY = 32
    VERSIONS = Versions(1, 4)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('resources', DescribeConfigsResource, array=True, default=()),
        Field('include_synonyms', "bool", versions=Versions(1, 32767), default=False),
        Field('include_documentation', "bool", versions=Versions(3, 32767), default=False),
    )

    def __init__(
        self,
        *,
        resources: Sequence[DescribeConfigsResource] = (),
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> None:
        self.resources: Sequence[DescribeConfigsResource] = resources
        self.include_synonyms: bool = include_synonyms
        self.include_documentation: bool = include_documentation


class DescribeConfigsSynonym(Message):
    __slots__ = ('name', 'value', 'source')
    NAME = "Synonyms"
    VERSIONS = Versions(1, 4)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('name', "string", versions=Versions(1, 32767), default=""),
        Field('value', "string", versions=Versions(1, 32767), nullable=ALWAYS, default=""),
        Field('source', "int8", versions=Versions(1, 32767), default=0),
    )

    def __init__(
        self,
        *,
        name: str = "",
        value: str | None = "",
        source: int = 0,
    ) -> None:
        self.name: str = name
        self.value: str | None = value
        self.source: int = source


class DescribeConfigsResourceResult(Message):
    __slots__ = ('name', 'value', 'read_only', 'config_source', 'is_sensitive', 'synonyms', 'config_type', 'documentation')
    NAME = "Configs"
    VERSIONS = Versions(1, 4)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('name', "string", default=""),
        Field('value', "string", nullable=ALWAYS, default=""),
        Field('read_only', "bool", default=False),
        Field('config_source', "int8", versions=Versions(1, 32767), default=-1),
        Field('is_sensitive', "bool", default=False),
        Field('synonyms', DescribeConfigsSynonym, array=True, versions=Versions(1, 32767), default=()),
        Field('config_type', "int8", versions=Versions(3, 32767), default=0),
        Field('documentation', "string", versions=Versions(3, 32767), nullable=ALWAYS, default=""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        synonyms: Sequence[DescribeConfigsSynonym] = (),
        config_type: int = 0,
        documentation: str | None = "",
    ) -> None:
        self.name: str = name
        self.value: str | None = value
        self.read_only: bool = read_only
        self.config_source: int = config_source
        self.is_sensitive: bool = is_sensitive
        self.synonyms: Sequence[DescribeConfigsSynonym] = synonyms
        self.config_type: int = config_type
        self.documentation: str | None = documentation


class DescribeConfigsResult(Message):
    __slots__ = ('error_code', 'error_message', 'resource_type', 'resource_name', 'configs')
    NAME = "Results"
    VERSIONS = Versions(1, 4)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=""),
        Field('resource_type', "int8", default=0),
        Field('resource_name', "string", default=""),
        Field('configs', DescribeConfigsResourceResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        configs: Sequence[DescribeConfigsResourceResult] = (),
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.configs: Sequence[DescribeConfigsResourceResult] = configs


class DescribeConfigsResponse(Message):
    __slots__ = ('throttle_time_ms', 'results')
    NAME = "DescribeConfigsResponse"
    API_KEY = 32
    VERSIONS = Versions(1, 4)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('results', DescribeConfigsResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: Sequence[DescribeConfigsResult] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.results: Sequence[DescribeConfigsResult] = results
