"""DeleteShareGroupOffsets (key 92), version 0: a share group forgets topics (KIP-932).

- Needs leave to DELETE the group and to READ each topic.
- The group must be there and without members: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
- A topic that does not exist, or that the group has no state for, is UNKNOWN_TOPIC_OR_PARTITION; the others go.
"""

from __future__ import annotations

from leaselog.broker.lending.feature import has_share_groups
from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.share_group_commands import StatesOfTopic
from leaselog.model import AclOperation, ErrorCode, GroupId, Refused
from leaselog.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)

INVALID_GROUP = Refused(ErrorCode.INVALID_GROUP_ID, "The group id is invalid.")


@serves(DeleteShareGroupOffsetsRequest, versions=(0, 0), kips="KIP-932")
async def delete_share_group_offsets(
    request: DeleteShareGroupOffsetsRequest, context: RequestContext
) -> DeleteShareGroupOffsetsResponse:
    if not has_share_groups(context.broker.cluster):
        return _refused(Refused(ErrorCode.UNSUPPORTED_VERSION))
    denied = context.refuse_group(AclOperation.DELETE, request.group_id)
    if denied is not None:
        return _refused(denied)
    if not request.group_id:
        return _refused(INVALID_GROUP)
    if not request.topics:
        return DeleteShareGroupOffsetsResponse()
    topics = tuple(dict.fromkeys(topic.topic_name for topic in request.topics))
    hidden = {name: no for name in topics if (no := context.refuse_topic(AclOperation.READ, name))}
    answers = [_topic(name, refused) for name, refused in hidden.items()]
    if len(hidden) < len(topics):
        outcomes = await context.broker.share_groups.delete_offsets(
            GroupId(request.group_id), tuple(name for name in topics if name not in hidden)
        )
        if isinstance(outcomes, Refused):
            return _refused(outcomes)
        answers += [_topic(name, outcome) for name, outcome in outcomes.items()]
    return DeleteShareGroupOffsetsResponse(responses=answers)


def _refused(refused: Refused) -> DeleteShareGroupOffsetsResponse:
    return DeleteShareGroupOffsetsResponse(error_code=refused.code, error_message=refused.message)


def _topic(name: str, outcome: StatesOfTopic | Refused) -> DeleteShareGroupOffsetsResponseTopic:
    if isinstance(outcome, Refused):
        return DeleteShareGroupOffsetsResponseTopic(
            topic_name=name, error_code=outcome.code, error_message=outcome.message
        )
    return DeleteShareGroupOffsetsResponseTopic(topic_name=name, topic_id=outcome.topic_id)
