"""AddOffsetsToTxn (key 25), versions 0 to 4: the offsets of a group become part of a transaction.

- Needs leave to WRITE to the transactional id, and to READ the group.
- What is added is the partition of `__consumer_offsets` that keeps the group's offsets; the topic is made if it is not
  there. TxnOffsetCommit follows.
- PRODUCER_FENCED is INVALID_PRODUCER_EPOCH up to v1.
- Clients since KIP-890 do not ask: TxnOffsetCommit v5 adds what it writes to.
"""

from __future__ import annotations

from leaselog.broker.cluster.cluster import CONSUMER_OFFSETS_TOPIC
from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.transaction_commands import AddPartitions, ProducerAnswer, ProducerEpoch
from leaselog.model import AclOperation, ErrorCode, GroupId, ProducerId, Refused, TransactionalId
from leaselog.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

PRODUCER_FENCED_SINCE = 2


@serves(AddOffsetsToTxnRequest, versions=(0, 4), kips="KIP-98, 588, 890")
async def add_offsets_to_txn(
    request: AddOffsetsToTxnRequest, context: RequestContext
) -> AddOffsetsToTxnResponse:
    denied = context.refuse_transaction(AclOperation.WRITE, request.transactional_id)
    denied = denied or context.refuse_group(AclOperation.READ, request.group_id)
    if denied is not None:
        return AddOffsetsToTxnResponse(error_code=denied.code)
    broker = context.broker
    made = await broker.cluster.ensure_topic(CONSUMER_OFFSETS_TOPIC)
    place = broker.groups.partition_of(GroupId(request.group_id))
    if isinstance(made, Refused) or place is None:
        return AddOffsetsToTxnResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    name = TransactionalId(request.transactional_id)
    producer = ProducerEpoch(ProducerId(request.producer_id), request.producer_epoch)
    command = AddPartitions(name, producer, frozenset({place}))
    answer = await broker.transactions.ask(name, command, ProducerAnswer)
    if not isinstance(answer, Refused):
        return AddOffsetsToTxnResponse()
    is_old = context.version < PRODUCER_FENCED_SINCE
    if answer.code is ErrorCode.PRODUCER_FENCED and is_old:
        return AddOffsetsToTxnResponse(error_code=ErrorCode.INVALID_PRODUCER_EPOCH)
    return AddOffsetsToTxnResponse(error_code=answer.code)
