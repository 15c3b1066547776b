"""Where a group shall begin: what the options of a reset say, and the offsets that come of it.

Of groups of every kind; what consumer groups can besides is in `consumer_group_resets.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from leaselog.admin import list_share_group_offsets, settle
from leaselog.cli.arguments import CommandFailed, UsageError
from leaselog.client import LATEST
from leaselog.client.cluster import Cluster
from leaselog.client.fetcher import list_offsets
from leaselog.model import TopicPartition

__all__ = ["Reset", "existing_places", "new_offsets", "offsets_at", "parse_datetime", "parse_topics"]

_NO_SUCH_RECORD = -1


@dataclass(frozen=True, slots=True)
class Reset:
    group_id: str
    #: None: every partition the group has offsets for; no partitions of a topic: all of them
    topics: Mapping[str, Sequence[int]] | None
    #: ``EARLIEST``, ``LATEST`` or a time in ms
    timestamp_ms: int


def parse_datetime(text: str) -> int:
    """``YYYY-MM-DDTHH:mm:SS.sss`` in ms; UTC without a zone, as Apache's tools have it. Raises ``UsageError``."""
    try:
        if "T" not in text:
            raise ValueError
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--to-datetime {text}: expected YYYY-MM-DDTHH:mm:SS.sss") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def parse_topics(texts: Iterable[str]) -> dict[str, list[int]]:
    """``topic`` or ``topic:0,1``, each a topic with the partitions that are named. Raises ``UsageError``."""
    topics = dict[str, list[int]]()
    for text in texts:
        name, colon, numbers = text.partition(":")
        parts = numbers.split(",") if colon else []
        if not name or not all(part.strip().isdecimal() for part in parts):
            raise UsageError(f"--topic {text}: expected TOPIC or TOPIC:0,1,2")
        topics.setdefault(name, []).extend(map(int, parts))
    return topics


async def new_offsets(cluster: Cluster, reset: Reset) -> tuple[dict[TopicPartition, int], list[str]]:
    """The offset of each partition of a share group, and what to warn of."""
    if reset.topics is None:
        offsets = settle(await list_share_group_offsets(cluster, {reset.group_id: None}))
        return await offsets_at(cluster, offsets[reset.group_id], reset.timestamp_ms)
    return await offsets_at(cluster, await existing_places(cluster, reset.topics), reset.timestamp_ms)


async def offsets_at(
    cluster: Cluster, places: Iterable[TopicPartition], timestamp_ms: int
) -> tuple[dict[TopicPartition, int], list[str]]:
    """The first offset from a time on, or the end where there is no such record, and what to warn of."""
    wanted = dict.fromkeys(places, timestamp_ms)
    found = await list_offsets(cluster, wanted) if wanted else {}
    later = [where for where, offset in found.items() if offset == _NO_SUCH_RECORD]
    if later:
        found |= await list_offsets(cluster, dict.fromkeys(later, LATEST))
    warnings = [
        f"Partition {where.partition} from topic {where.topic} is empty. Falling back to latest known offset."
        for where in sorted(later)
    ]
    return found, warnings


async def existing_places(cluster: Cluster, topics: Mapping[str, Sequence[int]]) -> list[TopicPartition]:
    """These partitions of the topics, or all of them. Raises ``CommandFailed`` for what does not exist."""
    topology = await cluster.retrying(lambda: cluster.fetch_topology(topics))
    places, unknown = list[TopicPartition](), list[TopicPartition]()
    for name, numbers in topics.items():
        if name not in topology.topics:
            raise CommandFailed(f"Topic '{name}' does not exist")
        existing = [p.partition for p in topology.topics[name].partitions]
        for number in numbers or existing:
            (places if number in existing else unknown).append(TopicPartition(name, number))
    if unknown:
        raise CommandFailed(f'The partitions "{",".join(map(str, unknown))}" do not exist')
    return places
