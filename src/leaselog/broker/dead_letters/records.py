"""What a dead letter looks like: the record's key and value, and in Apache Kafka's headers where it failed (KIP-1191).

The original's own headers are not copied, as in Apache Kafka. A letter about a record that is a letter itself gets one
header more, `__dlq.errors.hops`: the topics that it has come through before `__dlq.errors.topic`. By it a record is
found that would reach a topic for the second time. A record that was put back has told how often, and its letter does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from leaselog.broker.records.portions import most_bytes
from leaselog.model import GroupId, TopicPartition
from leaselog.wire.dead_letter_headers import (
    DELIVERY_COUNT,
    GROUP,
    HOPS,
    MESSAGE,
    OFFSET,
    PARTITION,
    REDRIVE_HOPS,
    TOPIC,
)
from leaselog.wire.record_batch import HEADER_BYTES
from leaselog.wire.records import Record, RecordHeader, build_batch

__all__ = ["MAX_HOPS", "Origin", "fitted", "is_in_a_circle", "letter", "way_of"]

#: a record that has failed in so many topics is stopped, even if each of them was another
MAX_HOPS = 16


@dataclass(frozen=True, slots=True)
class Origin:
    """The record that could not be processed."""

    place: TopicPartition
    offset: int
    group_id: GroupId
    delivery_count: int
    cause: str


def letter(origin: Origin, original: Record | None, way: tuple[str, ...], now_ms: int) -> Record:
    """``original`` is None when it is not to be copied, or is not there to be; ``way`` is the original's."""
    headers: list[RecordHeader] = [
        (TOPIC, origin.place.topic.encode()),
        (PARTITION, b"%d" % origin.place.partition),
        (OFFSET, b"%d" % origin.offset),
        (GROUP, origin.group_id.encode()),
        (DELIVERY_COUNT, b"%d" % origin.delivery_count),
        (MESSAGE, origin.cause.encode()),
    ]
    if way:
        headers.append((HOPS, ",".join(way).encode()))
    if original is None:
        return Record(None, None, headers, now_ms)
    headers += [header for header in original.headers if header[0] == REDRIVE_HOPS]
    return Record(original.key, original.value, headers, now_ms)


def way_of(original: Record | None) -> tuple[str, ...]:
    """The topics that a record has come through as a dead letter, the first one first; none if it is no dead letter."""
    if original is None:
        return ()
    found = {name: value for name, value in original.headers if name in (TOPIC, HOPS) and value}
    if TOPIC not in found:
        return ()
    before = found.get(HOPS, b"").decode(errors="replace")
    return (*filter(None, before.split(",")), found[TOPIC].decode(errors="replace"))


def is_in_a_circle(way: tuple[str, ...], source: str, target: str) -> bool:
    """Would the record, now in ``source``, come to a topic where it has failed before?"""
    return target == source or target in way or len(way) >= MAX_HOPS


def fitted(letters: Iterable[Record], limit_bytes: int) -> Iterator[Record]:
    """Letters that are too large for the topic's batches go without key and value: the headers say where they lie."""
    for one in letters:
        if most_bytes(one) + HEADER_BYTES > limit_bytes < len(build_batch([one])):
            yield one._replace(key=None, value=None)
        else:
            yield one
