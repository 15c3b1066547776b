"""What a consumer group of KIP-848 answers, and who is refused before it does."""

from __future__ import annotations

from leaselog.coordination.classic_group import ClassicGroup, GroupState
from leaselog.coordination.consumer_group import ConsumerGroup
from leaselog.coordination.consumer_group_commands import (
    JOIN_EPOCH,
    ConsumerGroupAnswer,
    ConsumerGroupCommand,
    ConsumerHeartbeat,
)
from leaselog.coordination.consumer_group_heartbeat import heartbeat, refusal_of_shape
from leaselog.coordination.group_facts import GroupDropped
from leaselog.coordination.group_turn import Draftable, Turn
from leaselog.coordination.share_group_requests import no_group
from leaselog.model import ErrorCode, GroupId, Refused

__all__ = ["answer_consumer"]


def answer_consumer(
    group: Draftable | None, ask: ConsumerGroupCommand, turn: Turn
) -> ConsumerGroupAnswer | Refused:
    """``group`` is whatever has the name. A consumer group comes to be with its first member, also in the place of a
    classic one without members, whose offsets it goes on from."""
    settings = turn.cluster.consumer_settings(ask.group_id)
    if not isinstance(ask, ConsumerHeartbeat):
        if isinstance(group, ConsumerGroup):
            return group.described(settings.assignors[0])
        return no_group(ask.group_id) if group is None else _no_consumer_group(group, ask.group_id)
    refused = refusal_of_shape(ask, settings.assignors)
    if refused is not None:
        return refused
    if not isinstance(group, ConsumerGroup):
        if ask.member_epoch != JOIN_EPOCH or not _is_free(group):
            return _no_consumer_group(group, ask.group_id)
        if group is not None:
            turn.facts.append(GroupDropped(ask.group_id))
        group = ConsumerGroup(ask.group_id)
    return heartbeat(turn.draft(group), ask, turn)


def _is_free(group: Draftable | None) -> bool:
    return group is None or (isinstance(group, ClassicGroup) and group.state is GroupState.EMPTY)


def _no_consumer_group(group: Draftable | None, group_id: GroupId) -> Refused:
    if group is not None:
        return Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    return Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")
