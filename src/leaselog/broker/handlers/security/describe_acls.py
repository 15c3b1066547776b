"""DescribeAcls (key 29), versions 1 to 3: SECURITY_DISABLED, as a Kafka broker without an authorizer answers."""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import ErrorCode
from leaselog.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse


@serves(DescribeAclsRequest, versions=(1, 3), kips="KIP-140, 290")
def describe_acls(request: DescribeAclsRequest, context: RequestContext) -> DescribeAclsResponse:
    return DescribeAclsResponse(
        error_code=ErrorCode.SECURITY_DISABLED, error_message="No Authorizer is configured on the broker"
    )
