"""Where the brokers keep partitions, and how much room they take: asked of each broker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from leaselog.client.cluster import Cluster
from leaselog.client.errors import BrokerError, raise_for
from leaselog.model import TopicPartition
from leaselog.wire.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)

__all__ = ["LogDirDescription", "ReplicaDescription", "describe_log_dirs"]


@dataclass(frozen=True, slots=True)
class ReplicaDescription:
    size_bytes: int
    #: how far a replica lags behind its leader
    offset_lag: int
    #: whether it is being moved here from another directory
    is_future: bool


@dataclass(frozen=True, slots=True)
class LogDirDescription:
    path: str
    #: why it is offline; None if it is not
    error: BrokerError | None
    replicas: dict[TopicPartition, ReplicaDescription]
    #: of the whole disk; None from a broker that does not tell (before Kafka 3.3)
    total_bytes: int | None
    usable_bytes: int | None


async def describe_log_dirs(
    cluster: Cluster, node_ids: Iterable[int] | None = None
) -> dict[int, list[LogDirDescription]]:
    """The directories of each of these nodes, or (None) of all."""

    async def attempt() -> dict[int, list[LogDirDescription]]:
        nodes = (await cluster.fetch_topology(())).nodes
        wanted = sorted(nodes) if node_ids is None else list(dict.fromkeys(node_ids))
        answers = await asyncio.gather(*(_of_node(cluster, node) for node in wanted))
        return dict(zip(wanted, answers, strict=True))

    return await cluster.retrying(attempt)


async def _of_node(cluster: Cluster, node: int) -> list[LogDirDescription]:
    answer = await cluster.request(DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse, node=node)
    raise_for(answer.error_code)
    return [_described(result) for result in answer.results]


def _described(found: DescribeLogDirsResult) -> LogDirDescription:
    replicas = {
        TopicPartition(topic.name, part.partition_index): ReplicaDescription(
            part.partition_size, part.offset_lag, part.is_future_key
        )
        for topic in found.topics
        for part in topic.partitions
    }
    return LogDirDescription(
        found.log_dir,
        BrokerError(found.error_code, found.log_dir) if found.error_code else None,
        replicas,
        found.total_bytes if found.total_bytes >= 0 else None,
        found.usable_bytes if found.usable_bytes >= 0 else None,
    )
