"""Topics: listed, made, grown, deleted and described."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from leaselog.admin.outcome import Outcomes, outcome, try_each
from leaselog.client import BrokerError, UnsupportedVersion
from leaselog.client.cluster import Cluster
from leaselog.client.errors import raise_for
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
    "NewPartitions",
    "NewTopic",
    "PartitionDescription",
    "TopicDescription",
    "TopicListing",
    "create_partitions",
    "create_topics",
    "delete_topics",
    "describe_topics",
    "list_topics",
    "topic_id_text",
]

BROKER_DEFAULT = -1
_CONTROLLER_TROUBLE = frozenset({ErrorCode.NOT_CONTROLLER, ErrorCode.THROTTLING_QUOTA_EXCEEDED})


@dataclass(frozen=True, slots=True)
class NewTopic:
    """Counts of -1 leave the choice to the broker; ``assignments`` (replicas of each partition) replace them."""

    name: str
    partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    configs: Mapping[str, str] = field(default_factory=dict)
    assignments: Sequence[Sequence[int]] = ()


@dataclass(frozen=True, slots=True)
class NewPartitions:
    """How many partitions a topic shall have in all; ``assignments`` places the new ones."""

    total: int
    assignments: Sequence[Sequence[int]] | None = None


@dataclass(frozen=True, slots=True)
class TopicListing:
    name: str
    topic_id: UUID
    is_internal: bool


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


async def list_topics(cluster: Cluster, *, internal: bool = False) -> list[TopicListing]:
    """The topics by name, without the broker's own unless ``internal``."""
    found = (await cluster.retrying(cluster.fetch_topology)).topics
    listed = [TopicListing(info.name, info.topic_id, info.is_internal) for info in found.values()]
    return sorted((t for t in listed if internal or not t.is_internal), key=lambda t: t.name)


async def create_topics(
    cluster: Cluster, topics: Iterable[NewTopic], *, validate_only: bool = False
) -> Outcomes[str, None]:
    """Make topics, or (``validate_only``) see whether they could be made."""
    new = {topic.name: topic for topic in topics}

    async def attempt(names: Sequence[str]) -> Outcomes[str, None]:
        answer = await cluster.request(
            CreateTopicsRequest(
                topics=[_creatable(new[name]) for name in names],
                timeout_ms=cluster.request_timeout_ms,
                validate_only=validate_only,
            ),
            CreateTopicsResponse,
        )
        return {t.name: outcome(t.error_code, t.error_message, None) for t in answer.topics}

    return await try_each(cluster, new, attempt, passing=_CONTROLLER_TROUBLE)


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


async def create_partitions(cluster: Cluster, topics: Mapping[str, NewPartitions]) -> Outcomes[str, None]:
    """Let topics have more partitions."""

    async def attempt(names: Sequence[str]) -> Outcomes[str, None]:
        answer = await cluster.request(
            CreatePartitionsRequest(
                topics=[_grown(name, topics[name]) for name in names], timeout_ms=cluster.request_timeout_ms
            ),
            CreatePartitionsResponse,
        )
        return {t.name: outcome(t.error_code, t.error_message, None) for t in answer.results}

    return await try_each(cluster, topics, attempt, passing=_CONTROLLER_TROUBLE)


def _grown(name: str, new: NewPartitions) -> CreatePartitionsTopic:
    placed = None
    if new.assignments is not None:
        placed = [CreatePartitionsAssignment(broker_ids=list(replicas)) for replicas in new.assignments]
    return CreatePartitionsTopic(name=name, count=new.total, assignments=placed)


async def delete_topics(cluster: Cluster, names: Iterable[str]) -> Outcomes[str, None]:
    async def attempt(wanted: Sequence[str]) -> Outcomes[str, None]:
        answer = await cluster.request(
            DeleteTopicsRequest(
                topics=[DeleteTopicState(name=name) for name in wanted],
                topic_names=wanted,
                timeout_ms=cluster.request_timeout_ms,
            ),
            DeleteTopicsResponse,
        )
        return {
            t.name or "": outcome(t.error_code, t.error_message or f"Topic '{t.name}'", None)
            for t in answer.responses
        }

    return await try_each(cluster, names, attempt, passing=_CONTROLLER_TROUBLE)


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
