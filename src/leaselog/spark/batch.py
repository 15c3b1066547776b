"""What an offset of the query means: a batch, which is the ranges that were acquired for it. Pure.

Spark writes it to its offset log before any task runs. So a batch can be planned, retried and replayed: it names
records of the topic's log, whoever holds them by then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from leaselog.model import TopicPartition
from leaselog.spark import runs
from leaselog.spark.runs import Runs

__all__ = ["BEGINNING", "Batch", "Epochs", "Lives"]

Epochs = Mapping[TopicPartition, int]
#: by topic its id, as Kafka spells it: a topic that is deleted and made again has the same name and other records
Lives = Mapping[str, str]

VERSION = 1


@dataclass(frozen=True, slots=True)
class Batch:
    #: 0 is before the first one
    number: int
    #: with delivery counts
    ranges: Runs
    #: of the group's state in their partitions, as far as they are known
    epochs: Epochs = field(default_factory=dict)
    #: what the offsets are offsets of, as far as it is known
    lives: Lives = field(default_factory=dict)
    #: whose records they were; empty if that is not known
    group_id: str = ""

    def to_offset(self) -> dict[str, Any]:
        offset = {"version": VERSION, "batch": self.number, "ranges": runs.to_json(self.ranges)}
        if self.epochs:
            offset["epochs"] = _epochs_to_json(self.epochs)
        if self.lives:
            offset["topics"] = dict(sorted(self.lives.items()))
        if self.group_id:
            offset["group"] = self.group_id
        return offset

    @classmethod
    def from_offset(cls, offset: Mapping[str, Any]) -> Batch:
        """Raises ``ValueError`` for a checkpoint of another source, or of a version after this one."""
        version = offset.get("version")
        if version != VERSION:
            raise ValueError(
                f"the checkpoint holds an offset of version {version}, expected {VERSION}:"
                f" it is another source's, or was written by a newer leaselog"
            )
        number = offset.get("batch")
        if not isinstance(number, int) or number < 0:
            raise ValueError(f"batch {number!r} in the checkpoint: expected a number")
        return cls(
            number,
            runs.from_json(offset.get("ranges")),
            _epochs_from_json(offset.get("epochs", {})),
            _lives_from_json(offset.get("topics", {})),
            str(offset.get("group", "")),
        )


def _epochs_to_json(epochs: Epochs) -> dict[str, dict[str, int]]:
    places = dict[str, dict[str, int]]()
    for where, epoch in sorted(epochs.items()):
        places.setdefault(where.topic, {})[str(where.partition)] = epoch
    return places


def _epochs_from_json(places: Any) -> dict[TopicPartition, int]:
    try:
        return {
            TopicPartition(topic, int(partition)): int(epoch)
            for topic, partitions in places.items()
            for partition, epoch in partitions.items()
        }
    except (AttributeError, TypeError, ValueError) as bad:
        raise ValueError(f"not epochs of partitions: {places!r:.200}") from bad


def _lives_from_json(topics: Any) -> dict[str, str]:
    if not isinstance(topics, Mapping):
        raise ValueError(f"not ids of topics: {topics!r:.200}")
    return {str(name): str(topic_id) for name, topic_id in topics.items()}


BEGINNING = Batch(0, ())
