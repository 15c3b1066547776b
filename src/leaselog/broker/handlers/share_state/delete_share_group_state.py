"""DeleteShareGroupState (key 86), version 0: share groups let partitions go (KIP-932).

- Needs leave to act for the cluster (CLUSTER_ACTION).
- From the group coordinator to the share coordinator. Each partition is answered for itself; what is not there is
  gone already.
"""

from __future__ import annotations

from collections.abc import Awaitable
from uuid import UUID

from leaselog.broker.net.api import RequestContext, serves
from leaselog.broker.share_state.requests import ask_each, error_of
from leaselog.coordination.share_state_commands import DeleteState, ShareStateAnswer
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import AclOperation
from leaselog.wire.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
    DeleteStateResult,
    PartitionData,
    PartitionResult,
)


@serves(DeleteShareGroupStateRequest, versions=(0, 0), kips="KIP-932")
def delete_share_group_state(
    request: DeleteShareGroupStateRequest, context: RequestContext
) -> Awaitable[DeleteShareGroupStateResponse]:
    denied = context.refuse_cluster(AclOperation.CLUSTER_ACTION)
    results = ask_each(
        context.broker.share_coordinator, request.group_id, request.topics, _command, _result, denied
    )
    return _respond(results)


async def _respond(
    results: Awaitable[list[tuple[UUID, list[PartitionResult]]]],
) -> DeleteShareGroupStateResponse:
    return DeleteShareGroupStateResponse(
        results=[DeleteStateResult(topic_id=topic, partitions=done) for topic, done in await results]
    )


def _command(key: SharePartitionKey, asked: PartitionData) -> DeleteState:
    return DeleteState(key)


def _result(partition: int, answer: ShareStateAnswer) -> PartitionResult:
    code, message = error_of(answer)
    return PartitionResult(partition=partition, error_code=code, error_message=message)
