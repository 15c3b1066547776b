"""The cluster itself: its id and its nodes."""

from __future__ import annotations

from dataclasses import dataclass

from leaselog.client import UnsupportedVersion
from leaselog.client.cluster import Cluster
from leaselog.client.errors import raise_for
from leaselog.client.topology import Node
from leaselog.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

__all__ = ["ClusterDescription", "describe_cluster"]


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    cluster_id: str | None
    #: the node to ask what concerns the controller; None while there is none
    controller: Node | None
    nodes: tuple[Node, ...]


async def describe_cluster(cluster: Cluster) -> ClusterDescription:
    async def attempt() -> ClusterDescription:
        try:
            return await _by_description(cluster)
        except UnsupportedVersion:  # a broker before Kafka 2.8
            found = await cluster.fetch_topology(())
            nodes = tuple(found.nodes[i] for i in sorted(found.nodes))
            return ClusterDescription(found.cluster_id, found.nodes.get(found.controller_id), nodes)

    return await cluster.retrying(attempt)


async def _by_description(cluster: Cluster) -> ClusterDescription:
    answer = await cluster.request(DescribeClusterRequest(), DescribeClusterResponse)
    raise_for(answer.error_code, answer.error_message)
    nodes = {b.broker_id: Node(b.broker_id, b.host, b.port, b.rack) for b in answer.brokers}
    return ClusterDescription(
        answer.cluster_id, nodes.get(answer.controller_id), tuple(nodes[i] for i in sorted(nodes))
    )
