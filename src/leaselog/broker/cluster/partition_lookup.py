"""Finding a partition that a request names, or the error that says why it cannot be had."""

from __future__ import annotations

from typing import Protocol

from leaselog.broker.cluster.cluster import Cluster
from leaselog.broker.records.log_store import LogStore
from leaselog.broker.records.partition import Partition
from leaselog.model import ErrorCode

__all__ = ["WRONG_LEADER", "PartitionSource", "find_partition", "why_not_here"]

#: errors with which an answer says who leads the partition
WRONG_LEADER = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


class PartitionSource(Protocol):
    """Which topics there are, and the logs of their partitions that are open here."""

    @property
    def cluster(self) -> Cluster: ...

    @property
    def logs(self) -> LogStore: ...


def find_partition(here: PartitionSource, topic: str, index: int) -> Partition | ErrorCode:
    """UNKNOWN_TOPIC_OR_PARTITION, or KAFKA_STORAGE_ERROR for one that exists and whose log could not be opened."""
    partition = here.logs.partition(topic, index)
    if partition is not None:
        return partition
    return why_not_here(here, topic, index)


def why_not_here(here: PartitionSource, topic: str, index: int) -> ErrorCode:
    """What is wrong with a partition that is not open."""
    known = here.cluster.topic(topic)
    if known is not None and 0 <= index < known.partition_count:
        return ErrorCode.KAFKA_STORAGE_ERROR
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
