"""ListGroups (key 16), versions 0 to 5: every group of this node.

- Whoever may not DESCRIBE the cluster sees the groups that it may DESCRIBE.
- v4 filters by state (KIP-518), v5 by type (KIP-848); neither minds the case, and an unknown one matches nothing.
- Groups that are there only for their offsets are Empty and have no protocol type.
"""

from __future__ import annotations

from collections.abc import Iterable

from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import AclOperation, AclResourceType
from leaselog.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse


@serves(ListGroupsRequest, versions=(0, 5), kips="KIP-518, 848")
async def list_groups(request: ListGroupsRequest, context: RequestContext) -> ListGroupsResponse:
    states, types = _lower(request.states_filter), _lower(request.types_filter)
    groups, code = await context.broker.groups.list_groups(states, types)
    if not context.may_cluster(AclOperation.DESCRIBE, is_probe=True):
        groups = [
            group
            async for group in context.broker.turns.each(groups)
            if context.may(AclOperation.DESCRIBE, AclResourceType.GROUP, group.group_id, is_probe=True)
        ]
    return ListGroupsResponse(
        error_code=code,
        groups=[
            ListedGroup(
                group_id=g.group_id, protocol_type=g.protocol_type, group_state=g.state, group_type=g.type
            )
            for g in groups
        ],
    )


def _lower(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in names)
