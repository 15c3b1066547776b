"""ReadShareGroupState (key 84), version 0: what is known of the records of share partitions (KIP-932).

- Needs leave to act for the cluster (CLUSTER_ACTION).
- From a partition's leader to the share coordinator, before it hands out a record. Older leaders can write no more
  once a newer one has read.
- A partition that was never initialized is INVALID_REQUEST.
"""

from __future__ import annotations

from collections.abc import Awaitable
from uuid import UUID

from leaselog.broker.net.api import RequestContext, serves
from leaselog.broker.share_state.requests import ask_each, error_of
from leaselog.coordination.share_state_commands import ReadState, ShareStateAnswer, StateRead
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import AclOperation
from leaselog.wire.messages.read_share_group_state import (
    PartitionData,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
)
from leaselog.wire.share_state_extensions import (
    ReadWaitingStateBatch,
    WaitingPartitionResult,
    WaitingReadResponse,
    WaitingReadResult,
)


@serves(ReadShareGroupStateRequest, versions=(0, 0), kips="KIP-932")
def read_share_group_state(
    request: ReadShareGroupStateRequest, context: RequestContext
) -> Awaitable[ReadShareGroupStateResponse]:
    denied = context.refuse_cluster(AclOperation.CLUSTER_ACTION)
    results = ask_each(
        context.broker.share_coordinator, request.group_id, request.topics, _command, _result, denied
    )
    return _respond(results)


async def _respond(
    results: Awaitable[list[tuple[UUID, list[WaitingPartitionResult]]]],
) -> ReadShareGroupStateResponse:
    return WaitingReadResponse(
        results=[WaitingReadResult(topic_id=topic, partitions=done) for topic, done in await results]
    )


def _command(key: SharePartitionKey, asked: PartitionData) -> ReadState:
    return ReadState(key, asked.leader_epoch)


def _result(partition: int, answer: ShareStateAnswer) -> WaitingPartitionResult:
    code, message = error_of(answer)
    if not isinstance(answer, StateRead):
        return WaitingPartitionResult(partition=partition, error_code=code, error_message=message)
    return WaitingPartitionResult(
        partition=partition,
        state_epoch=answer.state_epoch,
        start_offset=answer.start_offset,
        state_batches=[
            ReadWaitingStateBatch(
                first_offset=start,
                last_offset=end - 1,
                delivery_state=state,
                delivery_count=count,
                due_ms=due_ms,
            )
            for start, end, state, count, due_ms in answer.batches
        ],
    )
