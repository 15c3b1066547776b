"""DescribeTransactions (key 65), version 0: what the coordinator knows of transactional ids.

- Needs leave to DESCRIBE each id; topics that the client may not DESCRIBE are left out.
- Each id is answered for itself: TRANSACTIONAL_ID_NOT_FOUND if it is not known, INVALID_REQUEST if it is empty.
"""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.transaction_commands import DescribeTransaction, TransactionDescribed
from leaselog.model import AclOperation, AclResourceType, Refused, TransactionalId
from leaselog.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)


@serves(DescribeTransactionsRequest, versions=(0, 0), kips="KIP-664")
async def describe_transactions(
    request: DescribeTransactionsRequest, context: RequestContext
) -> DescribeTransactionsResponse:
    names = map(TransactionalId, request.transactional_ids)
    states = await context.broker.turns.gather(_describe(name, context) for name in names)
    return DescribeTransactionsResponse(transaction_states=states)


async def _describe(name: TransactionalId, context: RequestContext) -> TransactionState:
    denied = context.refuse_transaction(AclOperation.DESCRIBE, name)
    if denied is not None:
        return TransactionState(transactional_id=name, error_code=denied.code)
    answer = await context.broker.transactions.ask(name, DescribeTransaction(name), TransactionDescribed)
    if isinstance(answer, Refused):
        return TransactionState(transactional_id=name, error_code=answer.code)
    known = answer.transaction
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(known.partitions):
        if context.may(AclOperation.DESCRIBE, AclResourceType.TOPIC, topic, is_probe=True):
            topics.setdefault(topic, []).append(index)
    return TransactionState(
        transactional_id=name,
        transaction_state=known.state.label,
        transaction_timeout_ms=known.timeout_ms,
        transaction_start_time_ms=known.started_ms,
        producer_id=known.producer_id,
        producer_epoch=known.epoch,
        topics=[TopicData(topic=topic, partitions=indexes) for topic, indexes in topics.items()],
    )
