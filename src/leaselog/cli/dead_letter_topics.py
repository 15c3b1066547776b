"""Where the dead letters of share groups lie, and how many there are: asked through Kafka's protocol alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from leaselog.admin import describe_topics
from leaselog.admin.configs import Resource, ResourceType, describe_configs
from leaselog.client import EARLIEST, LATEST
from leaselog.client.cluster import Cluster
from leaselog.client.fetcher import list_offsets
from leaselog.model import TopicPartition

__all__ = ["DeadLetterTopic", "dead_letter_topics"]

KEY = "errors.deadletterqueue.topic.name"


@dataclass(frozen=True, slots=True)
class DeadLetterTopic:
    name: str
    #: by partition: the first offset there is, and the end
    offsets: dict[int, tuple[int, int]]

    @property
    def letters(self) -> int:
        """Letters of every group that sends its own there."""
        return sum(end - start for start, end in self.offsets.values())


async def dead_letter_topics(cluster: Cluster, group_ids: Iterable[str]) -> dict[str, DeadLetterTopic | None]:
    """None for a group that has none. Without partitions where the topic is still to be made."""
    resources = [Resource(ResourceType.GROUP, group_id) for group_id in group_ids]
    found = await describe_configs(cluster, resources) if resources else {}
    topics: dict[str, DeadLetterTopic | None] = {}
    for where, entries in found.items():
        name = next((entry.value for entry in entries if entry.name == KEY), None)
        topics[where.name] = await _topic(cluster, name) if name else None
    return topics


async def _topic(cluster: Cluster, name: str) -> DeadLetterTopic:
    described = await describe_topics(cluster, [name])
    places = [TopicPartition(name, p.partition) for topic in described for p in topic.partitions]
    if not places:
        return DeadLetterTopic(name, {})
    starts = await list_offsets(cluster, dict.fromkeys(places, EARLIEST))
    ends = await list_offsets(cluster, dict.fromkeys(places, LATEST))
    return DeadLetterTopic(name, {at.partition: (starts[at], ends[at]) for at in places})
