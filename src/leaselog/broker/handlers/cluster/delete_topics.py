"""DeleteTopics (key 20), versions 1 to 6: topics taken away by name or (v6, KIP-516) by id.

- Needs leave to DELETE topics of the cluster, or each of these; whoever may not DESCRIBE a topic either
  does not learn of its name, or its id, or whether there is any.
- Gone when the answer comes: producers and waiting fetches are told UNKNOWN_TOPIC_OR_PARTITION (or _ID) at once;
  the files follow after `file.delete.delay.ms`.
- A name or id that comes twice, both at once or neither are INVALID_REQUEST for those entries alone.
- `delete.topic.enable=false` refuses everything: TOPIC_DELETION_DISABLED, before v3 INVALID_REQUEST.
- While the client owes partitions to its quota, each topic is refused (v5, KIP-599).
- Error messages since v5.
"""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from leaselog.broker.cluster.cluster import Cluster, Topic
from leaselog.broker.net.api import NOT_THE_TOPIC, RequestContext, serves
from leaselog.model import ZERO_UUID, AclOperation, AclResourceType, ErrorCode, Refused, TopicId
from leaselog.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)

NO_TOPIC = "This server does not host this topic-partition."
NO_ID = "This server does not host this topic ID."

#: refusals for the quota are understood
STRICT_SINCE = 5


@serves(DeleteTopicsRequest, versions=(1, 6), kips="KIP-4, 322, 516, 599")
async def delete_topics(request: DeleteTopicsRequest, context: RequestContext) -> DeleteTopicsResponse:
    asked = [(topic.name, topic.topic_id) for topic in request.topics]
    asked += [(name, ZERO_UUID) for name in request.topic_names]
    broker = context.broker
    if not broker.config.delete_topic_enable:
        code = ErrorCode.TOPIC_DELETION_DISABLED if context.version >= 3 else ErrorCode.INVALID_REQUEST
        return DeleteTopicsResponse(
            responses=[_refused(name, id, Refused(code, "Topic deletion is disabled.")) for name, id in asked]
        )
    results, doomed = await _sort_out(asked, context)
    allowance = context.mutations(is_strict=context.version >= STRICT_SINCE)
    answers = await broker.cluster.delete_topics([t.topic_id for t in doomed], allowance)
    context.throttle_ms = allowance.throttle_ms
    for topic, answer in zip(doomed, answers, strict=True):
        if isinstance(answer, Refused):
            results.append(_refused(topic.name, topic.topic_id, answer))
        else:
            results.append(DeletableTopicResult(name=topic.name, topic_id=topic.topic_id))
    return DeleteTopicsResponse(throttle_time_ms=context.throttle_ms, responses=results)


async def _sort_out(
    asked: list[tuple[str | None, UUID]], context: RequestContext
) -> tuple[list[DeletableTopicResult], list[Topic]]:
    """Refusals for what cannot be deleted, and the topics that can, each once."""
    names = Counter(name for name, id in asked if name is not None and id == ZERO_UUID)
    ids = Counter(id for name, id in asked if name is None and id != ZERO_UUID)
    may_all = context.may_cluster(AclOperation.DELETE, is_probe=True)
    refused: dict[tuple[str | None, UUID], DeletableTopicResult] = {}
    doomed: dict[TopicId, Topic] = {}
    async for name, id in context.broker.turns.each(asked):
        found = _find(name, id, names, ids, context.broker.cluster)
        denied = None if may_all else _deny(name, id, found, context)
        if denied is not None:
            refused[name, id] = denied
            continue
        if isinstance(found, Refused):
            refused[name, id] = _refused(name, id, found)
        elif found.topic_id in doomed:
            # Once by name and once by id: Kafka refuses the name.
            again = Refused(
                ErrorCode.INVALID_REQUEST, "The provided topic name maps to an ID that was already supplied."
            )
            refused[found.name, ZERO_UUID] = _refused(found.name, ZERO_UUID, again)
        else:
            doomed[found.topic_id] = found
    return list(refused.values()), list(doomed.values())


def _deny(
    name: str | None, id: UUID, found: Topic | Refused, context: RequestContext
) -> DeletableTopicResult | None:
    """What a client is told of a topic that it may not delete; nothing of one that is not well named."""
    if isinstance(found, Refused) and found.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return None
    real_name = name if isinstance(found, Refused) else found.name
    assert real_name is not None, "an id that nobody has is UNKNOWN_TOPIC_ID"
    may_see = context.may(AclOperation.DESCRIBE, AclResourceType.TOPIC, real_name)
    if may_see and isinstance(found, Refused):
        return None
    # By its name it has to be seen, too: a denial of DESCRIBE alone would else tell that there is one.
    may_delete = context.may(AclOperation.DELETE, AclResourceType.TOPIC, real_name)
    if may_delete and (may_see or name is None):
        return None
    if name is None and may_see:
        name = real_name
    return _refused(name, id, NOT_THE_TOPIC)


def _find(
    name: str | None, id: UUID, names: Counter[str], ids: Counter[UUID], cluster: Cluster
) -> Topic | Refused:
    if name is None and id == ZERO_UUID:
        return Refused(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
    if name is not None and id != ZERO_UUID:
        return Refused(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
    if name is not None:
        if names[name] > 1:
            return Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        return cluster.topic(name) or Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NO_TOPIC)
    if ids[id] > 1:
        return Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic id.")
    return cluster.topic_by_id(id) or Refused(ErrorCode.UNKNOWN_TOPIC_ID, NO_ID)


def _refused(name: str | None, id: UUID, refused: Refused) -> DeletableTopicResult:
    return DeletableTopicResult(
        name=name, topic_id=id, error_code=refused.code, error_message=refused.message
    )
