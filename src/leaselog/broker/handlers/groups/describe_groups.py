"""DescribeGroups (key 15), versions 0 to 6: state, protocol, members and assignments of classic groups.

- Needs leave to DESCRIBE each group.
- Protocol and metadata are told of a stable group only.
- An unknown group is in state Dead, and from v6 on GROUP_ID_NOT_FOUND with a message (KIP-1043).
- v3 tells which operations the client may do, if asked (KIP-430).
"""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination import group_commands as commands
from leaselog.coordination.group_commands import DescribeGroup, Token
from leaselog.model import AclOperation, AclResourceType, ErrorCode, GroupId, Refused
from leaselog.wire.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

NOT_FOUND_SINCE = 6
DEAD = "Dead"


@serves(DescribeGroupsRequest, versions=(0, 6), kips="KIP-345, 430, 1043")
async def describe_groups(request: DescribeGroupsRequest, context: RequestContext) -> DescribeGroupsResponse:
    groups = [await _describe(GroupId(id), context) async for id in context.broker.turns.each(request.groups)]
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = context.operations(AclResourceType.GROUP, group.group_id)
    return DescribeGroupsResponse(groups=groups)


async def _describe(group_id: GroupId, context: RequestContext) -> DescribedGroup:
    denied = context.refuse_group(AclOperation.DESCRIBE, group_id)
    if denied is not None:
        return DescribedGroup(group_id=group_id, error_code=denied.code)

    def command(token: Token) -> DescribeGroup:
        return DescribeGroup(token, group_id)

    found = await context.broker.groups.ask(group_id, command, commands.DescribedGroup)
    if isinstance(found, Refused):
        return _refused(group_id, found, context.version)
    return DescribedGroup(
        group_id=group_id,
        group_state=found.state,
        protocol_type=found.protocol_type,
        protocol_data=found.protocol,
        members=[
            DescribedGroupMember(
                member_id=m.member_id,
                group_instance_id=m.instance_id,
                client_id=m.client_id,
                client_host=m.client_host,
                member_metadata=m.metadata,
                member_assignment=m.assignment,
            )
            for m in found.members
        ],
    )


def _refused(group_id: GroupId, refused: Refused, version: int) -> DescribedGroup:
    if refused.code is not ErrorCode.GROUP_ID_NOT_FOUND:
        return DescribedGroup(group_id=group_id, error_code=refused.code, error_message=refused.message)
    if version < NOT_FOUND_SINCE:
        return DescribedGroup(group_id=group_id, group_state=DEAD)
    return DescribedGroup(
        group_id=group_id, group_state=DEAD, error_code=refused.code, error_message=refused.message
    )
