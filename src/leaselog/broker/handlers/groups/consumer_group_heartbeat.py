"""ConsumerGroupHeartbeat (key 68), versions 0 to 1: joining a consumer group, staying in it, leaving it (KIP-848).

- Members make their own ids since v1; before, one that comes without gets one. Epoch 0 joins, also again; -1 leaves,
  -2 leaves a static member's place for the next process; else it is the one last told.
- The answer has the assignment if it has changed, or if the request says everything again.
- v1 also takes a pattern of topic names, by RE2's rules; a malformed one is INVALID_REGULAR_EXPRESSION.
- UNKNOWN_MEMBER_ID and FENCED_MEMBER_EPOCH send the member back to epoch 0; GROUP_ID_NOT_FOUND also means that the
  group is of another kind.
"""

from __future__ import annotations

from leaselog.broker.groups.feature import has_consumer_groups
from leaselog.broker.groups.patterns import why_no_pattern
from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.consumer_group_commands import JOIN_EPOCH, ConsumerBeat, ConsumerHeartbeat
from leaselog.coordination.consumer_group_facts import Assigned
from leaselog.coordination.group_commands import Token
from leaselog.coordination.share_group_facts import PartitionKey
from leaselog.model import AclOperation, ErrorCode, GroupId, MemberId, Refused, TopicId
from leaselog.wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

IDS_OF_MEMBERS_SINCE = 1


@serves(ConsumerGroupHeartbeatRequest, versions=(0, 1), kips="KIP-848, 1082")
async def consumer_group_heartbeat(
    request: ConsumerGroupHeartbeatRequest, context: RequestContext
) -> ConsumerGroupHeartbeatResponse:
    if not has_consumer_groups(context.broker.cluster, context.broker.config):
        return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    denied = context.refuse_group(AclOperation.READ, request.group_id)
    for topic in dict.fromkeys(request.subscribed_topic_names or ()):
        denied = denied or context.refuse_topic(AclOperation.DESCRIBE, topic)
    if denied is not None:
        return ConsumerGroupHeartbeatResponse(error_code=denied.code, error_message=denied.message)
    pattern = request.subscribed_topic_regex
    if pattern and (why := why_no_pattern(pattern)) is not None:
        return ConsumerGroupHeartbeatResponse(
            error_code=ErrorCode.INVALID_REGULAR_EXPRESSION,
            error_message=f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {why}.",
        )
    ask = await _command(request, context)
    beat = await context.broker.groups.ask(
        ask.group_id, lambda token: ask._replace(token=token), ConsumerBeat
    )
    if isinstance(beat, Refused):
        return ConsumerGroupHeartbeatResponse(error_code=beat.code, error_message=beat.message)
    return ConsumerGroupHeartbeatResponse(
        member_id=beat.member_id,
        member_epoch=beat.epoch,
        heartbeat_interval_ms=beat.heartbeat_interval_ms,
        assignment=None if beat.assignment is None else _assignment(beat.assignment),
    )


async def _command(request: ConsumerGroupHeartbeatRequest, context: RequestContext) -> ConsumerHeartbeat:
    topics = request.subscribed_topic_names
    may_lack_id = context.version < IDS_OF_MEMBERS_SINCE
    member_id = MemberId(request.member_id)
    if not member_id and may_lack_id and request.member_epoch == JOIN_EPOCH:
        member_id = context.broker.groups.fresh_member_id(context.client_id or "")
    return ConsumerHeartbeat(
        token=Token(0),
        group_id=GroupId(request.group_id),
        member_id=member_id,
        member_epoch=request.member_epoch,
        client_id=context.client_id or "",
        client_host=f"/{context.client.host}",
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topics=None if topics is None else tuple(topics),
        pattern=request.subscribed_topic_regex,
        assignor=request.server_assignor,
        owned=await _owned(request, context),
        may_lack_id=may_lack_id,
    )


async def _owned(
    request: ConsumerGroupHeartbeatRequest, context: RequestContext
) -> frozenset[PartitionKey] | None:
    if request.topic_partitions is None:
        return None
    each = context.broker.turns.each
    owned: set[PartitionKey] = set()
    async for topic in each(request.topic_partitions):
        owned |= {(TopicId(topic.topic_id), index) async for index in each(topic.partitions)}
    return frozenset(owned)


def _assignment(assigned: Assigned) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic, partitions=sorted(partitions))
            for topic, partitions in assigned.items()
        ]
    )
