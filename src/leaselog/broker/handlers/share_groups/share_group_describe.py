"""ShareGroupDescribe (key 77), version 1: state, epochs and members of share groups (KIP-932).

- Needs leave to DESCRIBE each group, and every topic that a member of it is assigned: else the whole group is hidden.
- A group that is not there, or of another kind, is GROUP_ID_NOT_FOUND with a message.
- A member's assignment is what it is to have; it may not have heard of it yet.
- What may be done to a group is told, if asked (KIP-430).
"""

from __future__ import annotations

from leaselog.broker.lending.feature import has_share_groups
from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.share_group_commands import DescribedShareGroup, DescribedShareMember
from leaselog.model import AclOperation, AclResourceType, ErrorCode, GroupId, Refused
from leaselog.wire.messages.share_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    TopicPartitions,
)

HIDDEN = "The group has described topic(s) that the client is not authorized to describe."


@serves(ShareGroupDescribeRequest, versions=(1, 1), kips="KIP-932")
async def share_group_describe(
    request: ShareGroupDescribeRequest, context: RequestContext
) -> ShareGroupDescribeResponse:
    if not has_share_groups(context.broker.cluster):
        code = ErrorCode.UNSUPPORTED_VERSION
        return ShareGroupDescribeResponse(
            groups=[DescribedGroup(group_id=group_id, error_code=code) for group_id in request.group_ids]
        )
    groups = await context.broker.turns.gather(_describe(GroupId(g), context) for g in request.group_ids)
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = context.operations(AclResourceType.GROUP, group.group_id)
    return ShareGroupDescribeResponse(groups=groups)


async def _describe(group_id: GroupId, context: RequestContext) -> DescribedGroup:
    denied = context.refuse_group(AclOperation.DESCRIBE, group_id)
    if denied is not None:
        return DescribedGroup(group_id=group_id, error_code=denied.code)
    found = await context.broker.share_groups.describe(group_id)
    if isinstance(found, Refused):
        return DescribedGroup(group_id=group_id, error_code=found.code, error_message=found.message)
    described = _described(group_id, found, context)
    assigned = {t.topic_name for member in described.members for t in member.assignment.topic_partitions}
    if any(context.refuse_topic(AclOperation.DESCRIBE, topic) for topic in assigned):
        return DescribedGroup(
            group_id=group_id, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, error_message=HIDDEN
        )
    return described


def _described(group_id: GroupId, found: DescribedShareGroup, context: RequestContext) -> DescribedGroup:
    return DescribedGroup(
        group_id=group_id,
        group_state=found.state,
        group_epoch=found.epoch,
        assignment_epoch=found.assignment_epoch,
        assignor_name=found.assignor,
        members=[_member(member, context) for member in found.members],
    )


def _member(member: DescribedShareMember, context: RequestContext) -> Member:
    named = ((topic, context.broker.cluster.topic_name_of(topic)) for topic in member.target)
    return Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.topics,
        assignment=Assignment(
            topic_partitions=[
                TopicPartitions(topic_id=topic, topic_name=name, partitions=sorted(member.target[topic]))
                for topic, name in named
                if name is not None
            ]
        ),
    )
