"""Which life of its state a share group is in, partition by partition: the number changes when the group is set back.

It is asked of the share coordinators, as brokers do. A cluster that keeps that to its brokers refuses, and then nobody
knows.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from leaselog.client import ClientError
from leaselog.client.cluster import SHARE_COORDINATOR, Cluster
from leaselog.client.errors import raise_for
from leaselog.client.share.membership import as_kafka_text
from leaselog.model import TopicPartition
from leaselog.wire.messages.read_share_group_state_summary import (
    PartitionData,
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryData,
)

__all__ = ["state_epochs"]

#: for all of them: a batch is not to wait for what may be done without
TIMEOUT_S = 5.0

_log = logging.getLogger("leaselog.spark")


async def state_epochs(
    cluster: Cluster, group_id: str, places: Iterable[TopicPartition]
) -> dict[TopicPartition, int]:
    """The partitions of which it can be known are in it."""
    found = dict[TopicPartition, int]()
    try:
        async with asyncio.timeout(TIMEOUT_S):
            for where in places:
                found[where] = await _epoch(cluster, group_id, where)
    except (ClientError, TimeoutError) as failed:
        _log.info("the epochs of share group %s cannot be read: %s", group_id, failed)
    return found


async def _epoch(cluster: Cluster, group_id: str, where: TopicPartition) -> int:
    topic_id = (await cluster.topology([where.topic])).topic(where.topic).topic_id
    key = f"{group_id}:{as_kafka_text(topic_id)}:{where.partition}"
    topic = ReadStateSummaryData(topic_id=topic_id, partitions=[PartitionData(partition=where.partition)])
    answer = await cluster.request(
        ReadShareGroupStateSummaryRequest(group_id=group_id, topics=[topic]),
        ReadShareGroupStateSummaryResponse,
        node=await cluster.coordinator(key, SHARE_COORDINATOR),
    )
    (result,) = (part for told in answer.results for part in told.partitions)
    raise_for(result.error_code, result.error_message)
    return result.state_epoch
