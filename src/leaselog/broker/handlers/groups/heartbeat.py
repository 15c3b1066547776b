"""Heartbeat (key 12), versions 0 to 4: a member is alive, and learns here that the group rebalances.

- Needs leave to READ the group.
- While the groups are being read from the log every heartbeat is good: its member will be there in a moment.
- v3 adds the instance id (KIP-345).
"""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.group_commands import Done, Heartbeat, Token
from leaselog.model import AclOperation, ErrorCode, GroupId, MemberId, Refused
from leaselog.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


@serves(HeartbeatRequest, versions=(0, 4), kips="KIP-345")
async def heartbeat(request: HeartbeatRequest, context: RequestContext) -> HeartbeatResponse:
    denied = context.refuse_group(AclOperation.READ, request.group_id)
    if denied is not None:
        return HeartbeatResponse(error_code=denied.code)

    def command(token: Token) -> Heartbeat:
        return Heartbeat(
            token=token,
            group_id=GroupId(request.group_id),
            member_id=MemberId(request.member_id),
            instance_id=request.group_instance_id,
            generation=request.generation_id,
        )

    answer = await context.broker.groups.ask(GroupId(request.group_id), command, Done)
    if isinstance(answer, Refused) and answer.code is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return HeartbeatResponse(error_code=answer.code)
    return HeartbeatResponse()
