"""Produce (key 0), versions 3 to 13: record batches in, offsets out.

- Topics by name up to v12, by id from v13 (KIP-516). Versions 0 to 2 are advertised and not served: old librdkafka
  takes their absence for a broker without compression (KAFKA-18659).
- acks=all and acks=1 answer when the bytes are as safe as the topic's durability promises, which is also when readers
  see them: what was answered can be read (ADR 0004). acks=0 is never answered, and an error then closes the
  connection, the only sign such a producer can get.
- Needs leave to WRITE to each topic, and as a transactional id to that.
- Each partition fails alone. A whole request fails only for acks other than -1, 0, 1.
- Batches are validated and appended here and now, in the order of the connection; only the sync is waited for.
- A batch of a transaction is written into a partition that is part of that transaction. From v12 on (KIP-890) what is
  written to becomes part of it; before, the client has added it, and what it has not is TRANSACTION_ABORTABLE (up to
  v10: INVALID_TXN_STATE). Once it has records there the partition itself knows. Without a transactional id such a batch
  is TRANSACTIONAL_ID_AUTHORIZATION_FAILED.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass

from leaselog.broker.cluster.cluster import is_internal
from leaselog.broker.cluster.partition_lookup import why_not_here
from leaselog.broker.handlers.records.newcomers import Newcomers, is_transactional, newcomers
from leaselog.broker.net.api import Reply, RequestContext, serves
from leaselog.broker.net.dispatch import Unanswerable
from leaselog.broker.records.partition import Partition
from leaselog.log import Appended, AppendRefused
from leaselog.model import ZERO_UUID, AclOperation, AclResourceType, ErrorCode, Refused, TopicPartition
from leaselog.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

ALL, LEADER, NONE = -1, 1, 0
#: refusals that Kafka makes before it looks at the log, and so without telling where the log starts
BEFORE_THE_LOG = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.KAFKA_STORAGE_ERROR,
)


@dataclass(slots=True)
class _Write:
    """One partition's part of the request on its way to an answer."""

    topic: str
    answer: PartitionProduceResponse
    outcome: asyncio.Future[Appended | AppendRefused] | None = None
    partition: Partition | None = None
    size_bytes: int = 0


@serves(
    ProduceRequest, versions=(3, 13), kips="KIP-98, 467, 516, 890, 951", advertised_from=0, counts_errors=True
)
def produce(request: ProduceRequest, context: RequestContext) -> Reply:
    whole = _refusal_of_all(request, context)
    joining = newcomers(request, context) if request.transactional_id and not whole else None
    if not joining:
        return _produce(request, context, whole, {})
    context.is_exclusive = True
    return _produce_after(request, context, whole, joining)


async def _produce_after(
    request: ProduceRequest, context: RequestContext, whole: ErrorCode, joining: Newcomers
) -> ProduceResponse | None:
    """The same, once the partitions are part of the transaction; in one turn of the loop with being told so."""
    reply = _produce(request, context, whole, await joining.join(context))
    return await reply if isinstance(reply, Awaitable) else reply


def _produce(
    request: ProduceRequest,
    context: RequestContext,
    whole: ErrorCode,
    outside: Mapping[TopicPartition, Refused],
) -> ProduceResponse | Awaitable[ProduceResponse | None] | None:
    """``whole``: why no partition of it may be written. ``outside``: why the transaction has no part in a partition."""
    topics: list[TopicProduceResponse] = []
    writes: list[_Write] = []
    for topic in request.topic_data:
        if not topic.partition_data:
            continue
        refusal = whole if context.broker.guard is None else whole or _not_allowed(topic, context)
        started = [_start(request, topic, data, context, refusal, outside) for data in topic.partition_data]
        writes += started
        topics.append(
            TopicProduceResponse(
                name=topic.name, topic_id=topic.topic_id, partition_responses=[w.answer for w in started]
            )
        )
    response = ProduceResponse(responses=topics)
    if context.broker.quotas.limits_produce:
        _throttle(request, response, context)
    waited_for = [w.outcome for w in writes if w.outcome is not None and not w.outcome.done()]
    if not waited_for:
        return _settle(request, writes, response, context)
    return _answer_when_safe(request, writes, response, context, waited_for)


def _throttle(request: ProduceRequest, response: ProduceResponse, context: RequestContext) -> None:
    """Counts what came in, refused or not, and says how long the client is to pause (KIP-219)."""
    broker = context.broker
    size_bytes = sum(len(d.records or b"") for topic in request.topic_data for d in topic.partition_data)
    pause_ms = broker.quotas.produced(context.client_id, size_bytes, broker.monotonic_ms(), user=context.user)
    response.throttle_time_ms = context.throttle_ms = pause_ms


async def _answer_when_safe(
    request: ProduceRequest,
    writes: list[_Write],
    response: ProduceResponse,
    context: RequestContext,
    waited_for: list[asyncio.Future[Appended | AppendRefused]],
) -> ProduceResponse | None:
    if len(waited_for) == 1:
        await waited_for[0]
    else:
        await asyncio.wait(waited_for)
    return _settle(request, writes, response, context)


def _start(
    request: ProduceRequest,
    topic: TopicProduceData,
    data: PartitionProduceData,
    context: RequestContext,
    whole: ErrorCode,
    outside: Mapping[TopicPartition, Refused],
) -> _Write:
    """Appends one partition's batches, or says at once why not."""
    answer = PartitionProduceResponse(index=data.index, base_offset=-1)
    broker = context.broker
    name = broker.cluster.topic_name(topic.name, topic.topic_id)
    write = _Write(name or topic.name, answer)
    partition = None if name is None else broker.logs.partition(name, data.index)
    refusal = whole or _refusal(name, partition, data.index, context)
    if refusal is not ErrorCode.NONE or partition is None:
        answer.error_code = refusal
        return write
    stranger = outside.get(partition.name)
    if stranger is not None:
        answer.error_code, answer.error_message = stranger.code, stranger.message
        return write
    records = data.records
    if records is None or not len(records):
        answer.error_code = ErrorCode.INVALID_RECORD
        answer.error_message = "The produce request holds no record batch for the partition."
        return write
    write.partition, write.size_bytes = partition, len(records)
    assert isinstance(records, memoryview)  # of the frame, which the log may write into
    write.outcome = partition.append(records, now_ms=broker.now_ms(), wait=request.acks != NONE)
    return write


def _refusal_of_all(request: ProduceRequest, context: RequestContext) -> ErrorCode:
    """Why no partition of the request may be written, if so."""
    name = request.transactional_id
    has_none = not name or (context.broker.guard is not None and not _may_write_as(name, context))
    if has_none and any(
        is_transactional(data.records) for topic in request.topic_data for data in topic.partition_data
    ):
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return ErrorCode.NONE if request.acks in (ALL, LEADER, NONE) else ErrorCode.INVALID_REQUIRED_ACKS


def _may_write_as(transactional_id: str, context: RequestContext) -> bool:
    return context.may(AclOperation.WRITE, AclResourceType.TRANSACTIONAL_ID, transactional_id)


def _not_allowed(topic: TopicProduceData, context: RequestContext) -> ErrorCode:
    """An id that nobody has says so first: it has no name that a right could be about."""
    name = context.broker.cluster.topic_name(topic.name, topic.topic_id)
    if name is None and topic.topic_id != ZERO_UUID:
        return ErrorCode.NONE
    refused = context.refuse_topic(AclOperation.WRITE, name or topic.name)
    return ErrorCode.NONE if refused is None else refused.code


def _refusal(name: str | None, partition: Partition | None, index: int, context: RequestContext) -> ErrorCode:
    if name is None and context.version >= 13:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if name is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if partition is None:
        return why_not_here(context.broker, name, index)
    if is_internal(name):
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    return ErrorCode.NONE


def _settle(
    request: ProduceRequest, writes: list[_Write], response: ProduceResponse, context: RequestContext
) -> ProduceResponse | None:
    """Writes every outcome into its answer; all of them are there."""
    metrics = context.broker.metrics
    for write in writes:
        if write.outcome is not None:
            outcome = write.outcome.result()
            if isinstance(outcome, Appended) and not outcome.is_duplicate:
                metrics.produced(write.topic, write.size_bytes, outcome.end_offset - outcome.first_offset)
            _fill(write, outcome)
        metrics.error(context.api, write.answer.error_code)
    if request.acks == NONE:
        failed = next((w.answer for w in writes if w.answer.error_code), None)
        if failed is not None:
            raise Unanswerable(f"acks=0 produce failed with error {failed.error_code}")
        return None
    return response


def _fill(write: _Write, outcome: Appended | AppendRefused) -> None:
    answer = write.answer
    if isinstance(outcome, Appended):
        answer.base_offset = outcome.first_offset
        answer.log_append_time_ms = outcome.log_append_time_ms
        answer.log_start_offset = outcome.log_start_offset
        return
    answer.error_code = outcome.code
    answer.error_message = outcome.message
    answer.record_errors = [
        BatchIndexAndErrorMessage(batch_index=e.index, batch_index_error_message=e.message)
        for e in outcome.record_errors
    ]
    is_early = outcome.code in BEFORE_THE_LOG or (
        outcome.code == ErrorCode.INVALID_RECORD and not outcome.record_errors
    )
    if write.partition is not None and not is_early:
        answer.log_start_offset = write.partition.log.start_offset
