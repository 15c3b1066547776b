"""CreatePartitions (key 37), versions 0 to 3: more partitions for topics that exist, each on its own merits.

- Needs leave to ALTER each topic.
- The count is the new total and must be a rise; a placement by hand names one replica list a new partition.
- A topic that comes twice is INVALID_REQUEST; an unknown one UNKNOWN_TOPIC_OR_PARTITION.
- More than `max.partitions` in all are refused, and any while the client owes partitions to its quota (v3, KIP-599).
- More than 10,000 new partitions in one request are POLICY_VIOLATION. Apache Kafka 4.3 answers such a request with
  UNKNOWN_SERVER_ERROR, and may make them all the same.
"""

from __future__ import annotations

from collections import Counter

from leaselog.broker.cluster.cluster import MorePartitions
from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import AclOperation, ErrorCode, Refused
from leaselog.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

#: refusals for the quota are understood
STRICT_SINCE = 3


@serves(CreatePartitionsRequest, versions=(0, 3), kips="KIP-195, 599")
async def create_partitions(
    request: CreatePartitionsRequest, context: RequestContext
) -> CreatePartitionsResponse:
    mentions = Counter(topic.name for topic in request.topics)
    once = [topic for topic in request.topics if mentions[topic.name] == 1]
    denied = {t.name: no for t in once if (no := context.refuse_topic(AclOperation.ALTER, t.name))}
    wishes = [_wish(topic) for topic in once if topic.name not in denied]
    allowance = context.mutations(is_strict=context.version >= STRICT_SINCE)
    answers = await context.broker.cluster.create_partitions(
        wishes, validate_only=request.validate_only, allowance=allowance
    )
    context.throttle_ms = allowance.throttle_ms
    results = [
        CreatePartitionsTopicResult(name=wish.topic, error_code=answer.code, error_message=answer.message)
        if isinstance(answer, Refused)
        else CreatePartitionsTopicResult(name=wish.topic)
        for wish, answer in zip(wishes, answers, strict=True)
    ]
    results += [
        CreatePartitionsTopicResult(name=name, error_code=refused.code, error_message=refused.message)
        for name, refused in denied.items()
    ]
    results += [
        CreatePartitionsTopicResult(
            name=name, error_code=ErrorCode.INVALID_REQUEST, error_message="Duplicate topic name."
        )
        for name, count in mentions.items()
        if count > 1
    ]
    return CreatePartitionsResponse(throttle_time_ms=context.throttle_ms, results=results)


def _wish(topic: CreatePartitionsTopic) -> MorePartitions:
    by_hand = topic.assignments
    return MorePartitions(
        topic.name, topic.count, None if by_hand is None else tuple(a.broker_ids for a in by_hand)
    )
