"""Topics: made, grown, deleted and described. Refusals of the broker are raised as ``BrokerError``."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from leaselog.client import BrokerError, Cluster, UnsupportedVersion, raise_for
from leaselog.model import ErrorCode
from leaselog.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from leaselog.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from leaselog.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from leaselog.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)

__all__ = [
    "NewTopic",
    "PartitionDescription",
    "TopicDescription",
    "add_partitions",
    "create_topic",
    "delete_topic",
    "describe_topics",
    "topic_id_text",
]

BROKER_DEFAULT = -1


@dataclass(frozen=True, slots=True)
class NewTopic:
    """Counts of -1 leave the choice to the broker; ``assignments`` (replicas of each partition) replace them."""

    name: str
    partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    configs: Mapping[str, str] = field(default_factory=dict)
    assignments: Sequence[Sequence[int]] = ()


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    partition: int
    #: None while nobody leads
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    #: eligible leader replicas (KIP-966); None from a broker that does not keep them
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class TopicDescription:
    name: str
    topic_id: UUID
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]

    @property
    def replication_factor(self) -> int:
        return len(self.partitions[0].replicas) if self.partitions else 0


def topic_id_text(topic_id: UUID) -> str:
    """A topic id as Kafka's tools write it."""
    return urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


async def create_topic(cluster: Cluster, topic: NewTopic) -> None:
    answer = await cluster.request(
        CreateTopicsRequest(topics=[_creatable(topic)], timeout_ms=cluster.request_timeout_ms),
        CreateTopicsResponse,
    )
    for result in answer.topics:
        raise_for(result.error_code, result.error_message)


def _creatable(topic: NewTopic) -> CreatableTopic:
    manual = bool(topic.assignments)
    return CreatableTopic(
        name=topic.name,
        num_partitions=BROKER_DEFAULT if manual else topic.partitions,
        replication_factor=BROKER_DEFAULT if manual else topic.replication_factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=i, broker_ids=list(replicas))
            for i, replicas in enumerate(topic.assignments)
        ],
        configs=[CreatableTopicConfig(name=name, value=value) for name, value in topic.configs.items()],
    )


async def add_partitions(
    cluster: Cluster, name: str, count: int, assignments: Sequence[Sequence[int]] | None = None
) -> None:
    """Let the topic have ``count`` partitions; ``assignments`` places the new ones."""
    placed = None
    if assignments is not None:
        placed = [CreatePartitionsAssignment(broker_ids=list(replicas)) for replicas in assignments]
    answer = await cluster.request(
        CreatePartitionsRequest(
            topics=[CreatePartitionsTopic(name=name, count=count, assignments=placed)],
            timeout_ms=cluster.request_timeout_ms,
        ),
        CreatePartitionsResponse,
    )
    for result in answer.results:
        raise_for(result.error_code, result.error_message)


async def delete_topic(cluster: Cluster, name: str) -> None:
    answer = await cluster.request(
        DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name)], topic_names=[name], timeout_ms=cluster.request_timeout_ms
        ),
        DeleteTopicsResponse,
    )
    for result in answer.responses:
        raise_for(result.error_code, result.error_message or f"Topic '{name}'")


async def describe_topics(cluster: Cluster, names: Sequence[str]) -> list[TopicDescription]:
    """These topics in this order; one that is gone by now is left out."""
    if not names:
        return []
    try:
        found = await _describe_by_page(cluster, names)
    except UnsupportedVersion:  # a broker before Kafka 3.8
        found = await _describe_by_metadata(cluster, names)
    return [found[name] for name in names if name in found]


async def _describe_by_page(cluster: Cluster, names: Sequence[str]) -> dict[str, TopicDescription]:
    found = dict[str, TopicDescription]()
    cursor: Cursor | None = None
    while True:
        answer = await cluster.request(
            DescribeTopicPartitionsRequest(
                topics=[TopicRequest(name=n) for n in sorted(names)], cursor=cursor
            ),
            DescribeTopicPartitionsResponse,
        )
        for topic in answer.topics:
            if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION or topic.name is None:
                continue
            raise_for(topic.error_code, f"Topic '{topic.name}'")
            # A large topic may go on in the next page.
            before = found[topic.name].partitions if topic.name in found else ()
            more = tuple(
                PartitionDescription(
                    p.partition_index,
                    p.leader_id if p.leader_id >= 0 else None,
                    tuple(p.replica_nodes),
                    tuple(p.isr_nodes),
                    None if p.eligible_leader_replicas is None else tuple(p.eligible_leader_replicas),
                    None if p.last_known_elr is None else tuple(p.last_known_elr),
                )
                for p in topic.partitions
            )
            found[topic.name] = TopicDescription(topic.name, topic.topic_id, topic.is_internal, before + more)
        if answer.next_cursor is None:
            return found
        cursor = Cursor(
            topic_name=answer.next_cursor.topic_name, partition_index=answer.next_cursor.partition_index
        )


async def _describe_by_metadata(cluster: Cluster, names: Sequence[str]) -> dict[str, TopicDescription]:
    topology = await cluster.fetch_topology(names)
    for name, code in topology.errors.items():
        if code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise BrokerError(code, f"Topic '{name}'")
    return {
        name: TopicDescription(
            name,
            info.topic_id,
            info.is_internal,
            tuple(
                PartitionDescription(p.partition, p.leader if p.leader >= 0 else None, p.replicas, p.isr)
                for p in info.partitions
            ),
        )
        for name, info in topology.topics.items()
    }
