"""What a client knows of a cluster: its nodes, its topics, who leads what. Values, read from one answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from leaselog.client.errors import BrokerError, known_code, refusal
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.messages.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic

__all__ = ["Node", "PartitionInfo", "TopicInfo", "Topology", "parse_bootstrap", "read_topology"]

#: bootstrap addresses beyond this many are a mistake
MAX_BOOTSTRAP = 100


@dataclass(frozen=True, slots=True)
class Node:
    node_id: int
    host: str
    port: int
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    partition: int
    #: -1 while nobody leads
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicInfo:
    name: str
    #: zero from a broker too old for topic ids
    topic_id: UUID
    is_internal: bool
    #: by partition number, without gaps
    partitions: tuple[PartitionInfo, ...]

    @property
    def replication_factor(self) -> int:
        return len(self.partitions[0].replicas) if self.partitions else 0


@dataclass(frozen=True, slots=True)
class Topology:
    nodes: Mapping[int, Node]
    cluster_id: str | None
    controller_id: int
    topics: Mapping[str, TopicInfo]
    #: why a topic that was asked for is not in ``topics``
    errors: Mapping[str, ErrorCode]

    def topic(self, name: str) -> TopicInfo:
        """Raises ``BrokerError`` for a topic the broker would not describe."""
        if name not in self.topics:
            code = self.errors.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            raise refusal(code, f"Topic '{name}'", f"DESCRIBE topic '{name}'")
        return self.topics[name]

    def leader(self, where: TopicPartition) -> Node:
        """The node that leads a partition. Raises ``BrokerError``, retriable while there is none."""
        partitions = self.topic(where.topic).partitions
        if not 0 <= where.partition < len(partitions):
            raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Partition {where}")
        node = self.nodes.get(partitions[where.partition].leader)
        if node is None:
            raise BrokerError(ErrorCode.LEADER_NOT_AVAILABLE, f"Partition {where}")
        return node


def read_topology(answer: MetadataResponse) -> Topology:
    nodes = {b.node_id: Node(b.node_id, b.host, b.port, b.rack) for b in answer.brokers}
    topics = {t.name: _topic(t) for t in answer.topics if t.name is not None and not t.error_code}
    errors = {t.name or str(t.topic_id): known_code(t.error_code) for t in answer.topics if t.error_code}
    return Topology(nodes, answer.cluster_id, answer.controller_id, topics, errors)


def _topic(found: MetadataResponseTopic) -> TopicInfo:
    partitions = sorted(found.partitions, key=lambda p: p.partition_index)
    return TopicInfo(found.name or "", found.topic_id, found.is_internal, tuple(map(_partition, partitions)))


def _partition(found: MetadataResponsePartition) -> PartitionInfo:
    return PartitionInfo(
        found.partition_index,
        found.leader_id,
        found.leader_epoch,
        tuple(found.replica_nodes),
        tuple(found.isr_nodes),
        tuple(found.offline_replicas),
    )


def parse_bootstrap(text: str) -> tuple[tuple[str, int], ...]:
    """``host:port,host:port`` as pairs; ``[::1]:9092`` for IPv6. Raises ``ValueError`` in words for a user."""
    addresses = tuple(_address(part.strip()) for part in text.split(",") if part.strip())
    if not addresses:
        raise ValueError("no address: expected HOST:PORT")
    if len(addresses) > MAX_BOOTSTRAP:
        raise ValueError(f"{len(addresses)} addresses, at most {MAX_BOOTSTRAP}")
    return addresses


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError(f"{text!r} is not HOST:PORT")
    return host.strip("[]"), int(port)
