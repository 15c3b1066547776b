"""ElectLeaders (key 43), versions 0 to 2: the leader is always the preferred one, so no election is needed (KIP-460).

- Needs leave to ALTER the cluster.
- Null partitions ask for all: every topic is answered with no partition at all, as Kafka leaves out those that need
  no election then.
- An election type other than preferred (0) and unclean (1) is INVALID_REQUEST.
"""

from __future__ import annotations

from collections.abc import Callable

from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import AclOperation, ErrorCode, Refused
from leaselog.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

ELECTION_TYPES = (0, 1)


@serves(ElectLeadersRequest, versions=(0, 2), kips="KIP-183, 460")
async def elect_leaders(request: ElectLeadersRequest, context: RequestContext) -> ElectLeadersResponse:
    denied = context.refuse_cluster(AclOperation.ALTER)
    if denied is not None:
        results = await _results(request, lambda topic, index: denied, context)
        return ElectLeadersResponse(error_code=denied.code, replica_election_results=results)
    if request.election_type not in ELECTION_TYPES:
        bad = Refused(ErrorCode.INVALID_REQUEST, f"Unknown election type {request.election_type}")
        return ElectLeadersResponse(
            error_code=ErrorCode.INVALID_REQUEST,
            replica_election_results=await _results(request, lambda topic, index: bad, context),
        )
    if request.topic_partitions is None:
        names = [topic.name for topic in context.broker.cluster.topics()]
        return ElectLeadersResponse(
            replica_election_results=[ReplicaElectionResult(topic=name) for name in names]
        )
    return ElectLeadersResponse(
        replica_election_results=await _results(
            request, lambda topic, index: _why_not(topic, index, context), context
        )
    )


async def _results(
    request: ElectLeadersRequest, why_not: Callable[[str, int], Refused], context: RequestContext
) -> list[ReplicaElectionResult]:
    return [
        ReplicaElectionResult(
            topic=topic.topic,
            partition_result=[
                PartitionResult(
                    partition_id=index,
                    error_code=(refused := why_not(topic.topic, index)).code,
                    error_message=refused.message,
                )
                async for index in context.broker.turns.each(topic.partitions)
            ],
        )
        async for topic in context.broker.turns.each(request.topic_partitions or ())
    ]


def _why_not(topic: str, index: int, context: RequestContext) -> Refused:
    known = context.broker.cluster.topic(topic)
    if known is None:
        return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {topic}")
    if not 0 <= index < known.partition_count:
        return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {topic}-{index}")
    return Refused(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")
