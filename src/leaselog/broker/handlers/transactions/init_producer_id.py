"""InitProducerId (key 22), versions 0 to 5: an id and epoch for an idempotent or a transactional producer.

- Needs leave to IDEMPOTENT_WRITE to the cluster, or to WRITE to any topic; with a transactional id, to WRITE to that.
- Without a transactional id the answer is always a new id with epoch 0, whatever the producer had before.
- With one, the epoch rises with every call, and whoever had the one before is fenced. A transaction that is open is
  aborted first: CONCURRENT_TRANSACTIONS, and the client comes again.
- A producer that names the id and epoch it has (v3, KIP-360) goes on, or is PRODUCER_FENCED (up to v3:
  INVALID_PRODUCER_EPOCH). One without the other is INVALID_REQUEST, as is an empty transactional id.
- A time-out that is not positive, or over `transaction.max.timeout.ms`, is INVALID_TRANSACTION_TIMEOUT.
- Version 6 (two-phase commit) is not stable in Apache Kafka 4.4 either.
"""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.transaction_commands import InitProducer, ProducerAnswer, ProducerEpoch
from leaselog.model import AclOperation, AclResourceType, ErrorCode, ProducerId, Refused, TransactionalId
from leaselog.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

PRODUCER_FENCED_SINCE = 4


@serves(InitProducerIdRequest, versions=(0, 5), kips="KIP-98, 360, 588, 890")
async def init_producer_id(request: InitProducerIdRequest, context: RequestContext) -> InitProducerIdResponse:
    denied = _deny(request.transactional_id, context)
    if denied is not None:
        return _refused(denied.code)
    if request.transactional_id == "" or (request.producer_id == -1) != (request.producer_epoch == -1):
        return _refused(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        return await _init(TransactionalId(request.transactional_id), request, context)
    producer_id = await context.broker.cluster.next_producer_id()
    if isinstance(producer_id, Refused):
        # Retriable, and KAFKA_STORAGE_ERROR means nothing to a producer here.
        return _refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def _deny(transactional_id: str | None, context: RequestContext) -> Refused | None:
    if transactional_id is not None:
        return context.refuse_transaction(AclOperation.WRITE, transactional_id)
    if context.may_cluster(AclOperation.IDEMPOTENT_WRITE, is_probe=True):
        return None
    if context.may_some(AclOperation.WRITE, AclResourceType.TOPIC):
        return None
    return Refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


async def _init(
    name: TransactionalId, request: InitProducerIdRequest, context: RequestContext
) -> InitProducerIdResponse:
    continues = None
    if request.producer_id != -1:
        continues = ProducerEpoch(ProducerId(request.producer_id), request.producer_epoch)
    command = InitProducer(name, request.transaction_timeout_ms, continues)
    answer = await context.broker.transactions.ask(name, command, ProducerAnswer)
    if isinstance(answer, ProducerAnswer):
        return InitProducerIdResponse(producer_id=answer.producer_id, producer_epoch=answer.epoch)
    if answer.code is ErrorCode.PRODUCER_FENCED and context.version < PRODUCER_FENCED_SINCE:
        return _refused(ErrorCode.INVALID_PRODUCER_EPOCH)
    return _refused(answer.code)


def _refused(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)
