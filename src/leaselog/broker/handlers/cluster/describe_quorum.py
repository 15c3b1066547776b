"""DescribeQuorum (key 55), versions 0 to 2: the quorum that keeps the cluster's log, which is this node (KIP-595).

- Needs leave to DESCRIBE the cluster.
"""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.cluster_names import CLUSTER_METADATA_TOPIC
from leaselog.model import AclOperation, ErrorCode
from leaselog.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    DescribeQuorumResponseTopicData,
    Listener,
    Node,
    ReplicaState,
)

EPOCH = 1


@serves(DescribeQuorumRequest, versions=(0, 2), kips="KIP-595, 836, 853")
async def describe_quorum(request: DescribeQuorumRequest, context: RequestContext) -> DescribeQuorumResponse:
    cluster, here = context.broker.cluster, context.address
    denied = context.refuse_cluster(AclOperation.DESCRIBE)
    if denied is not None:
        return DescribeQuorumResponse(error_code=denied.code, error_message=denied.message)
    knows_all = all(
        topic.topic_name == CLUSTER_METADATA_TOPIC and all(p.partition_index == 0 for p in topic.partitions)
        for topic in request.topics
    )
    return DescribeQuorumResponse(
        topics=[
            DescribeQuorumResponseTopicData(
                topic_name=topic.topic_name,
                partitions=[
                    _quorum(context) if knows_all else _unknown(p.partition_index)
                    async for p in context.broker.turns.each(topic.partitions)
                ],
            )
            async for topic in context.broker.turns.each(request.topics)
        ],
        nodes=[
            Node(
                node_id=cluster.node_id,
                listeners=[Listener(name="CONTROLLER", host=here.host, port=here.port)],
            )
        ]
        if knows_all
        else (),
    )


def _unknown(index: int) -> DescribeQuorumResponsePartitionData:
    return DescribeQuorumResponsePartitionData(
        partition_index=index,
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        error_message="This server does not host this topic-partition.",
    )


def _quorum(context: RequestContext) -> DescribeQuorumResponsePartitionData:
    cluster, now_ms = context.broker.cluster, context.broker.now_ms()
    end_offset = cluster.features_epoch
    return DescribeQuorumResponsePartitionData(
        leader_id=cluster.node_id,
        leader_epoch=EPOCH,
        high_watermark=end_offset,
        current_voters=[
            ReplicaState(
                replica_id=cluster.node_id,
                replica_directory_id=cluster.directory_id,
                log_end_offset=end_offset,
                last_fetch_timestamp=now_ms,
                last_caught_up_timestamp=now_ms,
            )
        ],
    )
