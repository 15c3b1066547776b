"""How far share groups are behind, also where nobody of them is here: what an alert and an autoscaler go by.

Where a share partition has an owner its window knows; of the others the state is known that is kept of them. Nothing
waits and nobody is fenced, so it can be asked at any time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from leaselog.broker.lending.inspection import written_ms
from leaselog.broker.lending.partition_owner import SharePartitionOwner
from leaselog.broker.lending.start import EARLIEST, LATEST
from leaselog.broker.records.partition import Partition
from leaselog.broker.telling.steps import batched
from leaselog.broker.telling.told import Told
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.share import NO_START_OFFSET, TopicIdPartition

__all__ = ["Backlog", "Unattended", "backlog", "unattended"]


class Backlog(NamedTuple):
    partition: Partition
    #: records nobody has finished yet
    lag: int
    #: the first of them, if there is one
    start: int

    def oldest_age_s(self, now_ms: int) -> float | None:
        """Of the oldest record that nobody has finished; 0 if there is none, None if it has no time."""
        if not self.lag:
            return 0.0
        at_ms = written_ms(self.partition.log, self.start)
        return None if at_ms is None else max(0, now_ms - at_ms) / 1000


class Unattended(NamedTuple):
    """A share partition that has no owner now."""

    key: SharePartitionKey
    partition: Partition


def unattended(broker: Told) -> Iterator[list[Unattended]]:
    """All there are, in portions; there may be a pause between two of them."""
    for keys in batched(broker.persister.kept_keys()):
        found = []
        for key in keys:
            if broker.shares.find(key.group_id, TopicIdPartition(key.topic_id, key.partition)) is not None:
                continue
            topic = broker.cluster.topic_name_of(key.topic_id)
            partition = None if topic is None else broker.logs.partition(topic, key.partition)
            if partition is not None:
                found.append(Unattended(key, partition))
        yield found


def backlog(broker: Told, of: SharePartitionOwner | Unattended) -> Backlog | None:
    """None while the state is being read, and where a group is to begin at a time that would have to be looked for."""
    partition = of.partition
    end = partition.log.high_watermark
    if isinstance(of, SharePartitionOwner):
        return None if of.machine is None else Backlog(partition, of.machine.lag(end), of.machine.start)
    kept = broker.persister.kept(of.key)
    if kept is None:
        return None
    start, log_start = kept.start_offset, partition.log.start_offset
    if start == NO_START_OFFSET:
        policy = broker.cluster.configuration.group(of.key.group_id).share_auto_offset_reset
        if policy == LATEST:
            return Backlog(partition, 0, end)
        return Backlog(partition, end - log_start, log_start) if policy == EARLIEST else None
    if start < log_start:  # what retention took is not in the state yet, nor which of the others are done
        return Backlog(partition, end - log_start, log_start)
    return Backlog(partition, max(0, end - start - max(0, kept.delivery_complete_count)), start)
