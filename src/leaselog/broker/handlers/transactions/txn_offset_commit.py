"""TxnOffsetCommit (key 28), versions 0 to 6: how far a group has come, once a transaction is committed.

- Needs leave to WRITE to the transactional id, and to READ the group and each topic.
- Until then the offsets are pending: they count with the marker, or go with it.
- From v5 on (KIP-890) the group's partition of `__consumer_offsets` becomes part of the transaction by this; before,
  AddOffsetsToTxn has added it, and what it has not is TRANSACTION_ABORTABLE (up to v3: INVALID_TXN_STATE).
- v3 names member and generation, which are checked as by OffsetCommit (KIP-447).
- Topics by name up to v5, by id from v6. Each partition is answered for itself; one that does not exist is
  UNKNOWN_TOPIC_OR_PARTITION (an id: UNKNOWN_TOPIC_ID) and the others are committed.
"""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.broker.transactions.joining import join
from leaselog.coordination.group_commands import CommitOffsets, OffsetToCommit, PartitionCodes, Token
from leaselog.coordination.transaction_commands import ProducerEpoch
from leaselog.model import (
    AclOperation,
    ErrorCode,
    GroupId,
    MemberId,
    ProducerId,
    Refused,
    TopicPartition,
    TransactionalId,
)
from leaselog.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

ABORTABLE_SINCE = 4
ADDS_SINCE = 5
IDS_SINCE = 6


@serves(TxnOffsetCommitRequest, versions=(0, 6), kips="KIP-98, 447, 848, 890")
async def txn_offset_commit(
    request: TxnOffsetCommitRequest, context: RequestContext
) -> TxnOffsetCommitResponse:
    denied = context.refuse_transaction(AclOperation.WRITE, request.transactional_id)
    denied = denied or context.refuse_group(AclOperation.READ, request.group_id)
    offsets: list[OffsetToCommit] = []
    #: the answers of ``offsets``, in the same order
    wanted: list[TxnOffsetCommitResponsePartition] = []
    topics: list[TxnOffsetCommitResponseTopic] = []
    by_id = context.version >= IDS_SINCE
    for topic in request.topics:
        answers = [
            TxnOffsetCommitResponsePartition(partition_index=p.partition_index) for p in topic.partitions
        ]
        topics.append(
            TxnOffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=answers)
        )
        name = context.broker.cluster.topic_name_of(topic.topic_id) if by_id else topic.name
        refused = denied if denied or name is None else context.refuse_topic(AclOperation.READ, name)
        unknown = ErrorCode.UNKNOWN_TOPIC_ID if name is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        async for asked, answer in context.broker.turns.each(zip(topic.partitions, answers, strict=True)):
            if refused is not None:
                answer.error_code = refused.code
            elif name is None or context.broker.logs.partition(name, asked.partition_index) is None:
                answer.error_code = unknown
            else:
                offsets.append(_offset(name, asked, context))
                wanted.append(answer)
    if offsets:
        for answer, code in zip(wanted, await _commit(request, tuple(offsets), context), strict=True):
            answer.error_code = code
    return TxnOffsetCommitResponse(topics=topics)


def _offset(topic: str, asked: TxnOffsetCommitRequestPartition, context: RequestContext) -> OffsetToCommit:
    found = context.broker.logs.topic(topic)
    assert found is not None, "its partition is there"
    return OffsetToCommit(
        partition=TopicPartition(topic, asked.partition_index),
        offset=asked.committed_offset,
        leader_epoch=asked.committed_leader_epoch,
        metadata=asked.committed_metadata or "",
        topic_id=found.id,
    )


async def _commit(
    request: TxnOffsetCommitRequest, offsets: tuple[OffsetToCommit, ...], context: RequestContext
) -> tuple[ErrorCode, ...]:
    group_id = GroupId(request.group_id)
    producer = ProducerEpoch(ProducerId(request.producer_id), request.producer_epoch)

    def command(token: Token) -> CommitOffsets:
        return CommitOffsets(
            token=token,
            group_id=group_id,
            member_id=MemberId(request.member_id),
            instance_id=request.group_instance_id,
            generation=request.generation_id_or_member_epoch,
            offsets=offsets,
            knows_group_id_not_found=False,
            producer=producer,
        )

    code = ErrorCode.INVALID_GROUP_ID if not group_id else await _join(request, group_id, producer, context)
    if code is not ErrorCode.NONE:
        return (code,) * len(offsets)
    # No turn of the loop since the transaction was seen to be open: nothing can have ended it.
    answer = await context.broker.groups.ask(group_id, command, PartitionCodes)
    return (answer.code,) * len(offsets) if isinstance(answer, Refused) else answer.codes


async def _join(
    request: TxnOffsetCommitRequest, group_id: GroupId, producer: ProducerEpoch, context: RequestContext
) -> ErrorCode:
    broker = context.broker
    place = broker.groups.partition_of(group_id)
    if place is None:
        return ErrorCode.NOT_COORDINATOR
    adds = context.version >= ADDS_SINCE
    if not adds and not broker.config.transaction_partition_verification_enable:
        return ErrorCode.NONE
    codes = await join(
        broker.transactions,
        TransactionalId(request.transactional_id),
        producer,
        (place,),
        adds=adds,
        patience_s=broker.config.add_partitions_to_txn_retry_backoff_max_ms / 1000,
    )
    return _told(codes[place], context.version)


def _told(code: ErrorCode, version: int) -> ErrorCode:
    """What Kafka makes of the coordinator's words, for a commit."""
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE and version < ABORTABLE_SINCE:
        return ErrorCode.INVALID_TXN_STATE
    if code in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE):
        # Of transactions, while this one is about the group's.
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    if code is ErrorCode.CONCURRENT_TRANSACTIONS and version < ADDS_SINCE:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return code
