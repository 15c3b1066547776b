"""Kafka's range assignor: who in a consumer group reads what. Pure.

Each topic is divided by itself: its partitions in order, its members in order, equal runs, and the first members
get one more where it does not come out even. Members of other clients in the same group count on exactly this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from leaselog.model import TopicPartition

__all__ = ["Subscriber", "assign_ranges"]


@dataclass(frozen=True, slots=True)
class Subscriber:
    member_id: str
    #: a static member's name, which orders it before any member without one
    instance_id: str | None
    topics: frozenset[str]

    @property
    def _place(self) -> tuple[bool, str]:
        return self.instance_id is None, self.instance_id or self.member_id


def assign_ranges(
    members: Iterable[Subscriber], partition_counts: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """Each member's partitions, by member id; a topic without a count has no partitions to give."""
    ordered = sorted(members, key=lambda m: m._place)
    assigned: dict[str, list[TopicPartition]] = {member.member_id: [] for member in ordered}
    for topic in sorted({topic for member in ordered for topic in member.topics}):
        readers = [member.member_id for member in ordered if topic in member.topics]
        share, extra = divmod(partition_counts.get(topic, 0), len(readers))
        start = 0
        for place, reader in enumerate(readers):
            end = start + share + (place < extra)
            assigned[reader] += [TopicPartition(topic, partition) for partition in range(start, end)]
            start = end
    return assigned
