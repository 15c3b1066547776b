"""Configs of topics, brokers, groups and the rest, described and altered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from leaselog.client.cluster import Cluster
from leaselog.client.errors import raise_for
from leaselog.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from leaselog.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from leaselog.wire.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

__all__ = [
    "ConfigEntry",
    "ConfigSource",
    "Resource",
    "ResourceType",
    "Synonym",
    "alter_configs",
    "configured_names",
    "describe_configs",
]

_SET = 0
_DELETE = 1


class ResourceType(IntEnum):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigSource(IntEnum):
    """Where a value comes from, named as Kafka's tools print it."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8

    @classmethod
    def _missing_(cls, value: object) -> ConfigSource:
        return cls.UNKNOWN


@dataclass(frozen=True, slots=True)
class Resource:
    type: ResourceType
    #: a broker's empty name is the default of all brokers
    name: str

    @property
    def node(self) -> int | None:
        """The broker that alone can answer for this resource, if there is one."""
        if self.type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER) and self.name.isdecimal():
            return int(self.name)
        return None


@dataclass(frozen=True, slots=True)
class Synonym:
    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    name: str
    value: str | None
    source: ConfigSource
    is_sensitive: bool
    is_read_only: bool
    synonyms: tuple[Synonym, ...] = ()


async def describe_configs(
    cluster: Cluster,
    resources: Sequence[Resource],
    *,
    synonyms: bool = False,
    keys: Sequence[str] | None = None,
) -> dict[Resource, list[ConfigEntry]]:
    """Every config of each resource, or of ``keys`` those that the broker knows.

    Raises ``BrokerError`` if one of the resources cannot be described.
    """
    by_node = dict[int | None, list[Resource]]()
    for resource in resources:
        by_node.setdefault(resource.node, []).append(resource)
    found = dict[Resource, list[ConfigEntry]]()
    for node, asked in by_node.items():
        answer = await cluster.request(
            DescribeConfigsRequest(
                resources=[
                    DescribeConfigsResource(
                        resource_type=r.type,
                        resource_name=r.name,
                        configuration_keys=None if keys is None else list(keys),
                    )
                    for r in asked
                ],
                include_synonyms=synonyms,
            ),
            DescribeConfigsResponse,
            node=node,
        )
        for result in answer.results:
            raise_for(result.error_code, result.error_message)
            where = Resource(ResourceType(result.resource_type), result.resource_name)
            found[where] = [_entry(config) for config in result.configs]
    return found


def _entry(config: DescribeConfigsResourceResult) -> ConfigEntry:
    return ConfigEntry(
        config.name,
        config.value,
        ConfigSource(config.config_source),
        config.is_sensitive,
        config.read_only,
        tuple(Synonym(s.name, s.value, ConfigSource(s.source)) for s in config.synonyms),
    )


async def alter_configs(
    cluster: Cluster, resource: Resource, *, put: Mapping[str, str], delete: Iterable[str] = ()
) -> None:
    """Set and unset dynamic configs of one resource: all of them or, with a ``BrokerError``, none."""
    operations = [AlterableConfig(name=n, config_operation=_SET, value=v) for n, v in put.items()]
    operations += [AlterableConfig(name=n, config_operation=_DELETE, value=None) for n in delete]
    answer = await cluster.request(
        IncrementalAlterConfigsRequest(
            resources=[
                AlterConfigsResource(
                    resource_type=resource.type, resource_name=resource.name, configs=operations
                )
            ]
        ),
        IncrementalAlterConfigsResponse,
        node=resource.node,
    )
    for result in answer.responses:
        raise_for(result.error_code, result.error_message)


async def configured_names(cluster: Cluster, kind: ResourceType) -> list[str]:
    """The names of this kind's resources that the broker lists, sorted."""
    answer = await cluster.request(
        ListConfigResourcesRequest(resource_types=[kind]), ListConfigResourcesResponse
    )
    raise_for(answer.error_code)
    return sorted(r.resource_name for r in answer.config_resources if r.resource_type == kind)
