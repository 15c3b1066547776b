"""AlterShareGroupOffsets (key 91), version 0: where a share group goes on (KIP-932).

- Needs leave to READ the group and each topic.
- A group that is not there is made. One with members is NON_EMPTY_GROUP; one of another kind GROUP_ID_NOT_FOUND.
- Each partition is answered for itself; what does not exist is UNKNOWN_TOPIC_OR_PARTITION. All that was known of an
  altered partition's records is forgotten.
"""

from __future__ import annotations

from leaselog.broker.lending.feature import has_share_groups
from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import ZERO_UUID, AclOperation, ErrorCode, GroupId, Refused, TopicPartition
from leaselog.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)

INVALID_GROUP = Refused(ErrorCode.INVALID_GROUP_ID, "The group id is invalid.")
UNKNOWN = "This server does not host this topic-partition."


@serves(AlterShareGroupOffsetsRequest, versions=(0, 0), kips="KIP-932")
async def alter_share_group_offsets(
    request: AlterShareGroupOffsetsRequest, context: RequestContext
) -> AlterShareGroupOffsetsResponse:
    if not has_share_groups(context.broker.cluster):
        return _refused(Refused(ErrorCode.UNSUPPORTED_VERSION))
    denied = context.refuse_group(AclOperation.READ, request.group_id)
    if denied is not None:
        return _refused(denied)
    if not request.group_id:
        return _refused(INVALID_GROUP)
    hidden = {t.topic_name: context.refuse_topic(AclOperation.READ, t.topic_name) for t in request.topics}
    offsets = {
        TopicPartition(topic.topic_name, partition.partition_index): partition.start_offset
        for topic in request.topics
        if hidden[topic.topic_name] is None
        for partition in topic.partitions
    }
    if not offsets:
        return AlterShareGroupOffsetsResponse(
            responses=[_denied(topic, no) for topic in request.topics if (no := hidden[topic.topic_name])]
        )
    outcomes = await context.broker.share_groups.alter_offsets(GroupId(request.group_id), offsets)
    if isinstance(outcomes, Refused):
        return _refused(outcomes)
    return AlterShareGroupOffsetsResponse(
        responses=[
            _topic(topic, outcomes, context)
            if (no := hidden[topic.topic_name]) is None
            else _denied(topic, no)
            for topic in request.topics
        ]
    )


def _refused(refused: Refused) -> AlterShareGroupOffsetsResponse:
    return AlterShareGroupOffsetsResponse(error_code=refused.code, error_message=refused.message)


def _denied(
    asked: AlterShareGroupOffsetsRequestTopic, refused: Refused
) -> AlterShareGroupOffsetsResponseTopic:
    return AlterShareGroupOffsetsResponseTopic(
        topic_name=asked.topic_name,
        partitions=[_partition(p.partition_index, refused) for p in asked.partitions],
    )


def _topic(
    asked: AlterShareGroupOffsetsRequestTopic,
    outcomes: dict[TopicPartition, Refused | None],
    context: RequestContext,
) -> AlterShareGroupOffsetsResponseTopic:
    topic = context.broker.cluster.topic(asked.topic_name)
    return AlterShareGroupOffsetsResponseTopic(
        topic_name=asked.topic_name,
        topic_id=ZERO_UUID if topic is None else topic.topic_id,
        partitions=[
            _partition(p.partition_index, outcomes[TopicPartition(asked.topic_name, p.partition_index)])
            for p in asked.partitions
        ],
    )


def _partition(index: int, refused: Refused | None) -> AlterShareGroupOffsetsResponsePartition:
    if refused is None:
        return AlterShareGroupOffsetsResponsePartition(partition_index=index)
    is_unknown = refused.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return AlterShareGroupOffsetsResponsePartition(
        partition_index=index,
        error_code=refused.code,
        error_message=refused.message or (UNKNOWN if is_unknown else None),
    )
