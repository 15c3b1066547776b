"""CreateAcls (key 30), versions 1 to 3: SECURITY_DISABLED for each, as a Kafka broker without an authorizer answers."""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import ErrorCode
from leaselog.wire.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse


@serves(CreateAclsRequest, versions=(1, 3), kips="KIP-140, 290")
async def create_acls(request: CreateAclsRequest, context: RequestContext) -> CreateAclsResponse:
    return CreateAclsResponse(
        results=[
            AclCreationResult(
                error_code=ErrorCode.SECURITY_DISABLED, error_message="No Authorizer is configured."
            )
            async for _ in context.broker.turns.each(request.creations)
        ]
    )
