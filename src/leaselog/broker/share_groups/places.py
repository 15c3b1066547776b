"""Places: partitions by their topic's id, one by one, by topic, and so many at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeAlias, TypeVar

from leaselog.model import TopicId

__all__ = ["Place", "by_topic", "in_pieces"]

#: keys that the persister is asked about at a time
KEYS_AT_A_TIME = 1_000

Place: TypeAlias = tuple[TopicId, int]
T = TypeVar("T")


def by_topic(places: Iterable[Place]) -> dict[TopicId, frozenset[int]]:
    found: dict[TopicId, set[int]] = {}
    for topic, partition in places:
        found.setdefault(topic, set()).add(partition)
    return {topic: frozenset(partitions) for topic, partitions in found.items()}


def in_pieces(things: Iterable[T]) -> Iterator[list[T]]:
    """As many at a time as the persister is asked about."""
    left = iter(things)
    while piece := list(islice(left, KEYS_AT_A_TIME)):
        yield piece
