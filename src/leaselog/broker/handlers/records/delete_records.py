"""DeleteRecords (key 21), versions 0 to 2: a log made to begin later; what lies before is never read again.

- Needs leave to DELETE each topic.
- -1 means the high watermark; past it, or any other negative number, is OFFSET_OUT_OF_RANGE. An offset before the
  beginning changes nothing and is no error.
- Internal topics are INVALID_TOPIC_EXCEPTION; a topic that is compacted and nothing else is POLICY_VIOLATION.
- The new beginning is on disk before the answer. Apache Kafka writes it down once a minute, and may forget it.
"""

from __future__ import annotations

from leaselog.broker.cluster.cluster import is_internal
from leaselog.broker.cluster.partition_lookup import find_partition
from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import AclOperation, ErrorCode, Refused
from leaselog.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

HIGH_WATERMARK = -1


@serves(DeleteRecordsRequest, versions=(0, 2), kips="KIP-107, 204")
async def delete_records(request: DeleteRecordsRequest, context: RequestContext) -> DeleteRecordsResponse:
    response = DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    await _delete(topic.name, wish, context)
                    async for wish in context.broker.turns.each(topic.partitions)
                ],
            )
            async for topic in context.broker.turns.each(request.topics)
        ]
    )
    done = [p for topic in response.topics for p in topic.partitions if not p.error_code]
    if done:
        try:
            context.broker.logs.checkpoint_starts()
        except OSError:
            for result in done:
                result.error_code, result.low_watermark = ErrorCode.KAFKA_STORAGE_ERROR, -1
    return response


async def _delete(
    topic: str, wish: DeleteRecordsPartition, context: RequestContext
) -> DeleteRecordsPartitionResult:
    outcome = await _move_start(topic, wish, context)
    if isinstance(outcome, ErrorCode):
        return DeleteRecordsPartitionResult(
            partition_index=wish.partition_index, low_watermark=-1, error_code=outcome
        )
    return DeleteRecordsPartitionResult(partition_index=wish.partition_index, low_watermark=outcome)


async def _move_start(topic: str, wish: DeleteRecordsPartition, context: RequestContext) -> int | ErrorCode:
    denied = context.refuse_topic(AclOperation.DELETE, topic)
    if denied is not None:
        return denied.code
    if is_internal(topic):
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    partition = find_partition(context.broker, topic, wish.partition_index)
    if isinstance(partition, ErrorCode):
        return partition
    log = partition.log
    if log.config.is_compacted and not log.config.deletes_old:
        return ErrorCode.POLICY_VIOLATION
    before = log.high_watermark if wish.offset == HIGH_WATERMARK else wish.offset
    if log.start_offset < before <= log.high_watermark:
        if not await context.broker.logs.make_way(partition, before):
            return ErrorCode.KAFKA_STORAGE_ERROR
        if partition.is_deleted:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if partition.is_replaced:  # the log that took its place would begin where this one did
            return ErrorCode.KAFKA_STORAGE_ERROR
    outcome = log.delete_records(before)
    partition.begins_later()
    return outcome.code if isinstance(outcome, Refused) else outcome
