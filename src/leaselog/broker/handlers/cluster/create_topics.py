"""CreateTopics (key 19), versions 2 to 7: topics made with counts or a placement by hand, each on its own merits.

- Needs leave to CREATE topics of the cluster, or each of these; their configs are told to those who may
  DESCRIBE_CONFIGS of them.
- A name that comes twice is refused for all its mentions; the other topics go on.
- More than 10,000 partitions in one request refuse all of it (POLICY_VIOLATION, as in Kafka).
- Nor may there be more than `max.partitions`, nor any while the client owes partitions to its quota (v6, KIP-599).
- -1 for a count means the broker's default; from v4 for both, before that Kafka takes it all the same.
- The answer holds the topic's id (v7), its counts and its configs (v5), also for `validate_only`.
- The answer waits until the topics are safe, whatever `timeout_ms` says: it is a matter of one sync.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from leaselog.broker.cluster.cluster import CreatedTopic, NewTopic
from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.cluster_names import CLUSTER_METADATA_TOPIC
from leaselog.model import AclOperation, AclResourceType, ErrorCode, Refused
from leaselog.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

NOT_ALLOWED = Refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
#: refusals for the quota are understood
STRICT_SINCE = 6


@serves(CreateTopicsRequest, versions=(2, 7), kips="KIP-4, 464, 516, 525, 599")
async def create_topics(request: CreateTopicsRequest, context: RequestContext) -> CreateTopicsResponse:
    mentions = Counter(topic.name for topic in request.topics)
    once = [topic for topic in request.topics if mentions[topic.name] == 1]
    allowed = await _allowed(once, context)
    wishes = [_wish(topic) for topic in once if topic.name in allowed]
    allowance = context.mutations(is_strict=context.version >= STRICT_SINCE)
    answers = await context.broker.cluster.create_topics(
        wishes, validate_only=request.validate_only, allowance=allowance
    )
    context.throttle_ms = allowance.throttle_ms
    results = [_result(wish.name, answer, context) for wish, answer in zip(wishes, answers, strict=True)]
    results += [
        CreatableTopicResult(name=topic.name, error_code=NOT_ALLOWED.code, error_message=NOT_ALLOWED.message)
        for topic in once
        if topic.name not in allowed
    ]
    results += [_duplicate(name) for name, count in mentions.items() if count > 1]
    return CreateTopicsResponse(throttle_time_ms=context.throttle_ms, topics=results)


async def _allowed(wanted: Sequence[CreatableTopic], context: RequestContext) -> set[str]:
    """The names of those that the client may create. Whether the cluster's own log is one, its name says."""
    if context.may_cluster(AclOperation.CREATE, is_probe=True):
        return {topic.name for topic in wanted}
    return {
        topic.name
        async for topic in context.broker.turns.each(wanted)
        if topic.name == CLUSTER_METADATA_TOPIC
        or context.may(AclOperation.CREATE, AclResourceType.TOPIC, topic.name)
    }


def _wish(topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        name=topic.name,
        partition_count=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=tuple((a.partition_index, a.broker_ids) for a in topic.assignments),
        configs=tuple((config.name, config.value) for config in topic.configs),
    )


def _duplicate(name: str) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=name, error_code=ErrorCode.INVALID_REQUEST, error_message="Duplicate topic name."
    )


def _result(name: str, answer: CreatedTopic | Refused, context: RequestContext) -> CreatableTopicResult:
    if isinstance(answer, Refused):
        return CreatableTopicResult(name=name, error_code=answer.code, error_message=answer.message)
    if not context.may(AclOperation.DESCRIBE_CONFIGS, AclResourceType.TOPIC, name, is_probe=True):
        return CreatableTopicResult(
            name=name,
            topic_id=answer.topic.topic_id,
            error_message=None,
            topic_config_error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            configs=None,
        )
    return CreatableTopicResult(
        name=name,
        topic_id=answer.topic.topic_id,
        error_message=None,
        num_partitions=answer.topic.partition_count,
        replication_factor=answer.replication_factor,
        configs=[
            CreatableTopicConfigs(
                name=entry.name,
                value=entry.value,
                read_only=entry.is_read_only,
                config_source=entry.source,
                is_sensitive=entry.is_sensitive,
            )
            for entry in answer.configs
        ],
    )
