"""DeleteAcls (key 31), versions 1 to 3: entries of the access control lists go, all that a filter fits (KIP-140, 290).

- Each filter is answered with the entries it fits, which are gone when the answer comes; an entry that two filters fit
  is told for both.
- The pattern type MATCH fits every pattern that the named resource fits; null and ANY fit everything.
- A filter that is not understood is INVALID_REQUEST; more than 1,000 in a request are, for all of them.
- Without an authorizer that goes by them, SECURITY_DISABLED for each.
"""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.broker.cluster.acls import MAX_FILTERS
from leaselog.broker.handlers.security.acl_messages import read_filter, why_no_acls
from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import AclBinding, AclFilter, AclOperation, ErrorCode, Refused
from leaselog.wire.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)


@serves(DeleteAclsRequest, versions=(1, 3), kips="KIP-140, 290")
async def delete_acls(request: DeleteAclsRequest, context: RequestContext) -> DeleteAclsResponse:
    asked = len(request.filters)
    refused = why_no_acls(context, AclOperation.ALTER, "No Authorizer is configured.")
    if refused is None and asked > MAX_FILTERS:
        text = f"{asked} filters in one request, expected at most {MAX_FILTERS}"
        refused = Refused(ErrorCode.INVALID_REQUEST, text)
    if refused is not None:
        return DeleteAclsResponse(filter_results=[_result(refused) for _ in request.filters])
    filters = [read_filter(one) for one in request.filters]
    good = [one for one in filters if isinstance(one, AclFilter)]
    found = iter(await context.broker.cluster.delete_acls(good))
    return DeleteAclsResponse(
        filter_results=[_result(one if isinstance(one, Refused) else next(found)) for one in filters]
    )


def _result(outcome: Sequence[AclBinding] | Refused) -> DeleteAclsFilterResult:
    if isinstance(outcome, Refused):
        return DeleteAclsFilterResult(error_code=outcome.code, error_message=outcome.message)
    return DeleteAclsFilterResult(error_message=None, matching_acls=[_matching(acl) for acl in outcome])


def _matching(acl: AclBinding) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        error_message=None,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )
