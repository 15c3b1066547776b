"""Offsets that open transactions have committed: they count once their transaction is committed, or go with it.

What was written last of a partition counts, not what was ended last. So an offset that was committed meanwhile, by
nobody's transaction or by one that had written it later, stays when an older one comes to count.

The table changes by replay alone.
"""

from __future__ import annotations

from leaselog.coordination.group_facts import CommittedOffset, TransactionalOffset
from leaselog.model import GroupId, ProducerId, TopicPartition

__all__ = ["PendingOffsets"]

_Place = tuple[GroupId, TopicPartition]


class PendingOffsets:
    def __init__(self) -> None:
        #: of each producer with an open transaction here, in the order written: when, and what. None if overtaken
        self._of_producer: dict[ProducerId, dict[_Place, tuple[int, CommittedOffset | None]]] = {}
        #: the producers with something pending, by the place it is about; nothing empty
        self._producers: dict[GroupId, dict[TopicPartition, dict[ProducerId, None]]] = {}
        #: counts what is written
        self._now = 0

    def put(self, fact: TransactionalOffset) -> None:
        self._now += 1
        place = fact.group_id, fact.partition
        self._of_producer.setdefault(fact.producer_id, {})[place] = self._now, fact.committed
        places = self._producers.setdefault(fact.group_id, {})
        places.setdefault(fact.partition, {})[fact.producer_id] = None

    def overtake(self, group_id: GroupId, partition: TopicPartition, upto: int | None = None) -> None:
        """What was written of the place up to now, or before ``upto``, does not count any more."""
        for producer_id in self._producers.get(group_id, {}).get(partition, ()):
            offsets = self._of_producer[producer_id]
            written, _ = offsets[group_id, partition]
            if upto is None or written < upto:
                offsets[group_id, partition] = written, None

    def end(
        self, producer_id: ProducerId, *, is_commit: bool
    ) -> list[tuple[GroupId, TopicPartition, CommittedOffset]]:
        """What comes to count."""
        counts = []
        for (group_id, partition), (written, committed) in self._of_producer.pop(producer_id, {}).items():
            self._forget(group_id, partition, producer_id)
            if is_commit and committed is not None:
                self.overtake(group_id, partition, written)
                counts.append((group_id, partition, committed))
        return counts

    def drop(self, group_id: GroupId, partition: TopicPartition) -> None:
        for producer_id in tuple(self._producers.get(group_id, {}).get(partition, ())):
            self._forget(group_id, partition, producer_id)
            offsets = self._of_producer[producer_id]
            del offsets[group_id, partition]
            if not offsets:
                del self._of_producer[producer_id]

    def of(self, group_id: GroupId) -> dict[TopicPartition, dict[ProducerId, None]]:
        """The partitions of which some open transaction has an offset for the group. For reading."""
        return self._producers.get(group_id, {})

    def groups(self) -> list[GroupId]:
        return list(self._producers)

    def _forget(self, group_id: GroupId, partition: TopicPartition, producer_id: ProducerId) -> None:
        places = self._producers[group_id]
        del places[partition][producer_id]
        if not places[partition]:
            del places[partition]
            if not places:
                del self._producers[group_id]
