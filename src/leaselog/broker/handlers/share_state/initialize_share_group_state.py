"""InitializeShareGroupState (key 83), version 0: share groups begin, or begin anew, with partitions (KIP-932).

- Needs leave to act for the cluster (CLUSTER_ACTION).
- From the group coordinator to the share coordinator. Each partition is answered for itself.
- A state epoch older than one seen is FENCED_STATE_EPOCH; a start offset of -1 leaves it to the group's reset policy.
"""

from __future__ import annotations

from collections.abc import Awaitable
from uuid import UUID

from leaselog.broker.net.api import RequestContext, serves
from leaselog.broker.share_state.requests import ask_each, error_of
from leaselog.coordination.share_state_commands import InitializeState, ShareStateAnswer
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import AclOperation
from leaselog.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionData,
    PartitionResult,
)


@serves(InitializeShareGroupStateRequest, versions=(0, 0), kips="KIP-932")
def initialize_share_group_state(
    request: InitializeShareGroupStateRequest, context: RequestContext
) -> Awaitable[InitializeShareGroupStateResponse]:
    denied = context.refuse_cluster(AclOperation.CLUSTER_ACTION)
    results = ask_each(
        context.broker.share_coordinator, request.group_id, request.topics, _command, _result, denied
    )
    return _respond(results)


async def _respond(
    results: Awaitable[list[tuple[UUID, list[PartitionResult]]]],
) -> InitializeShareGroupStateResponse:
    return InitializeShareGroupStateResponse(
        results=[InitializeStateResult(topic_id=topic, partitions=done) for topic, done in await results]
    )


def _command(key: SharePartitionKey, asked: PartitionData) -> InitializeState:
    return InitializeState(key, asked.state_epoch, asked.start_offset)


def _result(partition: int, answer: ShareStateAnswer) -> PartitionResult:
    code, message = error_of(answer)
    return PartitionResult(partition=partition, error_code=code, error_message=message)
