"""ReadShareGroupStateSummary (key 87), versions 0 and 1: where share groups have got to (KIP-932).

- Needs leave to act for the cluster (CLUSTER_ACTION).
- From the group coordinator to the share coordinator, for administrators: fences nobody.
- A partition that was never initialized has a start offset of -1, and that is no error.
- v1 counts the deliveries that are done (KIP-1226).
"""

from __future__ import annotations

from collections.abc import Awaitable
from uuid import UUID

from leaselog.broker.net.api import RequestContext, serves
from leaselog.broker.share_state.requests import ask_each, error_of
from leaselog.coordination.share_state_commands import ShareStateAnswer, ShareSummary, SummarizeState
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import AclOperation
from leaselog.wire.messages.read_share_group_state_summary import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)


@serves(ReadShareGroupStateSummaryRequest, versions=(0, 1), kips="KIP-932, 1226")
def read_share_group_state_summary(
    request: ReadShareGroupStateSummaryRequest, context: RequestContext
) -> Awaitable[ReadShareGroupStateSummaryResponse]:
    denied = context.refuse_cluster(AclOperation.CLUSTER_ACTION)
    results = ask_each(
        context.broker.share_coordinator, request.group_id, request.topics, _command, _result, denied
    )
    return _respond(results)


async def _respond(
    results: Awaitable[list[tuple[UUID, list[PartitionResult]]]],
) -> ReadShareGroupStateSummaryResponse:
    return ReadShareGroupStateSummaryResponse(
        results=[ReadStateSummaryResult(topic_id=topic, partitions=done) for topic, done in await results]
    )


def _command(key: SharePartitionKey, asked: PartitionData) -> SummarizeState:
    return SummarizeState(key, asked.leader_epoch)


def _result(partition: int, answer: ShareStateAnswer) -> PartitionResult:
    code, message = error_of(answer)
    if not isinstance(answer, ShareSummary):
        return PartitionResult(partition=partition, error_code=code, error_message=message)
    return PartitionResult(
        partition=partition,
        state_epoch=answer.state_epoch,
        leader_epoch=answer.leader_epoch,
        start_offset=answer.start_offset,
        delivery_complete_count=answer.delivery_complete_count,
    )
