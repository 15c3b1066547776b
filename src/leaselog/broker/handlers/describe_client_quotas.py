"""DescribeClientQuotas (key 48), versions 0 and 1: none are set, since none can be (KIP-546)."""

from __future__ import annotations

from leaselog.broker.api import RequestContext, serves
from leaselog.wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)


@serves(DescribeClientQuotasRequest, versions=(0, 1), kips="KIP-546")
def describe_client_quotas(
    request: DescribeClientQuotasRequest, context: RequestContext
) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(error_message=None)
