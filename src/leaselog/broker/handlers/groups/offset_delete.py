"""OffsetDelete (key 47), version 0: a group forgets how far it came (KIP-496).

- Needs leave to DELETE the group and to READ each topic.
- Partitions of a topic that members are subscribed to are GROUP_SUBSCRIBED_TO_TOPIC; unknown ones are
  UNKNOWN_TOPIC_OR_PARTITION; one without an offset is fine.
- An error of the group is told once, at the top, and then no partition is answered.
"""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.group_commands import DeleteOffsets, PartitionCodes, Token
from leaselog.model import AclOperation, ErrorCode, GroupId, Refused, TopicPartition
from leaselog.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


@serves(OffsetDeleteRequest, versions=(0, 0), kips="KIP-496")
async def offset_delete(request: OffsetDeleteRequest, context: RequestContext) -> OffsetDeleteResponse:
    denied = context.refuse_group(AclOperation.DELETE, request.group_id)
    if denied is not None:
        return OffsetDeleteResponse(error_code=denied.code)
    logs = context.broker.logs
    topics: list[OffsetDeleteResponseTopic] = []
    wanted: list[tuple[TopicPartition, OffsetDeleteResponsePartition]] = []
    async for topic in context.broker.turns.each(request.topics):
        answers = [OffsetDeleteResponsePartition(partition_index=p.partition_index) for p in topic.partitions]
        topics.append(OffsetDeleteResponseTopic(name=topic.name, partitions=answers))
        refused = context.refuse_topic(AclOperation.READ, topic.name)
        async for answer in context.broker.turns.each(answers):
            if refused is not None:
                answer.error_code = refused.code
                continue
            if logs.partition(topic.name, answer.partition_index) is None:
                answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                wanted.append((TopicPartition(topic.name, answer.partition_index), answer))
    partitions = tuple(partition for partition, _ in wanted)

    def command(token: Token) -> DeleteOffsets:
        return DeleteOffsets(token, GroupId(request.group_id), partitions)

    outcome = await context.broker.groups.ask(GroupId(request.group_id), command, PartitionCodes)
    if isinstance(outcome, Refused):
        return OffsetDeleteResponse(error_code=outcome.code)
    for (_, answer), code in zip(wanted, outcome.codes, strict=True):
        answer.error_code = code
    return OffsetDeleteResponse(topics=topics)
