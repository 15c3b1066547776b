"""AlterClientQuotas (key 49), versions 0 and 1: every entry is refused, since nothing would enforce it (KIP-546)."""

from __future__ import annotations

from leaselog.broker.api import RequestContext, serves
from leaselog.model import ErrorCode
from leaselog.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntryData,
)


@serves(AlterClientQuotasRequest, versions=(0, 1), kips="KIP-546")
def alter_client_quotas(
    request: AlterClientQuotasRequest, context: RequestContext
) -> AlterClientQuotasResponse:
    return AlterClientQuotasResponse(
        entries=[
            AlterClientQuotasResponseEntryData(
                error_code=ErrorCode.INVALID_REQUEST,
                error_message="leaselog has no client quotas.",
                entity=entry.entity,
            )
            for entry in request.entries
        ]
    )
