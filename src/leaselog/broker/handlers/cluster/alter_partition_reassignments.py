"""AlterPartitionReassignments (key 45), versions 0 and 1: a partition can only be sent to where it is (KIP-455).

- Needs leave to ALTER the cluster.
- The one node there is: done, and nothing moved. Any other replica list is INVALID_REPLICA_ASSIGNMENT.
- Null replicas cancel a move, and there is never one: NO_REASSIGNMENT_IN_PROGRESS.
"""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.cluster_placement import refuse_replicas
from leaselog.model import AclOperation, ErrorCode, Refused
from leaselog.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


@serves(AlterPartitionReassignmentsRequest, versions=(0, 1), kips="KIP-455, 860")
async def alter_partition_reassignments(
    request: AlterPartitionReassignmentsRequest, context: RequestContext
) -> AlterPartitionReassignmentsResponse:
    refused = context.refuse_cluster(AclOperation.ALTER)
    if refused is not None:
        return AlterPartitionReassignmentsResponse(error_code=refused.code, error_message=refused.message)
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_message=None,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    _answer(topic.name, wish, context)
                    async for wish in context.broker.turns.each(topic.partitions)
                ],
            )
            async for topic in context.broker.turns.each(request.topics)
        ],
    )


def _answer(
    topic: str, wish: ReassignablePartition, context: RequestContext
) -> ReassignablePartitionResponse:
    refused = _refuse(topic, wish, context)
    return ReassignablePartitionResponse(
        partition_index=wish.partition_index,
        error_code=ErrorCode.NONE if refused is None else refused.code,
        error_message=None if refused is None else refused.message,
    )


def _refuse(topic: str, wish: ReassignablePartition, context: RequestContext) -> Refused | None:
    cluster, index = context.broker.cluster, wish.partition_index
    known = cluster.topic(topic)
    if known is None:
        return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {topic}.")
    if not 0 <= index < known.partition_count:
        return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {topic}:{index}.")
    if wish.replicas is None:
        return Refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    return refuse_replicas(wish.replicas, cluster.node_id)
