"""OffsetFetch (key 9), versions 1 to 10: how far groups have come.

- One group up to v7, several from v8 (KIP-709); null topics (from v2) ask for all that a group has.
- Topics by name up to v9, by id from v10 (KIP-848). An unknown id is UNKNOWN_TOPIC_ID for its partitions; an unknown
  name just has no offset, which is -1 and no error. So does an unknown group.
- Needs leave to DESCRIBE each group, and each topic that is named; of all that a group has, other topics are left out.
- With `require_stable` (v7, KIP-447) a partition is UNSTABLE_OFFSET_COMMIT, with no offset, while a transaction is open
  that has one for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.group_commands import FetchedOffsets, FetchOffsets, Token
from leaselog.coordination.group_facts import CommittedOffset
from leaselog.model import (
    AclOperation,
    AclResourceType,
    ErrorCode,
    GroupId,
    MemberId,
    Refused,
    TopicId,
    TopicPartition,
)
from leaselog.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

GROUP_ERROR_SINCE = 2
GROUPS_SINCE = 8
IDS_SINCE = 10

NONE_COMMITTED = CommittedOffset(-1)
UNSTABLE = ErrorCode.UNSTABLE_OFFSET_COMMIT


@serves(OffsetFetchRequest, versions=(1, 10), kips="KIP-320, 447, 709, 848")
async def offset_fetch(request: OffsetFetchRequest, context: RequestContext) -> OffsetFetchResponse:
    if context.version < GROUPS_SINCE:
        return await _fetch_one(request, context)
    stable = request.require_stable
    groups = await context.broker.turns.gather(_fetch(group, stable, context) for group in request.groups)
    return OffsetFetchResponse(groups=groups)


async def _fetch_one(request: OffsetFetchRequest, context: RequestContext) -> OffsetFetchResponse:
    """The old shape of the answer, which v1 cannot even tell an error of the group."""
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    only = OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)
    found = await _fetch(only, request.require_stable, context)
    if found.error_code and context.version < GROUP_ERROR_SINCE:
        found.topics = [
            _topic(topic, [_partition(i, NONE_COMMITTED, found.error_code) for i in topic.partition_indexes])
            for topic in topics or ()
        ]
    return OffsetFetchResponse(
        error_code=found.error_code,
        topics=[
            OffsetFetchResponseTopic(name=topic.name, partitions=[_old_shape(p) for p in topic.partitions])
            for topic in found.topics
        ],
    )


def _old_shape(partition: OffsetFetchResponsePartitions) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(
        partition_index=partition.partition_index,
        committed_offset=partition.committed_offset,
        committed_leader_epoch=partition.committed_leader_epoch,
        metadata=partition.metadata,
        error_code=partition.error_code,
    )


async def _fetch(
    group: OffsetFetchRequestGroup, require_stable: bool, context: RequestContext
) -> OffsetFetchResponseGroup:
    refused = context.refuse_group(AclOperation.DESCRIBE, group.group_id)
    if refused is not None:
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=refused.code)
    topics = None if group.topics is None else [(t, _name(t, context)) for t in group.topics]
    denied = {n: no for _, n in topics or () if n and (no := context.refuse_topic(AclOperation.DESCRIBE, n))}
    hidden = [(topic, denied[name]) for topic, name in topics or () if name in denied]
    if topics is not None:
        topics = [(topic, name) for topic, name in topics if name not in denied]
    partitions = None if topics is None else _asked(topics)

    def command(token: Token) -> FetchOffsets:
        member_id = None if group.member_id is None else MemberId(group.member_id)
        return FetchOffsets(
            token, GroupId(group.group_id), partitions, require_stable, member_id, group.member_epoch
        )

    answer = await context.broker.groups.ask(GroupId(group.group_id), command, FetchedOffsets)
    if isinstance(answer, Refused):
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=answer.code)
    if topics is None:
        return OffsetFetchResponseGroup(group_id=group.group_id, topics=_all(answer, context))
    found = {place: None if place in answer.unstable else committed for place, committed in answer.offsets}
    topics.sort(key=lambda named: named[1] is None)  # Kafka answers what it knows first
    return OffsetFetchResponseGroup(
        group_id=group.group_id,
        topics=[
            await _answered(topic, name, found, answer.unstable, context)
            async for topic, name in context.broker.turns.each(topics)
        ]
        + [
            _topic(topic, [_partition(i, NONE_COMMITTED, no.code) for i in topic.partition_indexes])
            for topic, no in hidden
        ],
    )


def _name(topic: OffsetFetchRequestTopics, context: RequestContext) -> str | None:
    by_id = context.version >= IDS_SINCE
    return context.broker.cluster.topic_name_of(topic.topic_id) if by_id else topic.name


def _asked(
    topics: Sequence[tuple[OffsetFetchRequestTopics, str | None]],
) -> tuple[tuple[TopicPartition, TopicId], ...]:
    return tuple(
        (TopicPartition(name, index), TopicId(topic.topic_id))
        for topic, name in topics
        if name is not None
        for index in topic.partition_indexes
    )


async def _answered(
    topic: OffsetFetchRequestTopics,
    name: str | None,
    found: dict[TopicPartition, CommittedOffset | None],
    unstable: frozenset[TopicPartition],
    context: RequestContext,
) -> OffsetFetchResponseTopics:
    if name is None:
        unknown = ErrorCode.UNKNOWN_TOPIC_ID
        return _topic(topic, [_partition(i, NONE_COMMITTED, unknown) for i in topic.partition_indexes])
    return _topic(
        topic,
        [
            _partition(index, found[place] or NONE_COMMITTED, UNSTABLE if place in unstable else 0)
            async for index in context.broker.turns.each(topic.partition_indexes)
            for place in (TopicPartition(name, index),)
        ],
    )


def _all(answer: FetchedOffsets, context: RequestContext) -> list[OffsetFetchResponseTopics]:
    """Everything the group has, but from v10 on only of topics that still are."""
    topics: dict[str, list[OffsetFetchResponsePartitions]] = {}
    for partition, committed in answer.offsets:
        if committed is not None and context.may(
            AclOperation.DESCRIBE, AclResourceType.TOPIC, partition.topic, is_probe=True
        ):
            answers = topics.setdefault(partition.topic, [])
            is_unstable = partition in answer.unstable
            told = NONE_COMMITTED if is_unstable else committed
            answers.append(_partition(partition.partition, told, UNSTABLE if is_unstable else 0))
    if context.version < IDS_SINCE:
        return [OffsetFetchResponseTopics(name=name, partitions=found) for name, found in topics.items()]
    logs = context.broker.logs
    return [
        OffsetFetchResponseTopics(topic_id=topic.id, partitions=found)
        for name, found in topics.items()
        if (topic := logs.topic(name)) is not None
    ]


def _topic(
    topic: OffsetFetchRequestTopics, partitions: list[OffsetFetchResponsePartitions]
) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(name=topic.name, topic_id=topic.topic_id, partitions=partitions)


def _partition(index: int, committed: CommittedOffset, code: int = 0) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        error_code=code,
    )
