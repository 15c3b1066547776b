"""What a dead letter looks like: the record's key and value, and in Apache Kafka's headers where it failed (KIP-1191).

The original's own headers are not copied, as in Apache Kafka. A letter about a record that is a letter itself gets one
header more, `__dlq.errors.hops`: the topics that it has come through before `__dlq.errors.topic`. By it a record is
found that would reach a topic for the second time. A record that was put back has told how often, and its letter does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

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

__all__ = ["MAX_HOPS", "Origin", "fitted", "is_in_a_circle", "letter", "portions", "way_of"]

#: a record that has failed in so many topics is stopped, even if each of them was another
MAX_HOPS = 16
#: what a record takes beside its key, its value and its headers, at most; and what a header does
RECORD_OVERHEAD_BYTES, HEADER_OVERHEAD_BYTES = 40, 10


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
        if _most_bytes(one) + HEADER_BYTES > limit_bytes < len(build_batch([one])):
            yield one._replace(key=None, value=None)
        else:
            yield one


def portions(letters: Iterable[Record], limit_bytes: int) -> Iterator[list[Record]]:
    """Letters for one batch each, of which only one that is too large alone is larger than ``limit_bytes``."""
    portion: list[Record] = []
    size_bytes = HEADER_BYTES
    for one in letters:
        more_bytes = _most_bytes(one)
        if portion and size_bytes + more_bytes > limit_bytes:
            yield portion
            portion, size_bytes = [], HEADER_BYTES
        portion.append(one)
        size_bytes += more_bytes
    if portion:
        yield portion


def _most_bytes(record: Record) -> int:
    headers = sum(len(name) + len(value or b"") + HEADER_OVERHEAD_BYTES for name, value in record.headers)
    return RECORD_OVERHEAD_BYTES + len(record.key or b"") + len(record.value or b"") + headers
