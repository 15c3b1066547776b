"""Leaders of partitions elected anew, at the controller (KIP-460)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from leaselog.admin.outcome import Outcomes, outcome
from leaselog.client.cluster import Cluster
from leaselog.client.errors import raise_for
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions

__all__ = ["ElectionType", "elect_leaders", "without_unneeded"]


class ElectionType(IntEnum):
    #: the first of a partition's replicas shall lead
    PREFERRED = 0
    #: a partition that has lost all replicas that have everything gets a leader, and loses records
    UNCLEAN = 1


async def elect_leaders(
    cluster: Cluster, type: ElectionType, places: Iterable[TopicPartition] | None = None
) -> Outcomes[TopicPartition, None]:
    """What became of each partition's election: None, or why there was none.

    Where nothing is to be done that is ``ElectionNotNeededException``; without ``places`` those are left out.
    """
    by_topic = dict[str, list[int]]()
    for where in places or ():
        by_topic.setdefault(where.topic, []).append(where.partition)
    asked = [TopicPartitions(topic=topic, partitions=parts) for topic, parts in by_topic.items()]
    request = ElectLeadersRequest(
        election_type=type,
        topic_partitions=None if places is None else asked,
        timeout_ms=cluster.request_timeout_ms,
    )

    async def attempt() -> Outcomes[TopicPartition, None]:
        answer = await cluster.request(request, ElectLeadersResponse)
        raise_for(answer.error_code)
        return {
            TopicPartition(topic.topic, part.partition_id): outcome(part.error_code, part.error_message, None)
            for topic in answer.replica_election_results
            for part in topic.partition_result
        }

    return await cluster.retrying(attempt)


def without_unneeded(outcomes: Outcomes[TopicPartition, None]) -> Outcomes[TopicPartition, None]:
    """Without the partitions whose leader is the right one already."""
    return {
        where: error
        for where, error in outcomes.items()
        if error is None or error.code is not ErrorCode.ELECTION_NOT_NEEDED
    }
