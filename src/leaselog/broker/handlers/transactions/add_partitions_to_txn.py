"""AddPartitionsToTxn (key 24), versions 0 to 5: partitions become part of a transaction before they are written.

- One transaction up to v3, which is how clients ask; several from v4 on, which is how Kafka's brokers ask each other,
  with a form that only verifies. Here it is served to whoever may.
- A partition that does not exist is UNKNOWN_TOPIC_OR_PARTITION, and then the others are OPERATION_NOT_ATTEMPTED: all or
  none are added. Verifying asks about each by itself.
- Up to v3 it needs leave to WRITE to the transactional id and each topic, from v4 on to act for the cluster.
- PRODUCER_FENCED is INVALID_PRODUCER_EPOCH up to v1.
- Clients since KIP-890 do not ask: Produce v12 adds what it writes to.
"""

from __future__ import annotations

from collections.abc import Iterable

from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.transaction_commands import (
    AddPartitions,
    PartitionsVerified,
    ProducerAnswer,
    ProducerEpoch,
    VerifyPartitions,
)
from leaselog.model import AclOperation, ErrorCode, ProducerId, Refused, TopicPartition, TransactionalId
from leaselog.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

PRODUCER_FENCED_SINCE = 2
BATCHES_SINCE = 4
RAISES_EPOCHS_SINCE = 5


@serves(AddPartitionsToTxnRequest, versions=(0, 5), kips="KIP-98, 588, 890")
async def add_partitions_to_txn(
    request: AddPartitionsToTxnRequest, context: RequestContext
) -> AddPartitionsToTxnResponse:
    if context.version >= BATCHES_SINCE:
        denied = context.refuse_cluster(AclOperation.CLUSTER_ACTION)
        if denied is not None:
            return AddPartitionsToTxnResponse(error_code=denied.code)
        return AddPartitionsToTxnResponse(
            results_by_transaction=[
                AddPartitionsToTxnResult(
                    transactional_id=asked.transactional_id, topic_results=await _answer(asked, context)
                )
                async for asked in context.broker.turns.each(request.transactions)
            ]
        )
    only = AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=await _answer(only, context))


async def _answer(
    asked: AddPartitionsToTxnTransaction, context: RequestContext
) -> list[AddPartitionsToTxnTopicResult]:
    each = context.broker.turns.each
    places: list[TopicPartition] = []
    async for topic in each(asked.topics):
        places += [TopicPartition(topic.name, index) async for index in each(topic.partitions)]
    hidden = await _hidden(asked, context) if context.version < BATCHES_SINCE else {}
    unknown = {
        place async for place in each(places) if place.topic not in hidden and not _exists(place, context)
    }
    if (unknown or hidden) and not asked.verify_only:
        others = ErrorCode.OPERATION_NOT_ATTEMPTED
        codes = {
            place: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if place in unknown
            else hidden.get(place.topic, others)
            async for place in each(places)
        }
        return await _results(asked.topics, codes, context)
    name = TransactionalId(asked.transactional_id)
    producer = ProducerEpoch(ProducerId(asked.producer_id), asked.producer_epoch)
    if asked.verify_only:
        codes = await _verify(name, producer, [place for place in places if place not in unknown], context)
        codes |= dict.fromkeys(unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    else:
        version = 2 if context.version >= RAISES_EPOCHS_SINCE else 0
        command = AddPartitions(name, producer, frozenset(places), version)
        answer = await context.broker.transactions.ask(name, command, ProducerAnswer)
        code = _told(answer.code, context) if isinstance(answer, Refused) else ErrorCode.NONE
        codes = dict.fromkeys(places, code)
    return await _results(asked.topics, codes, context)


async def _hidden(asked: AddPartitionsToTxnTransaction, context: RequestContext) -> dict[str, ErrorCode]:
    """The topics that a client may not write to as this transactional id, and why."""
    denied = context.refuse_transaction(AclOperation.WRITE, asked.transactional_id)
    if denied is not None:
        return {topic.name: denied.code async for topic in context.broker.turns.each(asked.topics)}
    return {
        topic.name: no.code
        async for topic in context.broker.turns.each(asked.topics)
        if (no := context.refuse_topic(AclOperation.WRITE, topic.name))
    }


async def _verify(
    name: TransactionalId, producer: ProducerEpoch, places: list[TopicPartition], context: RequestContext
) -> dict[TopicPartition, ErrorCode]:
    command = VerifyPartitions(name, producer, tuple(places))
    answer = await context.broker.transactions.ask(name, command, PartitionsVerified)
    if isinstance(answer, Refused):
        return dict.fromkeys(places, answer.code)
    return dict(zip(places, answer.codes, strict=True))


def _exists(place: TopicPartition, context: RequestContext) -> bool:
    topic = context.broker.cluster.topic(place.topic)
    return topic is not None and 0 <= place.partition < topic.partition_count


def _told(code: ErrorCode, context: RequestContext) -> ErrorCode:
    if code is ErrorCode.PRODUCER_FENCED and context.version < PRODUCER_FENCED_SINCE:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code


async def _results(
    topics: Iterable[AddPartitionsToTxnTopic],
    codes: dict[TopicPartition, ErrorCode],
    context: RequestContext,
) -> list[AddPartitionsToTxnTopicResult]:
    each = context.broker.turns.each
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=index, partition_error_code=codes[TopicPartition(topic.name, index)]
                )
                async for index in each(topic.partitions)
            ],
        )
        async for topic in each(topics)
    ]
