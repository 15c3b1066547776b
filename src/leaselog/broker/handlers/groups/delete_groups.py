"""DeleteGroups (key 42), versions 0 to 3: groups go, with every offset they committed (KIP-229) and all share
state that is kept for them (KIP-932).

- Needs leave to DELETE each group.
- Each group is answered for itself: NON_EMPTY_GROUP while it has members, GROUP_ID_NOT_FOUND if there is none. v3
  adds a message.
"""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import AclOperation, GroupId
from leaselog.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)


@serves(DeleteGroupsRequest, versions=(0, 3), kips="KIP-229")
async def delete_groups(request: DeleteGroupsRequest, context: RequestContext) -> DeleteGroupsResponse:
    names = [GroupId(name) for name in dict.fromkeys(request.groups_names)]
    results = await context.broker.turns.gather(_delete(group_id, context) for group_id in names)
    return DeleteGroupsResponse(results=results)


async def _delete(group_id: GroupId, context: RequestContext) -> DeletableGroupResult:
    refused = context.refuse_group(
        AclOperation.DELETE, group_id
    ) or await context.broker.share_groups.delete_group(group_id)
    if refused is not None:
        return DeletableGroupResult(group_id=group_id, error_code=refused.code, error_message=refused.message)
    return DeletableGroupResult(group_id=group_id)
