"""Share groups, for whoever administers them: what takes both a group's owner and the persister.

A group says which state must begin or go, and writes that down; the persister is asked from here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leaselog.broker.groups.coordinator import GroupCoordinator
from leaselog.broker.lending.inspection import stored_machine
from leaselog.broker.lending.support import LendingSupport
from leaselog.broker.share_groups.group_turns import GroupTurns
from leaselog.broker.share_groups.places import in_pieces
from leaselog.broker.share_groups.states import GroupStates
from leaselog.coordination.group_commands import DeleteGroup
from leaselog.coordination.share_group_commands import (
    AlterShareOffsets,
    DeleteShareOffsets,
    DescribedShareGroup,
    DescribeShareGroup,
    KnownShareStates,
    ListShareStates,
    ShareOffsetsToSet,
    ShareStatesToDelete,
    StatesOfTopic,
)
from leaselog.coordination.share_group_facts import PartitionKey
from leaselog.coordination.share_state_commands import NO_EPOCH, ShareSummary, SummarizeState, Written
from leaselog.coordination.share_state_facts import NO_COUNT, SharePartitionKey
from leaselog.model import ErrorCode, GroupId, Refused, TopicPartition

__all__ = ["PartitionOffset", "ShareGroups"]

#: how often a deletion starts over because state has begun meanwhile
DELETE_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class PartitionOffset:
    """How far a share group has come in a partition; -1 for what is not known."""

    start_offset: int = -1
    leader_epoch: int = 0
    lag: int = -1
    refused: Refused | None = None


class ShareGroups:
    def __init__(
        self, groups: GroupCoordinator, support: LendingSupport, states: GroupStates, turns: GroupTurns
    ) -> None:
        self._groups = groups
        self._support = support
        self._states = states
        self._turns = turns

    async def describe(self, group_id: GroupId) -> DescribedShareGroup | Refused:
        groups = self._groups
        return await groups.ask(
            group_id, lambda token: DescribeShareGroup(token, group_id), DescribedShareGroup
        )

    async def topics_with_state(self, group_id: GroupId) -> Sequence[StatesOfTopic] | Refused:
        """Empty for a group that is not there, or is none that shares."""
        found = await self._groups.ask(
            group_id, lambda token: ListShareStates(token, group_id), KnownShareStates
        )
        return found if isinstance(found, Refused) else found.topics

    async def offsets(self, group_id: GroupId, topic: StatesOfTopic) -> dict[int, PartitionOffset]:
        """How far the group has come, whether or not there is such a group."""
        found: dict[int, PartitionOffset] = {}
        for some in in_pieces(sorted(topic.partitions)):
            summaries = await asyncio.gather(
                *(
                    self._support.persister.read_summary(
                        SummarizeState(SharePartitionKey(group_id, topic.topic_id, i), NO_EPOCH)
                    )
                    for i in some
                )
            )
            for i, summary in zip(some, summaries, strict=True):
                key = SharePartitionKey(group_id, topic.topic_id, i)
                found[i] = await self._offset(key, TopicPartition(topic.name, i), summary)
        return found

    async def _offset(
        self, key: SharePartitionKey, place: TopicPartition, summary: ShareSummary | Refused
    ) -> PartitionOffset:
        if isinstance(summary, Refused):
            return PartitionOffset()
        if summary.start_offset < 0 or summary.delivery_complete_count == NO_COUNT:
            return PartitionOffset(summary.start_offset, summary.leader_epoch)
        partition = self._support.logs.partition(*place)
        if partition is None:
            return PartitionOffset(refused=Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        lag = partition.log.high_watermark - summary.start_offset - summary.delivery_complete_count
        if partition.log.start_offset > summary.start_offset:
            # What retention takes is written into the state with the next delivery, which may never come. Kafka
            # counts it until then.
            machine = await stored_machine(self._support, key, partition)
            end = partition.log.high_watermark
            lag = end - partition.log.start_offset if isinstance(machine, Refused) else machine.lag(end)
        return PartitionOffset(summary.start_offset, summary.leader_epoch, lag)

    async def alter_offsets(
        self, group_id: GroupId, offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, Refused | None] | Refused:
        """Why each was not set, None if it was; a refusal for all of them if the group is not to be altered."""
        async with self._turns.without_members(group_id):
            return await self._alter_offsets(group_id, offsets)

    async def _alter_offsets(
        self, group_id: GroupId, offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, Refused | None] | Refused:
        plan = await self._groups.ask(
            group_id, lambda token: AlterShareOffsets(token, group_id, offsets), ShareOffsetsToSet
        )
        if isinstance(plan, Refused):
            return plan
        places = {place: self._place(place) for place in offsets if place not in plan.unknown}
        wanted = {at: offsets[place] for place, at in places.items() if at is not None}
        outcomes: Mapping[PartitionKey, Written | Refused] = {}
        if wanted:
            outcomes, settled = await self._states.initialize(group_id, wanted, plan.state_epoch)
            await settled
        answers: dict[TopicPartition, Refused | None] = {}
        for place in offsets:
            at = places.get(place)
            outcome = None if at is None else outcomes[at]
            unknown = Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            answers[place] = unknown if outcome is None else outcome if isinstance(outcome, Refused) else None
        return answers

    def _place(self, place: TopicPartition) -> PartitionKey | None:
        topic = self._support.cluster.topic(place.topic)
        return None if topic is None else (topic.topic_id, place.partition)

    async def delete_offsets(
        self, group_id: GroupId, topics: Sequence[str]
    ) -> dict[str, StatesOfTopic | Refused] | Refused:
        """What was deleted of each topic, or why nothing was."""
        async with self._turns.without_members(group_id):
            return await self._delete_offsets(group_id, topics)

    async def _delete_offsets(
        self, group_id: GroupId, topics: Sequence[str]
    ) -> dict[str, StatesOfTopic | Refused] | Refused:
        plan = await self._groups.ask(
            group_id,
            lambda token: DeleteShareOffsets(token, group_id, tuple(topics)),
            ShareStatesToDelete,
        )
        if isinstance(plan, Refused):
            return plan
        failed = await self._states.delete(group_id, plan.topics)
        outcomes: dict[str, StatesOfTopic | Refused] = {
            topic.name: failed.get(topic.topic_id, topic) for topic in plan.topics
        }
        return outcomes | dict(plan.refused)

    async def delete_group(self, group_id: GroupId) -> Refused | None:
        """A group of any kind; a share group's state goes first, so that nothing is left which nobody would find."""
        async with self._turns.without_members(group_id):
            return await self._delete_group(group_id)

    async def _delete_group(self, group_id: GroupId) -> Refused | None:
        for _ in range(DELETE_ATTEMPTS):
            answer = await self._groups.ask_any(group_id, lambda token: DeleteGroup(token, group_id))
            if isinstance(answer, Refused):
                return answer
            if not isinstance(answer, ShareStatesToDelete):
                return None
            for refused in (await self._states.delete(group_id, answer.topics)).values():
                return refused
        return Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "The group's state keeps beginning anew.")
