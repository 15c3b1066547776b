"""WriteShareGroupState (key 85), versions 0 and 1: what has become of the records of share partitions (KIP-932).

- Needs leave to act for the cluster (CLUSTER_ACTION).
- From the leaders of partitions to the share coordinator. Each partition is answered for itself, when it is safe;
  all writes of one turn of the loop share an append and a sync.
- An older leader is FENCED_LEADER_EPOCH, one that works on replaced offsets FENCED_STATE_EPOCH, a partition that was
  never initialized INVALID_REQUEST.
- v1 counts the deliveries that are done (KIP-1226).
"""

from __future__ import annotations

from collections.abc import Awaitable
from uuid import UUID

from leaselog.broker.net.api import RequestContext, serves
from leaselog.broker.share_state.requests import ask_each, error_of
from leaselog.coordination.share_state_batches import StateBatch
from leaselog.coordination.share_state_commands import ShareStateAnswer, WriteState
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import AclOperation
from leaselog.wire.messages.write_share_group_state import (
    PartitionResult,
    WriteShareGroupStateResponse,
    WriteStateResult,
)
from leaselog.wire.share_state_extensions import WaitingPartitionData, WaitingWriteRequest


@serves(WaitingWriteRequest, versions=(0, 1), kips="KIP-932, 1226")
def write_share_group_state(
    request: WaitingWriteRequest, context: RequestContext
) -> Awaitable[WriteShareGroupStateResponse]:
    denied = context.refuse_cluster(AclOperation.CLUSTER_ACTION)
    results = ask_each(
        context.broker.share_coordinator, request.group_id, request.topics, _command, _result, denied
    )
    return _respond(results)


async def _respond(
    results: Awaitable[list[tuple[UUID, list[PartitionResult]]]],
) -> WriteShareGroupStateResponse:
    return WriteShareGroupStateResponse(
        results=[WriteStateResult(topic_id=topic, partitions=done) for topic, done in await results]
    )


def _command(key: SharePartitionKey, asked: WaitingPartitionData) -> WriteState:
    return WriteState(
        key,
        asked.state_epoch,
        asked.leader_epoch,
        asked.start_offset,
        asked.delivery_complete_count,
        tuple(
            StateBatch(b.first_offset, b.last_offset + 1, b.delivery_state, b.delivery_count, b.due_ms)
            for b in asked.state_batches
        ),
    )


def _result(partition: int, answer: ShareStateAnswer) -> PartitionResult:
    code, message = error_of(answer)
    return PartitionResult(partition=partition, error_code=code, error_message=message)
