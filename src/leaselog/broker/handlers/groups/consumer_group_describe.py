"""ConsumerGroupDescribe (key 69), versions 0 to 1: state, epochs and members of consumer groups (KIP-848).

- A group that is not there, or of another kind, is GROUP_ID_NOT_FOUND with a message.
- A member's assignment is what it has, its target what it is to have. v1 says what kind of member it is: all of them
  are of the consumer protocol.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from leaselog.broker.groups.feature import has_consumer_groups
from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.consumer_group_commands import (
    DescribeConsumerGroup,
    DescribedConsumerGroup,
    DescribedConsumerMember,
)
from leaselog.coordination.group_commands import Token
from leaselog.model import AclOperation, AclResourceType, ErrorCode, GroupId, Refused, TopicId
from leaselog.wire.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)

HIDDEN = "The group has described topic(s) that the client is not authorized to describe."
#: a member's type; 0 is one that still speaks the classic protocol
CONSUMER = 1


@serves(ConsumerGroupDescribeRequest, versions=(0, 1), kips="KIP-848, 1099")
async def consumer_group_describe(
    request: ConsumerGroupDescribeRequest, context: RequestContext
) -> ConsumerGroupDescribeResponse:
    if not has_consumer_groups(context.broker.cluster, context.broker.config):
        code = ErrorCode.UNSUPPORTED_VERSION
        return ConsumerGroupDescribeResponse(
            groups=[DescribedGroup(group_id=group_id, error_code=code) for group_id in request.group_ids]
        )
    groups = await context.broker.turns.gather(_describe(GroupId(g), context) for g in request.group_ids)
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = context.operations(AclResourceType.GROUP, group.group_id)
    return ConsumerGroupDescribeResponse(groups=groups)


async def _describe(group_id: GroupId, context: RequestContext) -> DescribedGroup:
    denied = context.refuse_group(AclOperation.DESCRIBE, group_id)
    if denied is not None:
        return DescribedGroup(group_id=group_id, error_code=denied.code)

    def command(token: Token) -> DescribeConsumerGroup:
        return DescribeConsumerGroup(token, group_id)

    found = await context.broker.groups.ask(group_id, command, DescribedConsumerGroup)
    if isinstance(found, Refused):
        return DescribedGroup(group_id=group_id, error_code=found.code, error_message=found.message)
    members = [_member(member, context) for member in found.members]
    places = [p for m in members for a in (m.assignment, m.target_assignment) for p in a.topic_partitions]
    seen = {place.topic_name for place in places}
    if any(context.refuse_topic(AclOperation.DESCRIBE, topic) for topic in seen):
        return DescribedGroup(
            group_id=group_id, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, error_message=HIDDEN
        )
    return DescribedGroup(
        group_id=group_id,
        group_state=found.state,
        group_epoch=found.epoch,
        assignment_epoch=found.assignment_epoch,
        assignor_name=found.assignor,
        members=members,
    )


def _member(member: DescribedConsumerMember, context: RequestContext) -> Member:
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.topics,
        subscribed_topic_regex=member.pattern,
        assignment=_assignment(member.assigned, context),
        target_assignment=_assignment(member.target, context),
        member_type=CONSUMER,
    )


def _assignment(places: Mapping[TopicId, Collection[int]], context: RequestContext) -> Assignment:
    named = ((topic, context.broker.cluster.topic_name_of(topic)) for topic in places)
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic, topic_name=name, partitions=sorted(places[topic]))
            for topic, name in named
            if name is not None
        ]
    )
