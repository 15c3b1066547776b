"""The facts the cluster's state is made of. Each is one record of Kafka's metadata log.

They are ours and know nothing of bytes; `broker.cluster.log` writes them the way Apache Kafka does.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias
from uuid import UUID

from leaselog.model import AclBinding, NodeId, ProducerId, TopicId
from leaselog.sasl.scram import Credential

__all__ = [
    "AclAdded",
    "AclRemoved",
    "ClusterRecord",
    "ConfigChanged",
    "FeatureLevelSet",
    "PartitionCreated",
    "ProducerIdsReserved",
    "QuotaChanged",
    "QuotaEntity",
    "ResourceType",
    "ScramCredentialRemoved",
    "ScramCredentialSet",
    "TopicCreated",
    "TopicRemoved",
]


#: (entity type, name) pairs sorted by type; the name None is the default of its type
QuotaEntity: TypeAlias = tuple[tuple[str, str | None], ...]


class ResourceType(IntEnum):
    """What a dynamic config belongs to. The numbers are Kafka's."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


@dataclass(frozen=True, slots=True)
class TopicCreated:
    name: str
    topic_id: TopicId


@dataclass(frozen=True, slots=True)
class PartitionCreated:
    """Led by ``leader`` in epoch 0. Follows its topic's `TopicCreated`, in the order of the indexes."""

    topic_id: TopicId
    partition: int
    leader: NodeId


@dataclass(frozen=True, slots=True)
class TopicRemoved:
    """Takes the topic's partitions and its configs with it."""

    topic_id: TopicId


@dataclass(frozen=True, slots=True)
class ConfigChanged:
    """``value`` None: the override is gone."""

    resource_type: int
    resource_name: str
    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class FeatureLevelSet:
    name: str
    level: int


@dataclass(frozen=True, slots=True)
class ProducerIdsReserved:
    """Every producer id below ``next_id`` may have been handed out."""

    node_id: NodeId
    next_id: ProducerId


@dataclass(frozen=True, slots=True)
class QuotaChanged:
    """``value`` None: the limit is gone."""

    entity: QuotaEntity
    key: str
    value: float | None


@dataclass(frozen=True, slots=True)
class ScramCredentialSet:
    """``mechanism`` is Kafka's number of it."""

    user: str
    mechanism: int
    credential: Credential


@dataclass(frozen=True, slots=True)
class ScramCredentialRemoved:
    user: str
    mechanism: int


@dataclass(frozen=True, slots=True)
class AclAdded:
    acl_id: UUID
    acl: AclBinding


@dataclass(frozen=True, slots=True)
class AclRemoved:
    acl_id: UUID


ClusterRecord: TypeAlias = (
    TopicCreated
    | PartitionCreated
    | TopicRemoved
    | ConfigChanged
    | FeatureLevelSet
    | ProducerIdsReserved
    | QuotaChanged
    | ScramCredentialSet
    | ScramCredentialRemoved
    | AclAdded
    | AclRemoved
)
