"""The owners of the partitions of a coordinator's topic, made when they are first asked for.

What a coordinator keeps belongs to the partition that Java's hash of its key falls on, and must be found there by every
broker to come: the topic's partition count is fixed when the topic is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Generic, TypeVar

from leaselog.broker.cluster.cluster import Cluster
from leaselog.broker.coordinators.owner import CoordinatorOwner
from leaselog.broker.records.log_store import LogStore
from leaselog.broker.records.partition import Partition

__all__ = ["CoordinatorPartitions", "coordinator_partition"]

Owner = TypeVar("Owner", bound=CoordinatorOwner[Any, Any])


@lru_cache(4096)
def coordinator_partition(key: str, count: int) -> int:
    """Which of ``count`` partitions looks after ``key``: the absolute value of Java's String.hashCode.

    Not the hash without its sign bit, which is what Kafka's producers use for record keys. The one value that
    has no absolute one counts as 0.
    """
    value = 0
    units = key.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    signed = value - (1 << 32) if value & 0x80000000 else value
    return 0 if signed == -(1 << 31) else abs(signed) % count


class CoordinatorPartitions(Generic[Owner]):
    """``make`` gives a partition its owner, which is told to load."""

    def __init__(
        self, cluster: Cluster, logs: LogStore, topic: str, make: Callable[[Partition], Owner]
    ) -> None:
        self.topic = topic
        self._cluster = cluster
        self._logs = logs
        self._make = make
        self._owners: dict[int, Owner] = {}
        self._is_stopped = False

    def count(self) -> int:
        """As the cluster has it: some of them may not be open yet. 0 without the topic."""
        topic = self._cluster.topic(self.topic)
        return 0 if topic is None else topic.partition_count

    def owner(self, index: int) -> Owner | None:
        """The owner of the partition as it is now; a topic that was made anew gets new owners."""
        partition = self._logs.partition(self.topic, index)
        if partition is None or self._is_stopped:
            return None
        owner = self._owners.get(index)
        if owner is None or owner.partition is not partition:
            if owner is not None:
                owner.stop()
            owner = self._owners[index] = self._make(partition)
            owner.load()
        return owner

    def every(self) -> Iterator[Owner]:
        """The owners of all partitions there are, made if need be."""
        return (owner for i in range(self.count()) if (owner := self.owner(i)) is not None)

    def made(self) -> list[Owner]:
        """Those that somebody has asked for."""
        return list(self._owners.values())

    async def start(self) -> None:
        """Loads everything there is."""
        for owner in list(self.every()):
            await owner.loaded()

    def returned(self, partition: Partition) -> None:
        """A partition is open that was not, or is another one now: what was loaded of it before begins anew."""
        if partition.name.topic == self.topic:
            self.owner(partition.name.partition)

    def drop(self) -> None:
        """The topic is gone."""
        owners, self._owners = self._owners, {}
        for owner in owners.values():
            owner.stop()

    def stop(self) -> None:
        """There are none from now on, and who waits is refused."""
        self._is_stopped = True
        for owner in self._owners.values():
            owner.stop()
