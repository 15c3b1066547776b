"""Topics as somebody asks for them, and as they are made where nobody says: defaults, internal topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leaselog.broker.config import BrokerConfig, ConfigEntry
from leaselog.coordination.cluster_names import (
    CONSUMER_OFFSETS_TOPIC,
    SHARE_STATE_TOPIC,
    TRANSACTION_STATE_TOPIC,
)
from leaselog.coordination.cluster_placement import Assignments
from leaselog.coordination.cluster_shard import Topic

__all__ = [
    "CreatedTopic",
    "MorePartitions",
    "NewTopic",
    "topic_by_default",
]


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic somebody wants. -1 is the default; assignments are (partition, replicas) pairs."""

    name: str
    partition_count: int = -1
    replication_factor: int = -1
    assignments: Assignments = ()
    configs: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    topic: Topic
    #: every config of the topic, as it was when the topic was made
    configs: tuple[ConfigEntry, ...]
    replication_factor: int = 1


@dataclass(frozen=True, slots=True)
class MorePartitions:
    """``count`` is the total wanted."""

    topic: str
    count: int
    assignments: Sequence[Sequence[int]] | None = None


def topic_by_default(name: str, config: BrokerConfig) -> NewTopic:
    """What a topic that nobody describes is made with; for Kafka's internal topics, what Kafka makes them with."""
    if name == CONSUMER_OFFSETS_TOPIC:
        count, segment_bytes = config.offsets_topic_num_partitions, config.offsets_topic_segment_bytes
        settings = {"cleanup.policy": "compact", "compression.type": "producer"}
    elif name == SHARE_STATE_TOPIC:
        count = config.share_coordinator_state_topic_num_partitions
        segment_bytes = config.share_coordinator_state_topic_segment_bytes
        settings = {"cleanup.policy": "delete", "compression.type": "producer", "retention.ms": "-1"}
    elif name == TRANSACTION_STATE_TOPIC:
        count = config.transaction_state_log_num_partitions
        segment_bytes = config.transaction_state_log_segment_bytes
        settings = {"cleanup.policy": "compact", "compression.type": "uncompressed"}
    else:
        return NewTopic(name)
    settings["segment.bytes"] = str(segment_bytes)
    # The replication factor Kafka takes from its configs is more than one process can give.
    return NewTopic(name, count, 1, configs=tuple(settings.items()))
