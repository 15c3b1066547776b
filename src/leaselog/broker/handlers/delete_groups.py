"""DeleteGroups (key 42), versions 0 to 3: groups go, with every offset they committed (KIP-229).

- Each group is answered for itself: NON_EMPTY_GROUP while it has members, GROUP_ID_NOT_FOUND if there is none. v3
  adds a message.
"""

from __future__ import annotations

import asyncio

from leaselog.broker.api import RequestContext, serves
from leaselog.coordination.group_commands import DeleteGroup, Done, Token
from leaselog.model import GroupId, Refused
from leaselog.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)


@serves(DeleteGroupsRequest, versions=(0, 3), kips="KIP-229")
async def delete_groups(request: DeleteGroupsRequest, context: RequestContext) -> DeleteGroupsResponse:
    names = [GroupId(name) for name in dict.fromkeys(request.groups_names)]
    results = await asyncio.gather(*(_delete(group_id, context) for group_id in names))
    return DeleteGroupsResponse(results=results)


async def _delete(group_id: GroupId, context: RequestContext) -> DeletableGroupResult:
    def command(token: Token) -> DeleteGroup:
        return DeleteGroup(token, group_id)

    answer = await context.broker.groups.ask(group_id, command, Done)
    if isinstance(answer, Refused):
        return DeletableGroupResult(group_id=group_id, error_code=answer.code, error_message=answer.message)
    return DeletableGroupResult(group_id=group_id)
