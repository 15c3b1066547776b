"""ShareGroupHeartbeat (key 76), version 1: joining a share group, staying in it, leaving it (KIP-932).

- Needs leave to READ the group, and to DESCRIBE each topic that is subscribed to.
- Members make their own ids, of at most 36 characters. Epoch 0 joins, also again; -1 leaves; else it is the one last
  told, or the one before.
- The answer has the assignment if it has changed or the request named topics. The first one has partitions at once:
  it waits until their state has begun, which Apache Kafka leaves to the next heartbeat.
- UNKNOWN_MEMBER_ID and FENCED_MEMBER_EPOCH send the member back to epoch 0; GROUP_ID_NOT_FOUND also means that the
  group is of another kind.
"""

from __future__ import annotations

from leaselog.broker.lending.feature import has_share_groups
from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.group_token import Token
from leaselog.coordination.share_group_commands import ShareBeat, ShareHeartbeat
from leaselog.coordination.share_group_facts import Assignment as Assigned
from leaselog.model import AclOperation, ErrorCode, GroupId, MemberId, Refused
from leaselog.wire.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)

MAX_MEMBER_ID_CHARS = 36


@serves(ShareGroupHeartbeatRequest, versions=(1, 1), kips="KIP-932")
async def share_group_heartbeat(
    request: ShareGroupHeartbeatRequest, context: RequestContext
) -> ShareGroupHeartbeatResponse:
    if not has_share_groups(context.broker.cluster):
        return ShareGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    denied = context.refuse_group(AclOperation.READ, request.group_id)
    if denied is not None:
        return ShareGroupHeartbeatResponse(error_code=denied.code, error_message=denied.message)
    if not 0 < len(request.member_id) <= MAX_MEMBER_ID_CHARS:
        return ShareGroupHeartbeatResponse(error_code=ErrorCode.INVALID_REQUEST)
    for topic in dict.fromkeys(request.subscribed_topic_names or ()):
        refused = context.refuse_topic(AclOperation.DESCRIBE, topic)
        if refused is not None:
            return ShareGroupHeartbeatResponse(error_code=refused.code, error_message=refused.message)
    beat = await context.broker.share_members.heartbeat(_command(request, context))
    if isinstance(beat, Refused):
        return ShareGroupHeartbeatResponse(error_code=beat.code, error_message=beat.message)
    return _response(beat)


def _command(request: ShareGroupHeartbeatRequest, context: RequestContext) -> ShareHeartbeat:
    topics = request.subscribed_topic_names
    return ShareHeartbeat(
        token=Token(0),
        group_id=GroupId(request.group_id),
        member_id=MemberId(request.member_id),
        member_epoch=request.member_epoch,
        client_id=context.client_id or "",
        client_host=f"/{context.client.host}",
        rack_id=request.rack_id,
        topics=None if topics is None else tuple(topics),
    )


def _response(beat: ShareBeat) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(
        member_id=beat.member_id,
        member_epoch=beat.epoch,
        heartbeat_interval_ms=beat.heartbeat_interval_ms,
        assignment=None if beat.assignment is None else _assignment(beat.assignment),
    )


def _assignment(assigned: Assigned) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic, partitions=sorted(partitions))
            for topic, partitions in assigned.items()
        ]
    )
