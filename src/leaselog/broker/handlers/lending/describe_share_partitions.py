"""DescribeSharePartitions (key 10000), version 0: what a share group has in flight on partitions led here.

leaselog's own; only a client that says it is leaselog's is told of it by ApiVersions.

- Needs leave to DESCRIBE the group and each topic.
- OFFSET_NOT_AVAILABLE while the group has not begun with a partition. Where nobody of the group is, it is what is
  stored: nothing is leased then.
- Holders and deadlines are those of the moment; the times are from now.
"""

from __future__ import annotations

from leaselog.broker.cluster.partition_lookup import find_partition
from leaselog.broker.lending.feature import has_share_groups
from leaselog.broker.lending.inspection import SharePartitionFigures, figures_of
from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import AclOperation, ErrorCode, GroupId, Refused
from leaselog.wire.extensions import (
    DeliveryCount,
    DescribedSharePartition,
    DescribeSharePartitionsRequest,
    DescribeSharePartitionsResponse,
    DescribeSharePartitionsResponseTopic,
    Holder,
)


@serves(DescribeSharePartitionsRequest, versions=(0, 0), kips="", only_reads=True)
async def describe_share_partitions(
    request: DescribeSharePartitionsRequest, context: RequestContext
) -> DescribeSharePartitionsResponse:
    if not has_share_groups(context.broker.cluster):
        return DescribeSharePartitionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    denied = context.refuse_group(AclOperation.DESCRIBE, request.group_id)
    if denied is not None:
        return DescribeSharePartitionsResponse(error_code=denied.code, error_message=denied.message)
    group_id = GroupId(request.group_id)
    return DescribeSharePartitionsResponse(
        topics=[
            DescribeSharePartitionsResponseTopic(
                name=topic.name,
                partitions=[
                    await _described(context, group_id, topic.name, i)
                    async for i in context.broker.turns.each(topic.partitions)
                ],
            )
            async for topic in context.broker.turns.each(request.topics)
        ]
    )


async def _described(
    context: RequestContext, group_id: GroupId, name: str, index: int
) -> DescribedSharePartition:
    broker = context.broker
    hidden = context.refuse_topic(AclOperation.DESCRIBE, name)
    if hidden is not None:
        return DescribedSharePartition(partition=index, error_code=hidden.code, error_message=hidden.message)
    partition, topic = find_partition(broker, name, index), broker.cluster.topic(name)
    if isinstance(partition, ErrorCode):
        return DescribedSharePartition(partition=index, error_code=partition)
    if topic is None:
        return DescribedSharePartition(partition=index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    key = SharePartitionKey(group_id, topic.topic_id, index)
    found = await figures_of(broker.shares, key, partition)
    if isinstance(found, Refused):
        return DescribedSharePartition(partition=index, error_code=found.code, error_message=found.message)
    given_up = broker.share_delivery.given_up_at(key)
    return _shown(index, found, int(broker.monotonic_ms()), given_up)


def _shown(index: int, found: SharePartitionFigures, now_ms: int, given_up: int) -> DescribedSharePartition:
    seen = found.inspection
    return DescribedSharePartition(
        partition=index,
        start_offset=seen.start,
        end_offset=seen.end,
        high_watermark=found.high_watermark,
        available=found.available,
        acquired=seen.acquired,
        done_ahead=seen.done_ahead,
        window_used=seen.window_used,
        window_limit=seen.window_limit,
        oldest_age_ms=-1 if found.oldest_age_ms is None else found.oldest_age_ms,
        delivery_counts=[
            DeliveryCount(deliveries=count, record_count=records)
            for count, records in seen.delivery_counts.items()
        ],
        holders=[
            Holder(
                member_id=member,
                record_count=held.record_count,
                first_deadline_ms=held.first_deadline_ms - now_ms,
                last_deadline_ms=held.last_deadline_ms - now_ms,
            )
            for member, held in seen.holders.items()
        ],
        waiting=seen.waiting,
        next_due_ms=-1 if seen.next_due_ms is None else max(0, seen.next_due_ms - now_ms),
        archiving=seen.archiving,
        given_up=given_up,
    )
