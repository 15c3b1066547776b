"""DescribeCluster (key 60), versions 0 to 2: the brokers and the controller, which here are one node.

- Everybody may ask; what may be done to the cluster is told to those who may DESCRIBE it (KIP-430), to others nothing.
- Controllers (endpoint type 2) have no listener of their own: MISMATCHED_ENDPOINT_TYPE (KIP-919).
- `include_fenced_brokers` (v2) changes nothing: the one broker there is answers.
"""

from __future__ import annotations

from leaselog.broker.net.api import NOT_ASKED, RequestContext, serves
from leaselog.model import ErrorCode
from leaselog.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BROKERS, CONTROLLERS = 1, 2


@serves(DescribeClusterRequest, versions=(0, 2), kips="KIP-700, 919, 1073")
def describe_cluster(request: DescribeClusterRequest, context: RequestContext) -> DescribeClusterResponse:
    if request.endpoint_type == CONTROLLERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message="The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type "
            "CONTROLLER",
        )
    if request.endpoint_type != BROKERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message=f"Unsupported endpoint type {request.endpoint_type}",
        )
    cluster, here = context.broker.cluster, context.address
    return DescribeClusterResponse(
        cluster_id=cluster.cluster_id,
        controller_id=cluster.node_id,
        brokers=[
            DescribeClusterBroker(
                broker_id=cluster.node_id, host=here.host, port=here.port, rack=cluster.rack
            )
        ],
        cluster_authorized_operations=context.cluster_operations()
        if request.include_cluster_authorized_operations
        else NOT_ASKED,
    )
