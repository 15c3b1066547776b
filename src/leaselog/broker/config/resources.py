"""The vocabulary of dynamic configuration: what can be configured, how a value changes, where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from leaselog.broker.config.values import ConfigType
from leaselog.coordination.cluster_records import ResourceType

__all__ = [
    "AlterOp",
    "Alteration",
    "ConfigEntry",
    "ConfigSource",
    "Resource",
    "Synonym",
]


class Resource(NamedTuple):
    """One thing with a configuration; as a tuple, the key of the cluster shard's configs.

    A broker without a name is the default of all brokers.
    """

    type: ResourceType
    name: str


class AlterOp(IntEnum):
    """The wire's numbers."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class Alteration:
    """What somebody wants of one key."""

    key: str
    op: AlterOp
    value: str | None


class ConfigSource(IntEnum):
    """Where a value comes from; the wire's numbers."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class Synonym(NamedTuple):
    """One of the places a value could come from."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One key of a resource as DescribeConfigs shows it."""

    name: str
    value: str | None
    source: ConfigSource
    type: ConfigType
    is_sensitive: bool = False
    is_read_only: bool = False
    #: nearest first; the first one won
    synonyms: tuple[Synonym, ...] = ()
    document: str | None = None
