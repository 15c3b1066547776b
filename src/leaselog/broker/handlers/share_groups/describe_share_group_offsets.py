"""DescribeShareGroupOffsets (key 90), versions 0 and 1: how far share groups have come (KIP-932, KIP-1226).

- Needs leave to DESCRIBE each group, and each topic that is named; of all that a group has, other topics are left out.
- Null topics ask for all partitions the group has state for. A group that is not there has none, and is no error.
- A partition asked for by name has start offset -1 while nothing is known of it, also if it does not exist.
- v1 adds the lag: up to the high watermark, without what is done in between; -1 if that is not known.
"""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.broker.lending.feature import has_share_groups
from leaselog.broker.net.api import RequestContext, serves
from leaselog.broker.share_groups.administration import PartitionOffset
from leaselog.coordination.share_group_commands import StatesOfTopic
from leaselog.model import ZERO_UUID, AclOperation, AclResourceType, ErrorCode, GroupId, Refused
from leaselog.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)


@serves(DescribeShareGroupOffsetsRequest, versions=(0, 1), kips="KIP-932, 1226")
async def describe_share_group_offsets(
    request: DescribeShareGroupOffsetsRequest, context: RequestContext
) -> DescribeShareGroupOffsetsResponse:
    if not has_share_groups(context.broker.cluster):
        refused = Refused(ErrorCode.UNSUPPORTED_VERSION)
        return DescribeShareGroupOffsetsResponse(
            groups=[_refused(g.group_id, refused) for g in request.groups]
        )
    groups = await context.broker.turns.gather(_describe(group, context) for group in request.groups)
    return DescribeShareGroupOffsetsResponse(groups=groups)


async def _describe(
    group: DescribeShareGroupOffsetsRequestGroup, context: RequestContext
) -> DescribeShareGroupOffsetsResponseGroup:
    group_id = GroupId(group.group_id)
    denied = context.refuse_group(AclOperation.DESCRIBE, group_id)
    if denied is not None:
        return _refused(group_id, denied)
    if group.topics is not None:
        topics = [await _asked(group_id, topic, context) for topic in group.topics]
    else:
        known = await context.broker.share_groups.topics_with_state(group_id)
        if isinstance(known, Refused):
            return _refused(group_id, known)
        topics = [
            await _topic(group_id, topic, context)
            for topic in known
            if context.may(AclOperation.DESCRIBE, AclResourceType.TOPIC, topic.name, is_probe=True)
        ]
    return DescribeShareGroupOffsetsResponseGroup(group_id=group_id, topics=topics)


def _refused(group_id: str, refused: Refused) -> DescribeShareGroupOffsetsResponseGroup:
    return DescribeShareGroupOffsetsResponseGroup(
        group_id=group_id, error_code=refused.code, error_message=refused.message
    )


async def _asked(
    group_id: GroupId, asked: DescribeShareGroupOffsetsRequestTopic, context: RequestContext
) -> DescribeShareGroupOffsetsResponseTopic:
    hidden = context.refuse_topic(AclOperation.DESCRIBE, asked.topic_name)
    if hidden is not None:
        refused = PartitionOffset(refused=hidden)
        return DescribeShareGroupOffsetsResponseTopic(
            topic_name=asked.topic_name,
            topic_id=ZERO_UUID,
            partitions=[_partition(i, refused) for i in asked.partitions],
        )
    topic = context.broker.cluster.topic(asked.topic_name)
    if topic is None:
        nothing = [_partition(i, PartitionOffset()) for i in asked.partitions]
        return DescribeShareGroupOffsetsResponseTopic(
            topic_name=asked.topic_name, topic_id=ZERO_UUID, partitions=nothing
        )
    places = StatesOfTopic(topic.topic_id, topic.name, frozenset(asked.partitions))
    return await _topic(group_id, places, context, asked.partitions)


async def _topic(
    group_id: GroupId,
    topic: StatesOfTopic,
    context: RequestContext,
    order: Sequence[int] | None = None,
) -> DescribeShareGroupOffsetsResponseTopic:
    offsets = await context.broker.share_groups.offsets(group_id, topic)
    return DescribeShareGroupOffsetsResponseTopic(
        topic_name=topic.name,
        topic_id=topic.topic_id,
        partitions=[_partition(i, offsets[i]) for i in (offsets if order is None else order)],
    )


def _partition(index: int, offset: PartitionOffset) -> DescribeShareGroupOffsetsResponsePartition:
    return DescribeShareGroupOffsetsResponsePartition(
        partition_index=index,
        start_offset=offset.start_offset,
        leader_epoch=offset.leader_epoch,
        lag=offset.lag,
        error_code=ErrorCode.NONE if offset.refused is None else offset.refused.code,
        error_message=None if offset.refused is None else offset.refused.message,
    )
