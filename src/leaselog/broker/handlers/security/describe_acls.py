"""DescribeAcls (key 29), versions 1 to 3: the entries of the access control lists that a filter fits (KIP-140, 290).

- By pattern, each with its entries. MATCH fits every pattern that the named resource fits; null and ANY fit everything.
- Without an authorizer that goes by them, SECURITY_DISABLED.
"""

from __future__ import annotations

from leaselog.broker.handlers.security.acl_messages import by_pattern, read_filter, why_no_acls
from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import AclOperation, Refused
from leaselog.wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)


@serves(DescribeAclsRequest, versions=(1, 3), kips="KIP-140, 290", only_reads=True)
async def describe_acls(request: DescribeAclsRequest, context: RequestContext) -> DescribeAclsResponse:
    refused = why_no_acls(context, AclOperation.DESCRIBE, "No Authorizer is configured on the broker")
    wanted = refused or read_filter(request)
    if isinstance(wanted, Refused):
        return DescribeAclsResponse(error_code=wanted.code, error_message=wanted.message)
    every = list(context.broker.cluster.acls().values())
    found = [acl async for acl in context.broker.turns.each(every) if wanted.matches(acl)]
    return DescribeAclsResponse(
        error_message=None,
        resources=[
            DescribeAclsResource(
                resource_type=type_,
                resource_name=name,
                pattern_type=pattern,
                acls=[
                    AclDescription(
                        principal=acl.principal,
                        host=acl.host,
                        operation=acl.operation,
                        permission_type=acl.permission,
                    )
                    for acl in acls
                ],
            )
            for (type_, pattern, name), acls in by_pattern(found).items()
        ],
    )
