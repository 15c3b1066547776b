"""LeaveGroup (key 13), versions 0 to 5: members go, and the group rebalances without waiting for their sessions.

- Needs leave to READ the group.
- One member up to v2; from v3 several, each answered for itself (KIP-345). An administrator removes a static member
  by its instance id alone. v5 carries a reason (KIP-800).
"""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.group_commands import LeaveAnswer, LeaveGroup, Leaver, Token
from leaselog.model import AclOperation, GroupId, MemberId, Refused
from leaselog.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse

BATCHES_SINCE = 3


@serves(LeaveGroupRequest, versions=(0, 5), kips="KIP-345, 800")
async def leave_group(request: LeaveGroupRequest, context: RequestContext) -> LeaveGroupResponse:
    denied = context.refuse_group(AclOperation.READ, request.group_id)
    if denied is not None:
        return LeaveGroupResponse(error_code=denied.code)
    is_batch = context.version >= BATCHES_SINCE
    if is_batch:
        leavers = tuple(Leaver(MemberId(m.member_id), m.group_instance_id) for m in request.members)
    else:
        leavers = (Leaver(MemberId(request.member_id)),)

    def command(token: Token) -> LeaveGroup:
        return LeaveGroup(token, GroupId(request.group_id), leavers)

    answer = await context.broker.groups.ask(GroupId(request.group_id), command, LeaveAnswer)
    if isinstance(answer, Refused):
        return LeaveGroupResponse(error_code=answer.code)
    if not is_batch:
        return LeaveGroupResponse(error_code=answer.members[0][1])
    return LeaveGroupResponse(
        members=[
            MemberResponse(member_id=leaver.member_id, group_instance_id=leaver.instance_id, error_code=code)
            for leaver, code in answer.members
        ]
    )
