"""DeleteAcls (key 31), versions 1 to 3: SECURITY_DISABLED for each, as a Kafka broker without an authorizer answers."""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import ErrorCode
from leaselog.wire.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
)


@serves(DeleteAclsRequest, versions=(1, 3), kips="KIP-140, 290")
async def delete_acls(request: DeleteAclsRequest, context: RequestContext) -> DeleteAclsResponse:
    return DeleteAclsResponse(
        filter_results=[
            DeleteAclsFilterResult(
                error_code=ErrorCode.SECURITY_DISABLED, error_message="No Authorizer is configured."
            )
            async for _ in context.broker.turns.each(request.filters)
        ]
    )
