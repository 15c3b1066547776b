"""DescribeTopicPartitions (key 75), version 0: topics in the order of their names, a page at a time (KIP-966).

- Needs leave to DESCRIBE each topic: without it one that is named is TOPIC_AUTHORIZATION_FAILED, behind the others, and
  takes no place in the page; of all topics it is left out.
- A page holds at most `response_partition_limit` partitions, bounded by `max.request.partition.size.limit` and never
  fewer than one. `next_cursor` names the first partition that did not fit; the next request begins there.
- No topics means all of them; a cursor whose topic is gone begins at the next name then.
- Topics that are asked for and do not exist are told before the page's end, and take no place in it.
- A cursor with a negative index, or of a topic that is not among those named, is INVALID_REQUEST for all of them.
"""

from __future__ import annotations

from leaselog.broker.cluster.cluster import Topic, is_internal, refuse_topic_name
from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import AclOperation, AclResourceType, ErrorCode
from leaselog.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)


@serves(DescribeTopicPartitionsRequest, versions=(0, 0), kips="KIP-966")
async def describe_topic_partitions(
    request: DescribeTopicPartitionsRequest, context: RequestContext
) -> DescribeTopicPartitionsResponse:
    broker = context.broker
    cursor = request.cursor
    names = {topic.name for topic in request.topics} or {topic.name for topic in broker.cluster.topics()}
    if cursor is not None and (
        cursor.partition_index < 0 or (request.topics and cursor.topic_name not in names)
    ):
        return DescribeTopicPartitionsResponse(
            topics=[
                DescribeTopicPartitionsResponseTopic(error_code=ErrorCode.INVALID_REQUEST, name=name)
                for name in sorted(names)
            ]
        )
    hidden = {name for name in names if not _may_see(name, request, context)}
    start_name, start_index = (cursor.topic_name, cursor.partition_index) if cursor else ("", 0)
    limit = max(1, min(request.response_partition_limit, broker.config.max_request_partition_size_limit))
    response = DescribeTopicPartitionsResponse(topics=(answers := []))
    async for name in context.broker.turns.each(
        sorted(name for name in names - hidden if name >= start_name)
    ):
        topic = broker.cluster.topic(name)
        if topic is None:
            answers.append(_unknown(name, context))
            continue
        start = start_index if name == start_name else 0
        if limit == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=start)
            break
        end = min(topic.partition_count, start + limit)
        answers.append(await _described(topic, start, end, context))
        limit -= max(end - start, 0)
        if end < topic.partition_count:
            response.next_cursor = Cursor(topic_name=name, partition_index=end)
            break
    if request.topics:
        answers += [_hidden(name) for name in sorted(hidden) if name >= start_name]
    return response


def _may_see(name: str, request: DescribeTopicPartitionsRequest, context: RequestContext) -> bool:
    """Who asks for all topics asks for none by name: that some are hidden is no refusal."""
    is_probe = not request.topics
    return context.may(AclOperation.DESCRIBE, AclResourceType.TOPIC, name, is_probe=is_probe)


def _hidden(name: str) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, name=name)


def _unknown(name: str, context: RequestContext) -> DescribeTopicPartitionsResponseTopic:
    refused = refuse_topic_name(name)
    return DescribeTopicPartitionsResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if refused is None else refused.code,
        name=name,
        is_internal=is_internal(name),
        topic_authorized_operations=context.operations(AclResourceType.TOPIC, name),
    )


async def _described(
    topic: Topic, start: int, end: int, context: RequestContext
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=is_internal(topic.name),
        partitions=[
            _partition(topic.name, index, context)
            async for index in context.broker.turns.each(range(start, end))
        ],
        topic_authorized_operations=context.operations(AclResourceType.TOPIC, topic.name),
    )


def _partition(topic: str, index: int, context: RequestContext) -> DescribeTopicPartitionsResponsePartition:
    broker = context.broker
    node, partition = broker.cluster.node_id, broker.logs.partition(topic, index)
    return DescribeTopicPartitionsResponsePartition(
        error_code=ErrorCode.NONE if partition is not None else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=index,
        leader_id=node if partition is not None else -1,
        leader_epoch=-1 if partition is None else partition.leader_epoch,
        replica_nodes=[node],
        isr_nodes=[] if partition is None else [node],
        eligible_leader_replicas=[],
        last_known_elr=[],
        offline_replicas=[node] if partition is None else [],
    )
