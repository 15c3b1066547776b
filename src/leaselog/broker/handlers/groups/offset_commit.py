"""OffsetCommit (key 8), versions 2 to 10: how far a group has come.

- Topics by name up to v9, by id from v10 (KIP-848); each partition is answered for itself. One that does not exist
  is UNKNOWN_TOPIC_OR_PARTITION (an id: UNKNOWN_TOPIC_ID) and the others are committed.
- Needs leave to READ the group and each topic.
- A negative generation commits for a group that manages itself; it must have no members.
- v2 to v4 carry their own retention. v7 adds the instance id (KIP-345). An unknown group with a generation is
  ILLEGAL_GENERATION up to v8, GROUP_ID_NOT_FOUND since.
"""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.group_commands import CommitOffsets, OffsetToCommit, PartitionCodes, Token
from leaselog.model import AclOperation, ErrorCode, GroupId, MemberId, Refused, TopicId, TopicPartition
from leaselog.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

GROUP_ID_NOT_FOUND_SINCE = 9
IDS_SINCE = 10


@serves(OffsetCommitRequest, versions=(2, 10), kips="KIP-211, 320, 345, 848")
async def offset_commit(request: OffsetCommitRequest, context: RequestContext) -> OffsetCommitResponse:
    denied = context.refuse_group(AclOperation.READ, request.group_id)
    if denied is not None:
        return OffsetCommitResponse(topics=[_denied(topic, denied) for topic in request.topics])
    topics: list[OffsetCommitResponseTopic] = []
    offsets: list[OffsetToCommit] = []
    #: the answers of ``offsets``, in the same order
    wanted: list[OffsetCommitResponsePartition] = []
    async for topic in context.broker.turns.each(request.topics):
        answers = [OffsetCommitResponsePartition(partition_index=p.partition_index) for p in topic.partitions]
        topics.append(OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=answers))
        name, topic_id, unknown = _resolve(topic, context)
        async for asked, answer in context.broker.turns.each(zip(topic.partitions, answers, strict=True)):
            if name is None or context.broker.logs.partition(name, asked.partition_index) is None:
                answer.error_code = unknown
            else:
                offsets.append(_offset(name, topic_id, asked))
                wanted.append(answer)
    if offsets:
        for answer, code in zip(wanted, await _commit(request, tuple(offsets), context), strict=True):
            answer.error_code = code
    return OffsetCommitResponse(topics=topics)


def _denied(topic: OffsetCommitRequestTopic, refused: Refused) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetCommitResponsePartition(partition_index=p.partition_index, error_code=refused.code)
            for p in topic.partitions
        ],
    )


def _resolve(
    topic: OffsetCommitRequestTopic, context: RequestContext
) -> tuple[str | None, TopicId, ErrorCode]:
    """The topic's name and id, and the error for partitions that it does not have."""
    broker = context.broker
    by_id = context.version >= IDS_SINCE
    name = broker.cluster.topic_name_of(topic.topic_id) if by_id else topic.name
    refused = None if name is None else context.refuse_topic(AclOperation.READ, name)
    if refused is not None:
        return None, TopicId(topic.topic_id), refused.code
    found = None if name is None else broker.logs.topic(name)
    if found is None:
        unknown = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return None, TopicId(topic.topic_id), unknown
    return name, found.id, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _offset(name: str, topic_id: TopicId, asked: OffsetCommitRequestPartition) -> OffsetToCommit:
    return OffsetToCommit(
        partition=TopicPartition(name, asked.partition_index),
        offset=asked.committed_offset,
        leader_epoch=asked.committed_leader_epoch,
        metadata=asked.committed_metadata or "",
        topic_id=topic_id,
    )


async def _commit(
    request: OffsetCommitRequest, offsets: tuple[OffsetToCommit, ...], context: RequestContext
) -> tuple[ErrorCode, ...]:
    def command(token: Token) -> CommitOffsets:
        return CommitOffsets(
            token=token,
            group_id=GroupId(request.group_id),
            member_id=MemberId(request.member_id),
            instance_id=request.group_instance_id,
            generation=request.generation_id_or_member_epoch,
            offsets=offsets,
            retention_ms=request.retention_time_ms,
            knows_group_id_not_found=context.version >= GROUP_ID_NOT_FOUND_SINCE,
        )

    answer = await context.broker.groups.ask(GroupId(request.group_id), command, PartitionCodes)
    return (answer.code,) * len(offsets) if isinstance(answer, Refused) else answer.codes
