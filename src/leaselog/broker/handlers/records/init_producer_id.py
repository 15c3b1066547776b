"""InitProducerId (key 22), versions 0 to 5: an id and epoch for an idempotent producer.

- Without a transactional id the answer is always a new id with epoch 0, whatever the producer had before.
- A producer id without an epoch, or the other way round, is INVALID_REQUEST (v3), as is an empty transactional id.
- A transactional id is TRANSACTIONAL_ID_AUTHORIZATION_FAILED: there are no transactions yet, and this is the one
  answer that makes every client give up at once with an error that names the transactional id.
- Version 6 (two-phase commit) is not stable in Apache Kafka 4.4 either.
"""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import ErrorCode, Refused
from leaselog.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


@serves(InitProducerIdRequest, versions=(0, 5), kips="KIP-98, 360, 588, 890")
async def init_producer_id(request: InitProducerIdRequest, context: RequestContext) -> InitProducerIdResponse:
    if request.transactional_id == "" or (request.producer_id == -1) != (request.producer_epoch == -1):
        return _refused(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        return _refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    producer_id = await context.broker.cluster.next_producer_id()
    if isinstance(producer_id, Refused):
        # Retriable, and KAFKA_STORAGE_ERROR means nothing to a producer here.
        return _refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def _refused(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)
