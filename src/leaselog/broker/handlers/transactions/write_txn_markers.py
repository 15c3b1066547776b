"""WriteTxnMarkers (key 27), versions 1 and 2: markers from outside, for transactions that nobody ends any more.

- Needs leave to ALTER the cluster, or to act for it.
- Kafka's brokers ask each other so; here an administrator does, who has found a transaction that hangs
  (`kafka-transactions --abort`). The answer comes when the marker is safe.
- Each partition is answered for itself: one that does not exist is UNKNOWN_TOPIC_OR_PARTITION, one whose producer has
  a newer epoch INVALID_PRODUCER_EPOCH, one that has heard of a newer coordinator TRANSACTION_COORDINATOR_FENCED.
"""

from __future__ import annotations

from leaselog.broker.coordinators.markers import Marker
from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import AclOperation, ProducerId, Refused, TopicPartition
from leaselog.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)


@serves(WriteTxnMarkersRequest, versions=(1, 2), kips="KIP-98, 890")
async def write_txn_markers(
    request: WriteTxnMarkersRequest, context: RequestContext
) -> WriteTxnMarkersResponse:
    may_alter = context.may_cluster(AclOperation.ALTER, is_probe=True)
    denied = None if may_alter else context.refuse_cluster(AclOperation.CLUSTER_ACTION)
    if denied is not None:
        return WriteTxnMarkersResponse(markers=[_denied(asked, denied) for asked in request.markers])
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(producer_id=asked.producer_id, topics=await _write(asked, context))
            async for asked in context.broker.turns.each(request.markers)
        ]
    )


def _denied(asked: WritableTxnMarker, refused: Refused) -> WritableTxnMarkerResult:
    return WritableTxnMarkerResult(
        producer_id=asked.producer_id,
        topics=[
            WritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=[
                    WritableTxnMarkerPartitionResult(partition_index=index, error_code=refused.code)
                    for index in topic.partition_indexes
                ],
            )
            for topic in asked.topics
        ],
    )


async def _write(asked: WritableTxnMarker, context: RequestContext) -> list[WritableTxnMarkerTopicResult]:
    marker = Marker(
        ProducerId(asked.producer_id),
        asked.producer_epoch,
        asked.transaction_result,
        asked.coordinator_epoch,
        asked.transaction_version,
    )
    each = context.broker.turns.each
    places: list[TopicPartition] = []
    async for topic in each(asked.topics):
        places += [TopicPartition(topic.name, index) async for index in each(topic.partition_indexes)]
    write = context.broker.transactions.markers.write
    codes = iter(await context.broker.turns.gather(write(place, marker) for place in places))
    return [
        WritableTxnMarkerTopicResult(
            name=topic.name,
            partitions=[
                WritableTxnMarkerPartitionResult(partition_index=index, error_code=next(codes))
                async for index in each(topic.partition_indexes)
            ],
        )
        async for topic in each(asked.topics)
    ]
