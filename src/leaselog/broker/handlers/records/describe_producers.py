"""DescribeProducers (key 61), version 0: who writes to a partition, as far as its log remembers (KIP-664).

- Needs leave to READ each topic.
"""

from __future__ import annotations

from leaselog.broker.cluster.cluster import refuse_topic_name
from leaselog.broker.cluster.partition_lookup import find_partition
from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import AclOperation, ErrorCode
from leaselog.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

NO_TOPIC = "This server does not host this topic-partition."


@serves(DescribeProducersRequest, versions=(0, 0), kips="KIP-664")
async def describe_producers(
    request: DescribeProducersRequest, context: RequestContext
) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[
                    _described(topic.name, index, context)
                    async for index in context.broker.turns.each(topic.partition_indexes)
                ],
            )
            async for topic in context.broker.turns.each(request.topics)
        ]
    )


def _described(topic: str, index: int, context: RequestContext) -> PartitionResponse:
    answer = PartitionResponse(partition_index=index)
    refused = refuse_topic_name(topic) or context.refuse_topic(AclOperation.READ, topic)
    if refused is not None:
        answer.error_code, answer.error_message = refused.code, refused.message
        return answer
    partition = find_partition(context.broker, topic, index)
    if isinstance(partition, ErrorCode):
        answer.error_code = partition
        answer.error_message = None if context.broker.cluster.topic(topic) else NO_TOPIC
        return answer
    answer.active_producers = [
        ProducerState(
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            last_sequence=producer.last_sequence,
            last_timestamp=producer.last_timestamp_ms,
            coordinator_epoch=producer.coordinator_epoch,
            current_txn_start_offset=producer.transaction_start,
        )
        for producer in partition.log.producers()
    ]
    return answer
