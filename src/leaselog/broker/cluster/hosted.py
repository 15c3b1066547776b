"""Finding a partition that a request names, or the error that says why it cannot be had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselog.broker.records.partition import Partition
from leaselog.model import ErrorCode

if TYPE_CHECKING:
    from leaselog.broker.broker import Broker

__all__ = ["WRONG_LEADER", "find_partition", "why_not_here"]

#: errors with which an answer says who leads the partition
WRONG_LEADER = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def find_partition(broker: Broker, topic: str, index: int) -> Partition | ErrorCode:
    """UNKNOWN_TOPIC_OR_PARTITION, or KAFKA_STORAGE_ERROR for one that exists and whose log could not be opened."""
    partition = broker.logs.partition(topic, index)
    if partition is not None:
        return partition
    return why_not_here(broker, topic, index)


def why_not_here(broker: Broker, topic: str, index: int) -> ErrorCode:
    """What is wrong with a partition that is not open."""
    known = broker.cluster.topic(topic)
    if known is not None and 0 <= index < known.partition_count:
        return ErrorCode.KAFKA_STORAGE_ERROR
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
