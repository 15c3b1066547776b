"""OffsetForLeaderEpoch (key 23), versions 2 to 4: where a leader epoch ended, so that a client can tell truncation.

- Needs leave to DESCRIBE each topic, or to act for the cluster, as replicas do.
- The epoch that leads now ends at the high watermark for a consumer; one this log never had has no end (-1).
- A current leader epoch other than ours is FENCED_ or UNKNOWN_LEADER_EPOCH (KIP-320).
"""

from __future__ import annotations

from leaselog.broker.cluster.partition_lookup import find_partition
from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import AclOperation, ErrorCode
from leaselog.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


@serves(OffsetForLeaderEpochRequest, versions=(2, 4), kips="KIP-101, 320, 392")
async def offset_for_leader_epoch(
    request: OffsetForLeaderEpochRequest, context: RequestContext
) -> OffsetForLeaderEpochResponse:
    acts_for_cluster = context.may_cluster(AclOperation.CLUSTER_ACTION, is_probe=True)
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    _end(topic.topic, wish, context)
                    if denied is None
                    else EpochEndOffset(partition=wish.partition, error_code=denied.code)
                    async for wish in context.broker.turns.each(topic.partitions)
                ],
            )
            async for topic in context.broker.turns.each(request.topics)
            for denied in [
                None if acts_for_cluster else context.refuse_topic(AclOperation.DESCRIBE, topic.topic)
            ]
        ]
    )


def _end(topic: str, wish: OffsetForLeaderPartition, context: RequestContext) -> EpochEndOffset:
    answer = EpochEndOffset(partition=wish.partition)
    partition = find_partition(context.broker, topic, wish.partition)
    if isinstance(partition, ErrorCode):
        answer.error_code = partition
        return answer
    answer.error_code = partition.check_leader_epoch(wish.current_leader_epoch)
    if answer.error_code:
        return answer
    if wish.leader_epoch == partition.leader_epoch:
        # Also of an empty log, which knows no epoch yet.
        answer.leader_epoch, answer.end_offset = wish.leader_epoch, partition.log.high_watermark
    else:
        answer.leader_epoch, answer.end_offset = partition.log.end_offset_for_epoch(wish.leader_epoch)
    return answer
