"""Metadata (key 3), versions 0 to 13: the brokers, and topics with their partitions and leaders.

- v0: an empty list means all topics; from v1 null does, and an empty list means none.
- By id from v10 (KIP-516), answered from v12: v10 and v11 refuse the whole request, as Apache Kafka does. A request
  with any id is about ids; topics it names are passed over.
- A missing topic is made if the client (v4) and `auto.create.topics.enable` allow it. It is answered at once with its
  partitions, where Kafka first says UNKNOWN_TOPIC_OR_PARTITION and lets the client ask again. That is what is said
  beyond a thousand of them, beyond `max.partitions`, and while the client owes partitions to its quota (KIP-599).
- Without permission to make it, UNKNOWN_TOPIC_OR_PARTITION; a name no topic can have is INVALID_TOPIC_EXCEPTION.
- A partition whose log could not be opened has no leader: LEADER_NOT_AVAILABLE.
- Authorized operations (v8) are everything when asked for; INT_MIN otherwise. The cluster's went away with v11.
"""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.broker.cluster.cluster import Topic, is_internal, refuse_topic_name
from leaselog.broker.handlers.authorized_operations import (
    ALL_CLUSTER_OPERATIONS,
    ALL_TOPIC_OPERATIONS,
    NOT_ASKED,
)
from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import ZERO_UUID, ErrorCode, Refused
from leaselog.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

IDS_SINCE = 12
#: topics that one request makes; those beyond it are unknown, and the client asks again
MAX_MADE = 1_000


@serves(MetadataRequest, versions=(0, 13), kips="KIP-4, 320, 430, 516, 700, 1102")
async def metadata(request: MetadataRequest, context: RequestContext) -> MetadataResponse:
    asked = request.topics
    if asked is not None and not _is_well_formed(asked, context.version):
        return MetadataResponse(
            topics=[
                MetadataResponseTopic(
                    error_code=ErrorCode.INVALID_REQUEST, name=topic.name or "", topic_id=topic.topic_id
                )
                for topic in asked
            ],
            error_code=ErrorCode.INVALID_REQUEST,
        )
    cluster, here = context.broker.cluster, context.address
    response = MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=cluster.node_id, host=here.host, port=here.port, rack=cluster.rack)
        ],
        cluster_id=cluster.cluster_id,
        controller_id=cluster.node_id,
        topics=await _topics(request, context),
    )
    response.throttle_time_ms = context.throttle_ms
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = ALL_CLUSTER_OPERATIONS
    return response


def _is_well_formed(asked: Sequence[MetadataRequestTopic], version: int) -> bool:
    if version < IDS_SINCE:
        return all(topic.name is not None and topic.topic_id == ZERO_UUID for topic in asked)
    return all(topic.name is not None or topic.topic_id != ZERO_UUID for topic in asked)


async def _topics(request: MetadataRequest, context: RequestContext) -> list[MetadataResponseTopic]:
    cluster = context.broker.cluster
    asked, operations = request.topics, NOT_ASKED
    if request.include_topic_authorized_operations:
        operations = ALL_TOPIC_OPERATIONS
    if asked is None or (context.version == 0 and not asked):
        return [
            await _described(topic, operations, context)
            async for topic in context.broker.turns.each(list(cluster.topics()))
        ]
    ids = dict.fromkeys(topic.topic_id for topic in asked if topic.topic_id != ZERO_UUID)
    if ids:
        return [
            MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
            if (topic := cluster.topic_by_id(topic_id)) is None
            else await _described(topic, operations, context)
            async for topic_id in context.broker.turns.each(ids)
        ]
    may_make = request.allow_auto_topic_creation and context.broker.config.auto_create_topics_enable
    missing = await _make(asked, context) if may_make else {}
    answers = []
    async for name in context.broker.turns.each(dict.fromkeys(topic.name or "" for topic in asked)):
        found = cluster.topic(name) or missing.get(name) or _missing(name)
        if isinstance(found, Topic):
            answers.append(await _described(found, operations, context))
        else:
            answers.append(_unknown(name, found, operations))
    return answers


async def _make(asked: Sequence[MetadataRequestTopic], context: RequestContext) -> dict[str, Topic | Refused]:
    """Makes what is missing of the topics, a hundred to a write, as far as the client's quota goes."""
    cluster = context.broker.cluster
    wanted = [
        topic.name or ""
        async for topic in context.broker.turns.each(asked)
        if cluster.topic(topic.name or "") is None and refuse_topic_name(topic.name or "") is None
    ]
    if not wanted:
        return {}
    allowance = context.mutations(is_strict=True)
    made = await cluster.ensure_topics(wanted[:MAX_MADE], allowance)
    context.throttle_ms = allowance.throttle_ms
    return {name: _retriable(answer) for name, answer in made.items()}


def _retriable(answer: Topic | Refused) -> Topic | Refused:
    """Refusals in words that a client knows in an answer to this."""
    if not isinstance(answer, Refused):
        return answer
    if answer.code is ErrorCode.KAFKA_STORAGE_ERROR:
        return Refused(ErrorCode.LEADER_NOT_AVAILABLE)
    if answer.code in (ErrorCode.THROTTLING_QUOTA_EXCEEDED, ErrorCode.POLICY_VIOLATION):
        return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return answer


def _missing(name: str) -> Refused:
    """What to say of a topic that is not made now."""
    return refuse_topic_name(name) or Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _unknown(name: str, refused: Refused, operations: int) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=refused.code,
        name=name,
        is_internal=is_internal(name),
        topic_authorized_operations=operations,
    )


async def _described(topic: Topic, operations: int, context: RequestContext) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=is_internal(topic.name),
        partitions=[
            _partition(topic.name, index, context)
            async for index in context.broker.turns.each(range(topic.partition_count))
        ],
        topic_authorized_operations=operations,
    )


def _partition(topic: str, index: int, context: RequestContext) -> MetadataResponsePartition:
    broker = context.broker
    node = broker.cluster.node_id
    partition = broker.logs.partition(topic, index)
    if partition is None:
        return MetadataResponsePartition(
            error_code=ErrorCode.LEADER_NOT_AVAILABLE,
            partition_index=index,
            leader_id=-1,
            replica_nodes=[node],
            offline_replicas=[node],
        )
    return MetadataResponsePartition(
        partition_index=index,
        leader_id=node,
        leader_epoch=partition.leader_epoch,
        replica_nodes=[node],
        isr_nodes=[node],
    )
