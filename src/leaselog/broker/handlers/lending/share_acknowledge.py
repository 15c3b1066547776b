"""ShareAcknowledge (key 79), versions 1 and 2: what became of records that a member holds (KIP-932).

- Within the session that a ShareFetch has opened, whose epoch it advances; -1 closes the session, which gives back all
  that the member still holds in it.
- Needs leave to READ the group and each topic; what a member holds that has lost it comes back when its lease ends.
- A partition's batches are applied all or none, whatever becomes of its neighbours; without batches it is not answered.
- The answer comes when what was acknowledged is as safe as `durability` promises. All acknowledgements of one turn of
  the loop, whoever sent them, share one write and one sync.
- Version 2: leases may be renewed (KIP-1222), and the answer tells how long they last.
"""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial

from leaselog.broker.cluster.partition_lookup import WRONG_LEADER
from leaselog.broker.handlers.lending.rights import deny_group, topic_reader
from leaselog.broker.lending.requests import Acknowledgements, batches_of, by_topic, who
from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import Refused
from leaselog.share import FINAL_EPOCH, SessionKey, TopicIdPartition
from leaselog.wire.messages.share_acknowledge import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from leaselog.wire.share_extensions import ExtendedShareAcknowledgeRequest


@serves(ExtendedShareAcknowledgeRequest, versions=(1, 2), kips="KIP-932, 1222", counts_errors=True)
def share_acknowledge(
    request: ShareAcknowledgeRequest, context: RequestContext
) -> ShareAcknowledgeResponse | Awaitable[ShareAcknowledgeResponse]:
    broker = context.broker
    key = who(broker.shares, request.group_id, request.member_id)
    if broker.guard is not None and (denied := deny_group(request.group_id, key, context)) is not None:
        return _refusal(denied, context)
    if isinstance(key, Refused):
        return _refusal(key, context)
    session = broker.shares.sessions.acknowledge(key, request.share_session_epoch)
    if isinstance(session, Refused):
        return _refusal(session, context)
    batches = batches_of(request.topics)
    may_read = None if broker.guard is None else topic_reader(context)
    acknowledgements = Acknowledgements(
        broker.shares, key, batches, may_renew=request.is_renew_ack, may_read=may_read
    )
    if request.share_session_epoch == FINAL_EPOCH:
        broker.shares.sessions.end(key)
        broker.shares.release(session)
    answer = partial(_response, key, acknowledgements, context)
    return answer() if acknowledgements.is_done else acknowledgements.then(answer)


def _refusal(refused: Refused, context: RequestContext) -> ShareAcknowledgeResponse:
    context.broker.metrics.error(context.api, refused.code)
    return ShareAcknowledgeResponse(error_code=refused.code, error_message=refused.message)


def _response(
    key: SessionKey, acknowledgements: Acknowledgements, context: RequestContext
) -> ShareAcknowledgeResponse:
    broker = context.broker
    told: list[tuple[TopicIdPartition, PartitionData]] = []
    is_led_elsewhere = False
    for at, refused in acknowledgements.outcomes.items():
        if refused is None:
            data = PartitionData(partition_index=at.partition)
        else:
            data = _refused(key, at, refused, context)
            is_led_elsewhere = is_led_elsewhere or refused.code in WRONG_LEADER
        told.append((at, data))
    response = ShareAcknowledgeResponse(
        acquisition_lock_timeout_ms=broker.cluster.configuration.group(
            key.group_id
        ).share_record_lock_duration_ms,
        responses=by_topic(told, ShareAcknowledgeTopicResponse),
    )
    if is_led_elsewhere:
        here, told_at = broker.cluster, context.address
        response.node_endpoints = [
            NodeEndpoint(node_id=here.node_id, host=told_at.host, port=told_at.port, rack=here.rack)
        ]
    return response


def _refused(
    key: SessionKey, at: TopicIdPartition, refused: Refused, context: RequestContext
) -> PartitionData:
    broker = context.broker
    broker.metrics.error(context.api, refused.code)
    data = PartitionData(partition_index=at.partition, error_code=refused.code, error_message=refused.message)
    if refused.code in WRONG_LEADER:
        owner = broker.shares.find(key.group_id, at)
        epoch = 0 if owner is None else owner.partition.leader_epoch
        data.current_leader = LeaderIdAndEpoch(leader_id=broker.cluster.node_id, leader_epoch=epoch)
    return data
