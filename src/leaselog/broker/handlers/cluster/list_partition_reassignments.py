"""ListPartitionReassignments (key 46), version 0: never any, since partitions have one place to be (KIP-455).

- Needs leave to DESCRIBE the cluster.
"""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import AclOperation
from leaselog.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)


@serves(ListPartitionReassignmentsRequest, versions=(0, 0), kips="KIP-455")
def list_partition_reassignments(
    request: ListPartitionReassignmentsRequest, context: RequestContext
) -> ListPartitionReassignmentsResponse:
    refused = context.refuse_cluster(AclOperation.DESCRIBE)
    if refused is not None:
        return ListPartitionReassignmentsResponse(error_code=refused.code, error_message=refused.message)
    return ListPartitionReassignmentsResponse(error_message=None)
