"""EndTxn (key 26), versions 0 to 5: a transaction is committed or aborted.

- Needs leave to WRITE to the transactional id.
- Answered when the decision is safe; the markers follow, and until they are there the next transaction of the id is
  CONCURRENT_TRANSACTIONS.
- v5 (KIP-890) raises the epoch with every end and tells the producer its next id and epoch.
- PRODUCER_FENCED is INVALID_PRODUCER_EPOCH up to v1.
"""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.transaction_commands import EndTransaction, ProducerAnswer, ProducerEpoch
from leaselog.model import AclOperation, ErrorCode, ProducerId, TransactionalId
from leaselog.wire.messages.end_txn import EndTxnRequest, EndTxnResponse

PRODUCER_FENCED_SINCE = 2
RAISES_EPOCHS_SINCE = 5


@serves(EndTxnRequest, versions=(0, 5), kips="KIP-98, 588, 890")
async def end_txn(request: EndTxnRequest, context: RequestContext) -> EndTxnResponse:
    denied = context.refuse_transaction(AclOperation.WRITE, request.transactional_id)
    if denied is not None:
        return EndTxnResponse(error_code=denied.code)
    name = TransactionalId(request.transactional_id)
    raises = context.version >= RAISES_EPOCHS_SINCE
    producer = ProducerEpoch(ProducerId(request.producer_id), request.producer_epoch)
    command = EndTransaction(name, producer, request.committed, 2 if raises else 0)
    answer = await context.broker.transactions.ask(name, command, ProducerAnswer)
    if not isinstance(answer, ProducerAnswer):
        code = answer.code
        if code is ErrorCode.PRODUCER_FENCED and context.version < PRODUCER_FENCED_SINCE:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        return EndTxnResponse(error_code=code)
    if not raises:
        return EndTxnResponse()
    return EndTxnResponse(producer_id=answer.producer_id, producer_epoch=answer.epoch)
