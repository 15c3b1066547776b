"""ListPartitionReassignments (key 46), version 0: never any, since partitions have one place to be (KIP-455)."""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)


@serves(ListPartitionReassignmentsRequest, versions=(0, 0), kips="KIP-455")
def list_partition_reassignments(
    request: ListPartitionReassignmentsRequest, context: RequestContext
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_message=None)
