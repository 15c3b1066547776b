"""JoinGroup (key 11), versions 0 to 9: become a member, and wait for the others.

- Needs leave to READ the group.
- The answer comes when the group's next generation is complete; the connection is the member's own until then.
- A member without an id is given one and told to come back with it (v4, KIP-394), unless it is static.
- `group.instance.id` names a static member (v5, KIP-345): coming back in time it takes its old place.
- The leader, and only it, gets everybody's metadata. A returning static leader may be told to leave the assignment
  as it is (v9, KIP-814); before v9 it is told that somebody else leads.
- v0 has no rebalance timeout: the session timeout serves. v7 names the protocol type (KIP-559), v8 the reason.
"""

from __future__ import annotations

from leaselog.broker.groups.records import protocol
from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.group_commands import JoinAnswer, JoinGroup, Token
from leaselog.model import AclOperation, GroupId, MemberId, Refused
from leaselog.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember

MEMBER_ID_REQUIRED_SINCE = 4
SKIP_ASSIGNMENT_SINCE = 9


@serves(JoinGroupRequest, versions=(0, 9), kips="KIP-62, 345, 394, 559, 800, 814")
async def join_group(request: JoinGroupRequest, context: RequestContext) -> JoinGroupResponse:
    denied = context.refuse_group(AclOperation.READ, request.group_id)
    if denied is not None:
        return JoinGroupResponse(error_code=denied.code, generation_id=-1, member_id=request.member_id)
    groups = context.broker.groups
    group_id = GroupId(request.group_id)
    fresh_member_id = groups.fresh_member_id(request.group_instance_id or context.client_id or "")

    def command(token: Token) -> JoinGroup:
        return _command(request, context, token, fresh_member_id)

    answer = await groups.ask(group_id, command, JoinAnswer)
    if isinstance(answer, Refused):
        answer = JoinAnswer(MemberId(request.member_id), answer.code)
    return JoinGroupResponse(
        error_code=answer.code,
        generation_id=answer.generation,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol,
        leader=answer.leader,
        skip_assignment=answer.skip_assignment,
        member_id=answer.member_id,
        members=[
            JoinGroupResponseMember(
                member_id=m.member_id, group_instance_id=m.instance_id, metadata=m.metadata
            )
            for m in answer.members
        ],
    )


def _command(
    request: JoinGroupRequest, context: RequestContext, token: Token, fresh_member_id: MemberId
) -> JoinGroup:
    has_rebalance_timeout = context.version >= 1
    return JoinGroup(
        token=token,
        group_id=GroupId(request.group_id),
        member_id=MemberId(request.member_id),
        fresh_member_id=fresh_member_id,
        instance_id=request.group_instance_id,
        client_id=context.client_id or "",
        client_host=f"/{context.client.host}",
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms
        if has_rebalance_timeout
        else request.session_timeout_ms,
        protocol_type=request.protocol_type,
        protocols=tuple(
            protocol(request.protocol_type, p.name, bytes(p.metadata)) for p in request.protocols
        ),
        member_id_required=context.version >= MEMBER_ID_REQUIRED_SINCE,
        may_skip_assignment=context.version >= SKIP_ASSIGNMENT_SINCE,
    )
