"""Where a group shall begin: what the options of a reset say, and the offsets that come of it."""

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

__all__ = ["Reset", "new_offsets", "parse_datetime", "parse_topics"]

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
    """The offset of each partition, and what to warn of."""
    places = await _places(cluster, reset)
    found = await list_offsets(cluster, dict.fromkeys(places, reset.timestamp_ms)) if places else {}
    later = [where for where, offset in found.items() if offset == _NO_SUCH_RECORD]
    if later:
        found |= await list_offsets(cluster, dict.fromkeys(later, LATEST))
    warnings = [
        f"Partition {where.partition} from topic {where.topic} is empty. Falling back to latest known offset."
        for where in sorted(later)
    ]
    return found, warnings


async def _places(cluster: Cluster, reset: Reset) -> list[TopicPartition]:
    if reset.topics is None:
        return list(settle(await list_share_group_offsets(cluster, {reset.group_id: None}))[reset.group_id])
    topology = await cluster.retrying(lambda: cluster.fetch_topology(reset.topics))
    places, unknown = list[TopicPartition](), list[TopicPartition]()
    for name, numbers in reset.topics.items():
        if name not in topology.topics:
            raise CommandFailed(f"Topic '{name}' does not exist")
        existing = [p.partition for p in topology.topics[name].partitions]
        for number in numbers or existing:
            (places if number in existing else unknown).append(TopicPartition(name, number))
    if unknown:
        raise CommandFailed(f'The partitions "{",".join(map(str, unknown))}" do not exist')
    return places
