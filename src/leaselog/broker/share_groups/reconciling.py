"""Share groups and the state that is kept for them, when a power cut has taken the end of either's log.

Where syncs are not waited for, each log loses what it likes. A group may remember state that is gone: nobody could ever
read it, and the group would not consume any more. Or state is there of which its group knows nothing: the group would
begin it anew, where its policy says, or be refused for ever, as its epochs begin anew, too. So before anybody is
served each takes on what the other knows (ADR 0024).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Protocol

from leaselog.broker.groups.coordinator import GroupCoordinator
from leaselog.broker.lending.partitions import SharePartitions
from leaselog.broker.lending.start import reset_offset
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.broker.share_groups.administration import ShareGroups
from leaselog.broker.share_groups.places import in_pieces
from leaselog.broker.share_state.coordinator import ShareCoordinator
from leaselog.coordination.group_commands import Done
from leaselog.coordination.share_group_commands import AdoptShareStates
from leaselog.coordination.share_group_facts import TopicPartitions
from leaselog.coordination.share_state_batches import NO_OFFSET
from leaselog.coordination.share_state_commands import InitializeState, ShareSummary, SummarizeState
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import GroupId, Refused, TopicId, TopicPartition

__all__ = ["reconcile"]

log = StructuredLog("share groups")


class Reconcilable(Protocol):
    """Who keeps share groups, and who keeps their state."""

    @property
    def groups(self) -> GroupCoordinator: ...

    @property
    def share_groups(self) -> ShareGroups: ...

    @property
    def share_coordinator(self) -> ShareCoordinator: ...

    @property
    def shares(self) -> SharePartitions: ...


async def reconcile(house: Reconcilable) -> None:
    """To be called when all logs are read, and before anybody is served."""
    await _tell_groups(house)
    for group in list(house.groups.listed()):
        if group.type == "share":
            await _begin_lost(house, group.group_id)


async def _tell_groups(house: Reconcilable) -> None:
    """What state there is."""
    found: dict[GroupId, dict[TopicId, set[int]]] = {}
    epochs: dict[GroupId, int] = {}
    for key, epoch in house.share_coordinator.state_epochs():
        found.setdefault(key.group_id, {}).setdefault(key.topic_id, set()).add(key.partition)
        epochs[key.group_id] = max(epoch, epochs.get(key.group_id, epoch))
    for group_id, topics in found.items():
        places = dict(_named(house, topics))
        answer = await house.groups.ask(
            group_id,
            lambda token, at=group_id, of=places: AdoptShareStates(token, at, of, epochs[at]),  # type: ignore[misc]
            Done,
        )
        if isinstance(answer, Refused):
            log.warning("share state belongs to no share group", group=group_id, why=answer)


def _named(house: Reconcilable, topics: dict[TopicId, set[int]]) -> Iterator[tuple[TopicId, TopicPartitions]]:
    for topic_id, partitions in topics.items():
        name = house.shares.support.cluster.topic_name_of(topic_id)
        if name is not None:
            yield topic_id, TopicPartitions(name, frozenset(partitions))


async def _begin_lost(house: Reconcilable, group_id: GroupId) -> None:
    """State that the group remembers and that is gone begins anew: where the group's policy says now, so that nothing
    that is written from now on is passed by."""
    known = await house.share_groups.topics_with_state(group_id)
    described = await house.share_groups.describe(group_id)
    if isinstance(known, Refused) or isinstance(described, Refused):
        return
    for some in in_pieces((topic, i) for topic in known for i in sorted(topic.partitions)):
        keys = [SharePartitionKey(group_id, topic.topic_id, i) for topic, i in some]
        summaries = await asyncio.gather(
            *(house.shares.support.persister.read_summary(SummarizeState(key)) for key in keys)
        )
        lost = [
            InitializeState(key, described.epoch, _start_now(house, group_id, TopicPartition(topic.name, i)))
            for key, (topic, i), summary in zip(keys, some, summaries, strict=True)
            if summary == ShareSummary()
        ]
        await asyncio.gather(*map(house.shares.support.persister.initialize, lost))
        for ask in lost:
            log.warning("share state was lost and begins anew", key=ask.key, start=ask.start_offset)


def _start_now(house: Reconcilable, group_id: GroupId, name: TopicPartition) -> int:
    partition = house.shares.support.logs.partition(*name)
    if partition is None:
        return NO_OFFSET
    policy = house.shares.support.cluster.configuration.group(group_id).share_auto_offset_reset
    start = reset_offset(policy, partition.log, now_ms=house.shares.support.runtime.now_ms())
    return NO_OFFSET if isinstance(start, Refused) else start
