"""Places: partitions by their topic's id, one by one, by topic, and so many at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from leaselog.coordination.share_group_facts import PartitionKey
from leaselog.model import TopicId

__all__ = ["by_topic", "in_pieces"]

#: keys that the persister is asked about at a time
KEYS_AT_A_TIME = 1_000

T = TypeVar("T")


def by_topic(places: Iterable[PartitionKey]) -> dict[TopicId, frozenset[int]]:
    found: dict[TopicId, set[int]] = {}
    for topic, partition in places:
        found.setdefault(topic, set()).add(partition)
    return {topic: frozenset(partitions) for topic, partitions in found.items()}


def in_pieces(things: Iterable[T]) -> Iterator[list[T]]:
    """As many at a time as the persister is asked about."""
    left = iter(things)
    while piece := list(islice(left, KEYS_AT_A_TIME)):
        yield piece
