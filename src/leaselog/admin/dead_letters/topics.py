"""Where a group's dead letters lie, and the letters that lie there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from leaselog.admin.configs import Resource, ResourceType, describe_configs
from leaselog.admin.dead_letters.letter import Letter, read_letter
from leaselog.admin.dead_letters.log_reader import read_batches
from leaselog.client import EARLIEST, LATEST
from leaselog.client.cluster import Cluster
from leaselog.client.fetcher import list_offsets
from leaselog.model import TopicPartition

__all__ = ["TOPIC_CONFIG", "Span", "name_of_topic", "read_letters", "spans_of"]

TOPIC_CONFIG = "errors.deadletterqueue.topic.name"


@dataclass(frozen=True, slots=True)
class Span:
    """What a partition's log has, as of when it was asked."""

    where: TopicPartition
    start: int
    end: int


async def name_of_topic(cluster: Cluster, group_id: str) -> str:
    """Raises ``LookupError`` for a group that has none."""
    group = Resource(ResourceType.GROUP, group_id)
    found = await cluster.retrying(lambda: describe_configs(cluster, [group]))
    name = next((entry.value for entry in found.get(group, ()) if entry.name == TOPIC_CONFIG), None)
    if not name:
        raise LookupError(f"share group {group_id} has no dead-letter topic: {TOPIC_CONFIG} is not set")
    return name


async def spans_of(cluster: Cluster, topic: str) -> list[Span]:
    """Raises ``BrokerError`` if there is no such topic."""
    found = (await cluster.retrying(lambda: cluster.fetch_topology([topic]))).topic(topic)
    places = [TopicPartition(topic, number) for number in range(len(found.partitions))]
    starts = await list_offsets(cluster, dict.fromkeys(places, EARLIEST))
    ends = await list_offsets(cluster, dict.fromkeys(places, LATEST))
    return [Span(where, starts[where], ends[where]) for where in places]


async def read_letters(
    cluster: Cluster, where: TopicPartition, start: int, end: int, group_id: str | None
) -> AsyncIterator[Letter]:
    """The group's letters in ``[start, end)`` (None: of all groups); whatever else is in the topic is passed over."""
    async for batch in read_batches(cluster, where, start, end):
        for record in batch.records():
            if start <= record.offset < end:
                letter = read_letter(record, where)
                if letter is not None and group_id in (None, letter.group_id):
                    yield letter
