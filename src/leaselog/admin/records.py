"""Records deleted from the beginning of partitions, each at its leader."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from leaselog.admin.outcome import Outcomes, outcome, try_each
from leaselog.client import BrokerError
from leaselog.client.cluster import Cluster
from leaselog.client.topology import Node
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)

__all__ = ["HIGH_WATERMARK", "delete_records"]

#: in place of an offset: everything there is
HIGH_WATERMARK = -1

_LEADER_TROUBLE = frozenset({
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.REPLICA_NOT_AVAILABLE,
})  # fmt: skip


async def delete_records(
    cluster: Cluster, before: Mapping[TopicPartition, int]
) -> Outcomes[TopicPartition, int]:
    """Delete what lies before these offsets; for each partition the offset it begins at now."""

    async def attempt(places: Sequence[TopicPartition]) -> Outcomes[TopicPartition, int]:
        topology = await cluster.fetch_topology(sorted({where.topic for where in places}))
        found, by_leader = Outcomes[TopicPartition, int](), dict[Node, list[TopicPartition]]()
        for where in places:
            try:
                by_leader.setdefault(topology.leader(where), []).append(where)
            except BrokerError as failed:
                found[where] = failed
        for answer in await asyncio.gather(*(_ask(cluster, n, w, before) for n, w in by_leader.items())):
            found.update(answer)
        return found

    return await try_each(cluster, before, attempt, passing=_LEADER_TROUBLE)


async def _ask(
    cluster: Cluster, leader: Node, places: Sequence[TopicPartition], before: Mapping[TopicPartition, int]
) -> Outcomes[TopicPartition, int]:
    by_topic = dict[str, list[DeleteRecordsPartition]]()
    for where in places:
        part = DeleteRecordsPartition(partition_index=where.partition, offset=before[where])
        by_topic.setdefault(where.topic, []).append(part)
    answer = await cluster.request(
        DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name=name, partitions=parts) for name, parts in by_topic.items()],
            timeout_ms=cluster.request_timeout_ms,
        ),
        DeleteRecordsResponse,
        node=leader,
    )
    return {
        TopicPartition(topic.name, part.partition_index): outcome(part.error_code, None, part.low_watermark)
        for topic in answer.topics
        for part in topic.partitions
    }
