"""Metadata (key 3), versions 0 to 13: the brokers, and topics with their partitions and leaders.

- v0: an empty list means all topics; from v1 null does, and an empty list means none.
- By id from v10 (KIP-516), answered from v12: v10 and v11 refuse the whole request, as Apache Kafka does. A request
  with any id is about ids; topics it names are passed over.
- A missing topic is made if the client (v4) and `auto.create.topics.enable` allow it. It is answered at once with its
  partitions, where Kafka first says UNKNOWN_TOPIC_OR_PARTITION and lets the client ask again. That is what is said
  beyond a thousand of them, beyond `max.partitions`, and while the client owes partitions to its quota (KIP-599).
- Needs leave to DESCRIBE each topic. Without it, a topic that is named, or whose id is, is TOPIC_AUTHORIZATION_FAILED,
  whether it exists or not; of all topics it is left out. Making one needs leave to CREATE topics of the
  cluster, or this one.
- Without permission to make it, UNKNOWN_TOPIC_OR_PARTITION; a name no topic can have is INVALID_TOPIC_EXCEPTION.
- A partition whose log could not be opened has no leader: LEADER_NOT_AVAILABLE.
- Authorized operations (v8), where asked for; INT_MIN otherwise. The cluster's, up to v10, are told to those who may
  DESCRIBE it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from leaselog.broker.cluster.cluster import Topic, is_internal, refuse_topic_name
from leaselog.broker.net.api import NOT_ASKED, RequestContext, serves
from leaselog.model import ZERO_UUID, AclOperation, AclResourceType, ErrorCode, Refused
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
        response.cluster_authorized_operations = context.cluster_operations()
    return response


def _is_well_formed(asked: Sequence[MetadataRequestTopic], version: int) -> bool:
    if version < IDS_SINCE:
        return all(topic.name is not None and topic.topic_id == ZERO_UUID for topic in asked)
    return all(topic.name is not None or topic.topic_id != ZERO_UUID for topic in asked)


async def _topics(request: MetadataRequest, context: RequestContext) -> list[MetadataResponseTopic]:
    asked, wants = request.topics, request.include_topic_authorized_operations
    if asked is None or (context.version == 0 and not asked):
        every = list(context.broker.cluster.topics())
        return [
            await _described(topic, wants, context)
            async for topic in context.broker.turns.each(every)
            if context.may(AclOperation.DESCRIBE, AclResourceType.TOPIC, topic.name, is_probe=True)
        ]
    ids = dict.fromkeys(topic.topic_id for topic in asked if topic.topic_id != ZERO_UUID)
    if ids:
        return [await _by_id(id, wants, context) async for id in context.broker.turns.each(ids)]
    return await _by_name(request, dict.fromkeys(topic.name or "" for topic in asked), context)


async def _by_id(topic_id: UUID, wants: bool, context: RequestContext) -> MetadataResponseTopic:
    topic = context.broker.cluster.topic_by_id(topic_id)
    if topic is None:
        return MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
    denied = context.refuse_topic(AclOperation.DESCRIBE, topic.name)
    if denied is not None:
        return MetadataResponseTopic(error_code=denied.code, name=None, topic_id=topic_id)
    return await _described(topic, wants, context)


async def _by_name(
    request: MetadataRequest, names: Iterable[str], context: RequestContext
) -> list[MetadataResponseTopic]:
    cluster, wants = context.broker.cluster, request.include_topic_authorized_operations
    denied = {n: no for n in names if (no := context.refuse_topic(AclOperation.DESCRIBE, n))}
    seen = [name for name in names if name not in denied]
    may_make = request.allow_auto_topic_creation and context.broker.config.auto_create_topics_enable
    missing = await _make(seen, context) if may_make else {}
    answers = []
    async for name in context.broker.turns.each(seen):
        found = cluster.topic(name) or missing.get(name) or _missing(name)
        if isinstance(found, Topic):
            answers.append(await _described(found, wants, context))
        else:
            answers.append(_unknown(name, found, wants, context))
    # Nothing is told of what is hidden, whether it exists or not.
    answers += [MetadataResponseTopic(error_code=no.code, name=name) for name, no in denied.items()]
    return answers


async def _make(names: Sequence[str], context: RequestContext) -> dict[str, Topic | Refused]:
    """Makes what is missing of the topics, a hundred to a write, as far as rights and the client's quota go."""
    cluster = context.broker.cluster
    wanted = [
        name
        async for name in context.broker.turns.each(names)
        if cluster.topic(name) is None and refuse_topic_name(name) is None
    ]
    denied: dict[str, Topic | Refused] = {}
    if wanted and not context.may_cluster(AclOperation.CREATE, is_probe=True):
        denied = {name: no for name in wanted if (no := context.refuse_topic(AclOperation.CREATE, name))}
        wanted = [name for name in wanted if name not in denied]
    if not wanted:
        return denied
    allowance = context.mutations(is_strict=True)
    made = await cluster.ensure_topics(wanted[:MAX_MADE], allowance)
    context.throttle_ms = allowance.throttle_ms
    return denied | {name: _retriable(answer) for name, answer in made.items()}


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


def _operations(name: str, wants: bool, context: RequestContext) -> int:
    return context.operations(AclResourceType.TOPIC, name) if wants else NOT_ASKED


def _unknown(name: str, refused: Refused, wants: bool, context: RequestContext) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=refused.code,
        name=name,
        is_internal=is_internal(name),
        topic_authorized_operations=_operations(name, wants, context),
    )


async def _described(topic: Topic, wants: bool, context: RequestContext) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=is_internal(topic.name),
        partitions=[
            _partition(topic.name, index, context)
            async for index in context.broker.turns.each(range(topic.partition_count))
        ],
        topic_authorized_operations=_operations(topic.name, wants, context),
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
