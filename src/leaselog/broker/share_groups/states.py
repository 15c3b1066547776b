"""The state of share groups, as it begins and goes: the persister is asked, and the group is told the outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from leaselog.broker.groups.coordinator import GroupCoordinator
from leaselog.broker.lending.partitions import SharePartitions
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.broker.share_groups.places import by_topic, in_pieces
from leaselog.coordination.group_commands import Answer, Done
from leaselog.coordination.share_group_commands import ForgetShareStates, SettleShareStates, StatesOfTopic
from leaselog.coordination.share_group_facts import PartitionKey
from leaselog.coordination.share_state_commands import DeleteState, InitializeState, Written
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import GroupId, Refused, TopicId

__all__ = ["GroupStates"]

log = StructuredLog("share groups")


class GroupStates:
    def __init__(self, groups: GroupCoordinator, shares: SharePartitions) -> None:
        self._groups = groups
        self._shares = shares
        self._support = shares.support
        #: state that is beginning, by group; who needs it waits
        self._beginning: dict[GroupId, set[asyncio.Task[None]]] = {}

    def stop(self) -> None:
        for tasks in self._beginning.values():
            for task in tasks:
                task.cancel()

    async def begun(self, group_id: GroupId, patience_s: float) -> None:
        """Returns when all that is beginning has begun, or could not, or the time is up."""
        tasks = self._beginning.get(group_id)
        if tasks:
            await asyncio.wait(tasks, timeout=patience_s)

    def begin(self, group_id: GroupId, starts: Mapping[PartitionKey, int], state_epoch: int) -> None:
        """Not given up when the member that set it off goes away: others need it too."""
        task = asyncio.get_running_loop().create_task(self._initialize_all(group_id, starts, state_epoch))
        self._beginning.setdefault(group_id, set()).add(task)
        task.add_done_callback(lambda done: self._has_begun(group_id, done))

    def _has_begun(self, group_id: GroupId, task: asyncio.Task[None]) -> None:
        tasks = self._beginning[group_id]
        tasks.discard(task)
        if not tasks:
            del self._beginning[group_id]

    async def _initialize_all(
        self, group_id: GroupId, starts: Mapping[PartitionKey, int], state_epoch: int
    ) -> None:
        # Nobody waits for the group to have written the outcome down: the heartbeats that build on it do.
        outcomes, _ = await self.initialize(group_id, starts, state_epoch)
        refused = {place: outcome for place, outcome in outcomes.items() if isinstance(outcome, Refused)}
        if refused:
            (topic, partition), why = next(iter(refused.items()))
            log.warning(
                "share state could not begin",
                group=group_id,
                partitions=len(refused),
                topic=self._support.cluster.topic_name_of(topic),
                partition=partition,
                why=why,
            )

    async def initialize(
        self, group_id: GroupId, offsets: Mapping[PartitionKey, int], state_epoch: int
    ) -> tuple[dict[PartitionKey, Written | Refused], asyncio.Future[Answer]]:
        """Has the state begin at these offsets, and tells the group: what came of it, and the group's answer."""
        outcomes: dict[PartitionKey, Written | Refused] = {}
        for some in in_pieces(offsets):
            self._shares.forget(group_id, some)
            answers = await asyncio.gather(
                *(
                    self._support.persister.initialize(
                        InitializeState(SharePartitionKey(group_id, *place), state_epoch, offsets[place])
                    )
                    for place in some
                )
            )
            outcomes.update(zip(some, answers, strict=True))
        done = by_topic(place for place, outcome in outcomes.items() if not isinstance(outcome, Refused))
        failed = by_topic(place for place, outcome in outcomes.items() if isinstance(outcome, Refused))
        settled = self._groups.tell(group_id, lambda token: SettleShareStates(token, group_id, done, failed))
        return outcomes, settled

    async def delete(self, group_id: GroupId, topics: Iterable[StatesOfTopic]) -> dict[TopicId, Refused]:
        """Has the state go, tells the group; why it did not, by topic."""
        failed: dict[TopicId, Refused] = {}
        gone: set[TopicId] = set()
        for topic in topics:
            gone.add(topic.topic_id)
            for some in in_pieces(sorted(topic.partitions)):
                self._shares.forget(group_id, [(topic.topic_id, i) for i in some])
                keys = [SharePartitionKey(group_id, topic.topic_id, i) for i in some]
                answers = await asyncio.gather(
                    *(self._support.persister.delete(DeleteState(key)) for key in keys)
                )
                for refused in answers:
                    if isinstance(refused, Refused):
                        failed[topic.topic_id] = refused
        gone -= failed.keys()
        await self._groups.ask(
            group_id, lambda token: ForgetShareStates(token, group_id, frozenset(gone)), Done
        )
        return failed
