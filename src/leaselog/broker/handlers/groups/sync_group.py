"""SyncGroup (key 14), versions 0 to 5: the leader brings the assignment, everybody fetches their part of it.

- Needs leave to READ the group.
- The answer comes when the leader's assignment is written down. A group that is stable already answers at once.
- v3 adds the instance id (KIP-345); from v5 protocol type and name must be there and be the group's (KIP-559).
"""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.group_commands import SyncAnswer, SyncGroup, Token
from leaselog.model import AclOperation, ErrorCode, GroupId, MemberId, Refused
from leaselog.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

PROTOCOL_NAMED_SINCE = 5


@serves(SyncGroupRequest, versions=(0, 5), kips="KIP-345, 559")
async def sync_group(request: SyncGroupRequest, context: RequestContext) -> SyncGroupResponse:
    denied = context.refuse_group(AclOperation.READ, request.group_id)
    if denied is not None:
        return SyncGroupResponse(error_code=denied.code)
    names_protocol = request.protocol_type is not None and request.protocol_name is not None
    if context.version >= PROTOCOL_NAMED_SINCE and not names_protocol:
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)

    def command(token: Token) -> SyncGroup:
        return SyncGroup(
            token=token,
            group_id=GroupId(request.group_id),
            member_id=MemberId(request.member_id),
            instance_id=request.group_instance_id,
            generation=request.generation_id,
            protocol_type=request.protocol_type,
            protocol=request.protocol_name,
            assignments={MemberId(a.member_id): bytes(a.assignment) for a in request.assignments},
        )

    answer = await context.broker.groups.ask(GroupId(request.group_id), command, SyncAnswer)
    if isinstance(answer, Refused):
        return SyncGroupResponse(error_code=answer.code)
    return SyncGroupResponse(
        protocol_type=answer.protocol_type, protocol_name=answer.protocol, assignment=answer.assignment
    )
