"""What applications name when they name partitions, and offsets to be committed: checked, and in one form. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from leaselog.client.committed_offsets import CommittedOffset
from leaselog.client.consumer.record import ConsumerRecord
from leaselog.client.group_member import Wanted
from leaselog.model import TopicPartition

__all__ = ["Offsets", "Partitions", "offsets_of", "partition_of", "partitions_of", "topics_of"]

#: one partition, or any number
Partitions = TopicPartition | Iterable[TopicPartition]
#: a record, which is done with; records; or for each partition the offset to go on at, with metadata or without
Offsets = (
    ConsumerRecord[Any, Any]
    | Iterable[ConsumerRecord[Any, Any]]
    | Mapping[TopicPartition, "int | tuple[int, str]"]
)


def topics_of(topics: Any) -> Wanted:
    """Raises ``ValueError`` for a name that no topic can have."""
    if isinstance(topics, re.Pattern):
        return topics
    if isinstance(topics, str):
        raise ValueError(f"subscribe takes a collection of topics: [{topics!r}]")
    names = list(dict.fromkeys(topics))
    for name in names:
        if not isinstance(name, str) or not name:
            raise ValueError(f"{name!r} is not a topic's name")
        if name.startswith("^"):
            raise ValueError(f"{name!r} is not a topic's name; a pattern is re.compile({name!r})")
    return names


def partition_of(given: Any) -> TopicPartition:
    """Raises ``ValueError`` unless it is a topic and a partition number."""
    try:
        topic, partition = given
    except (TypeError, ValueError):
        raise ValueError(f"{given!r}: expected TopicPartition(topic, partition)") from None
    if not isinstance(topic, str) or not isinstance(partition, int) or partition < 0:
        raise ValueError(f"{given!r}: expected TopicPartition(topic, partition)")
    return TopicPartition(topic, partition)


def partitions_of(given: Partitions) -> list[TopicPartition]:
    if isinstance(given, TopicPartition):
        return [partition_of(given)]
    if isinstance(given, str):
        raise ValueError(f"{given!r}: expected partitions, as TopicPartition({given!r}, 0)")
    return [partition_of(each) for each in given]


def offsets_of(given: Offsets) -> dict[TopicPartition, CommittedOffset]:
    """Raises ``ValueError`` for what is no offset."""
    if isinstance(given, ConsumerRecord):
        given = (given,)
    if isinstance(given, Mapping):
        return {partition_of(where): _committed(place) for where, place in given.items()}
    ends = dict[TopicPartition, CommittedOffset]()
    for record in given:
        if not isinstance(record, ConsumerRecord):
            raise ValueError(f"{record!r}: expected records, or offsets by partition")
        end = CommittedOffset(record.offset + 1)
        ends[record.topic_partition] = max(end, ends.get(record.topic_partition, end))
    return ends


def _committed(place: Any) -> CommittedOffset:
    offset, metadata = (place, "") if isinstance(place, int) else place
    if not isinstance(offset, int) or offset < 0:
        raise ValueError(f"{offset!r}: expected an offset from 0 on")
    return CommittedOffset(offset, metadata)
