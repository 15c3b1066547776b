"""CreateAcls (key 30), versions 1 to 3: entries for the access control lists, each on its own merits (KIP-140).

- What is there already needs no change. The answer comes when the entries are safe, and they count from then on.
- An entry about no one thing (ANY, MATCH, an empty name), or about the cluster by another name than ``kafka-cluster``,
  is INVALID_REQUEST, as is a principal without a type.
- More than 10,000 entries in a request are INVALID_REQUEST, more than 100,000 in all POLICY_VIOLATION.
- Without an authorizer that goes by them, SECURITY_DISABLED for each.
"""

from __future__ import annotations

from leaselog.broker.cluster.acls import MAX_NEW_ACLS
from leaselog.broker.handlers.security.acl_messages import why_no_acls
from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import (
    AclBinding,
    AclOperation,
    AclPermission,
    AclResourceType,
    ErrorCode,
    PatternType,
    Refused,
)
from leaselog.wire.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)


@serves(CreateAclsRequest, versions=(1, 3), kips="KIP-140, 290")
async def create_acls(request: CreateAclsRequest, context: RequestContext) -> CreateAclsResponse:
    wanted, most = len(request.creations), MAX_NEW_ACLS
    refused = why_no_acls(context, AclOperation.ALTER, "No Authorizer is configured.")
    if refused is None and wanted > most:
        refused = Refused(ErrorCode.INVALID_REQUEST, f"{wanted} ACLs in one request, expected at most {most}")
    if refused is not None:
        return CreateAclsResponse(results=[_result(refused) for _ in request.creations])
    bindings = [_binding(wish) async for wish in context.broker.turns.each(request.creations)]
    answers = await context.broker.cluster.create_acls(bindings)
    return CreateAclsResponse(results=[_result(answer) for answer in answers])


def _binding(wish: AclCreation) -> AclBinding:
    return AclBinding(
        resource_type=AclResourceType(wish.resource_type),
        resource_name=wish.resource_name,
        principal=wish.principal,
        operation=AclOperation(wish.operation),
        permission=AclPermission(wish.permission_type),
        pattern_type=PatternType(wish.resource_pattern_type),
        host=wish.host,
    )


def _result(refused: Refused | None) -> AclCreationResult:
    if refused is None:
        return AclCreationResult(error_message=None)
    return AclCreationResult(error_code=refused.code, error_message=refused.message)
