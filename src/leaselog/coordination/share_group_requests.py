"""Which of a share group's modules answers what, and who is refused before one does."""

from __future__ import annotations

from typing import assert_never

from leaselog.coordination.group_commands import Answer
from leaselog.coordination.group_turn import Draftable, Turn
from leaselog.coordination.share_group import ShareGroup
from leaselog.coordination.share_group_commands import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    AdoptShareStates,
    AlterShareOffsets,
    DeleteShareOffsets,
    DescribeShareGroup,
    ForgetShareStates,
    KnownShareStates,
    ListShareStates,
    SettleShareStates,
    ShareGroupCommand,
    ShareHeartbeat,
)
from leaselog.coordination.share_group_heartbeat import heartbeat, refusal_of_shape
from leaselog.coordination.share_group_states import (
    adopt,
    alter_offsets,
    delete_offsets,
    forget,
    known,
    settle,
)
from leaselog.model import ErrorCode, GroupId, Refused

__all__ = ["answer_share", "may_found", "no_group"]


def may_found(ask: ShareGroupCommand) -> bool:
    """Whether a group that is not there comes to be by this."""
    if isinstance(ask, ShareHeartbeat):
        return ask.member_epoch == JOIN_EPOCH and refusal_of_shape(ask) is None
    return isinstance(ask, AlterShareOffsets | AdoptShareStates)


def answer_share(group: Draftable | None, ask: ShareGroupCommand, turn: Turn) -> Answer:
    refused = refusal_of_shape(ask) if isinstance(ask, ShareHeartbeat) else None
    if refused is None and not isinstance(group, ShareGroup):
        refused = _refusal_of_group(group, ask)
    if refused is not None:
        return KnownShareStates(()) if isinstance(ask, ListShareStates) else refused
    assert isinstance(group, ShareGroup)
    match ask:
        case ShareHeartbeat():
            return heartbeat(turn.draft(group), ask, turn)
        case DescribeShareGroup():
            return group.described()
        case ListShareStates():
            return known(group)
        case SettleShareStates():
            return settle(turn.draft(group), ask, turn)
        case AlterShareOffsets():
            return alter_offsets(turn.draft(group), ask, turn)
        case DeleteShareOffsets():
            return delete_offsets(turn.draft(group), ask, turn)
        case ForgetShareStates():
            return forget(turn.draft(group), ask.topics, turn)
        case AdoptShareStates():
            return adopt(turn.draft(group), ask, turn)
        case _:
            assert_never(ask)


def _refusal_of_group(group: Draftable | None, ask: ShareGroupCommand) -> Refused:
    if not ask.group_id:
        return Refused(ErrorCode.INVALID_GROUP_ID)
    if group is not None:
        return Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {ask.group_id} is not a share group.")
    if isinstance(ask, ShareHeartbeat) and ask.member_epoch != LEAVE_EPOCH:
        return Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Share group {ask.group_id} not found.")
    return no_group(ask.group_id)


def no_group(group_id: GroupId) -> Refused:
    return Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
