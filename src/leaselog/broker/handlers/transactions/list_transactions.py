"""ListTransactions (key 66), versions 0 to 2: the transactional ids that are known, and their states.

- Ids that the client may not DESCRIBE are left out.
- Filters are by state, by producer id, by how long a transaction has been open (v1, KIP-994) and by a pattern that the
  whole id has to match (v2, KIP-1152). A state that does not exist is named in the answer and matches nothing.
- Patterns are those of RE2, as with Kafka, as far as `broker/transactions/patterns.py` goes: they are matched in a time
  that grows with the id alone. One that cannot be read is INVALID_REGULAR_EXPRESSION.
"""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.broker.transactions.patterns import BadPattern, Pattern
from leaselog.coordination.transaction_commands import ListTransactions
from leaselog.coordination.transaction_facts import TransactionState as State
from leaselog.model import AclOperation, AclResourceType, ErrorCode, Refused
from leaselog.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)

STATES = {state.label: state for state in State}


@serves(ListTransactionsRequest, versions=(0, 2), kips="KIP-664, 994, 1152")
async def list_transactions(
    request: ListTransactionsRequest, context: RequestContext
) -> ListTransactionsResponse:
    try:
        pattern = Pattern(request.transactional_id_pattern) if request.transactional_id_pattern else None
    except BadPattern:
        return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    unknown = [name for name in request.state_filters if name not in STATES]
    states = frozenset(STATES[name] for name in request.state_filters if name in STATES)
    if request.state_filters and not states:
        return ListTransactionsResponse(unknown_state_filters=unknown)
    command = ListTransactions(states, frozenset(request.producer_id_filters), request.duration_filter)
    listing = await context.broker.transactions.listed(command)
    if isinstance(listing, Refused):
        return ListTransactionsResponse(error_code=listing.code)
    return ListTransactionsResponse(
        unknown_state_filters=unknown,
        transaction_states=[
            TransactionState(
                transactional_id=name, producer_id=known.producer_id, transaction_state=known.state.label
            )
            async for name, known in context.broker.turns.each(listing.transactions)
            if (pattern is None or pattern.matches(name))
            and context.may(AclOperation.DESCRIBE, AclResourceType.TRANSACTIONAL_ID, name, is_probe=True)
        ],
    )
