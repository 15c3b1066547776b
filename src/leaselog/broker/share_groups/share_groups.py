"""Share groups, for the handlers: what takes both a group's owner and the persister.

A group says which state must begin or go, and writes that down; the persister is asked from here; the group is told
the outcome. A heartbeat waits for the state it needs, a moment at most, and then goes on: so a member has its first
partitions in the answer to its first heartbeat, where Apache Kafka has it come back an interval later.

Whoever sets or deletes what a group has come to needs it without members from the first step to the last. So such work
on one group is done one at a time, and who joins meanwhile waits for it, a moment at most, and is told to come back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from leaselog.broker.groups.coordinator import GroupCoordinator
from leaselog.broker.lending.inspection import stored_machine
from leaselog.broker.lending.partitions import SharePartitions
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.coordination.group_commands import Answer, DeleteGroup, Done
from leaselog.coordination.share_group_commands import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    AlterShareOffsets,
    DeleteShareOffsets,
    DescribedShareGroup,
    DescribeShareGroup,
    ForgetShareStates,
    KnownShareStates,
    ListShareStates,
    Places,
    SettleShareStates,
    ShareBeat,
    ShareHeartbeat,
    ShareOffsetsToSet,
    ShareStatesToDelete,
    StatesOfTopic,
)
from leaselog.coordination.share_state_batches import NO_OFFSET
from leaselog.coordination.share_state_commands import (
    NO_EPOCH,
    DeleteState,
    InitializeState,
    ShareSummary,
    SummarizeState,
    Written,
)
from leaselog.coordination.share_state_facts import NO_COUNT, SharePartitionKey
from leaselog.model import ErrorCode, GroupId, Refused, TopicId, TopicPartition
from leaselog.share import SessionKey, ShareSession, TopicIdPartition

__all__ = ["PartitionOffset", "ShareGroups"]

#: how long a heartbeat waits for state to begin; past it the member is told what there is, and comes back
PATIENCE_S = 2.0
#: keys that the persister is asked about at a time
KEYS_AT_A_TIME = 1_000
#: how often a deletion starts over because state has begun meanwhile
DELETE_ATTEMPTS = 3

log = StructuredLog("share groups")

_T = TypeVar("_T")
_Place = tuple[TopicId, int]
NOTHING: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class PartitionOffset:
    """How far a share group has come in a partition; -1 for what is not known."""

    start_offset: int = -1
    leader_epoch: int = 0
    lag: int = -1
    refused: Refused | None = None


class ShareGroups:
    def __init__(self, groups: GroupCoordinator, shares: SharePartitions) -> None:
        self._groups = groups
        self._shares = shares
        self._support = shares.support
        #: state that is beginning, by group; who needs it waits
        self._beginning: dict[GroupId, set[asyncio.Task[None]]] = {}
        #: groups that an administrator is at, until when
        self._closed: dict[GroupId, asyncio.Future[None]] = {}

    def stop(self) -> None:
        for tasks in self._beginning.values():
            for task in tasks:
                task.cancel()

    # -- members --------------------------------------------------------------------------------------------

    async def heartbeat(self, ask: ShareHeartbeat) -> ShareBeat | Refused:
        """The group's answer. The token of ``ask`` does not matter."""
        if ask.member_epoch == JOIN_EPOCH and any(map(self._support.cluster.topic, ask.topics or ())):
            self._support.persister.prepare()  # beside the write of the member, not behind it
        if ask.member_epoch == JOIN_EPOCH and not await self._is_open(ask.group_id):
            return Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "The group's state is being changed.")
        session = self._shares.sessions.get(SessionKey(ask.group_id, ask.member_id))
        if session is None:
            return await self._beat_with_states(ask)
        return await self._beat_in_session(ask, session)

    def session_begun(self, session: ShareSession) -> None:
        """Its first fetch may ask for what the member has lost with a heartbeat whose answer is on its way. Of that it
        is lent nothing; of all else whatever it asks for, as by Apache Kafka."""
        session.withheld = self._groups.taken_from(*session.key)

    async def _beat_in_session(self, ask: ShareHeartbeat, session: ShareSession) -> ShareBeat | Refused:
        """Of a member that may hold records. Clients drop what they acknowledge of a partition that they have lost, so
        it is taken from them in two steps: the session is lent no more of it, and when nothing of it is held any more,
        which mostly is at once, the member loses it.
        """
        let_go = self._not_held(session, session.leaving)
        beat = await self._beat_with_states(ask._replace(may_hold=True, lets_go=let_go))
        if isinstance(beat, Refused) or beat.epoch == LEAVE_EPOCH:
            return beat
        session.assign(beat.target, beat.leaving)
        let_go = self._not_held(session, beat.leaving)
        if not let_go:
            return beat
        last = await self._heartbeat(_continued(ask, beat)._replace(may_hold=True, lets_go=let_go))
        if not isinstance(last, Refused):
            session.assign(last.target, last.leaving)
        return last

    def _not_held(self, session: ShareSession, places: Places) -> Places:
        """Those of which the session's member holds no records."""
        shares = self._shares
        return _by_topic(
            (topic, i)
            for topic, partitions in places.items()
            for i in partitions
            if not shares.is_owed(session.key, TopicIdPartition(topic, i))
        )

    async def _beat_with_states(self, ask: ShareHeartbeat) -> ShareBeat | Refused:
        """Once there is state for what it assigns, or a moment has passed."""
        beat = await self._heartbeat(ask)
        if isinstance(beat, Refused):
            return beat
        if beat.to_initialize:
            self._begin(ask.group_id, _starts(beat.to_initialize, beat.added), beat.state_epoch)
        elif not beat.is_initializing:
            return beat
        tasks = self._beginning.get(ask.group_id)
        if tasks:
            await asyncio.wait(tasks, timeout=PATIENCE_S)
        return await self._heartbeat(_continued(ask, beat))

    async def _heartbeat(self, ask: ShareHeartbeat) -> ShareBeat | Refused:
        groups = self._groups
        return await groups.ask(ask.group_id, lambda token: ask._replace(token=token), ShareBeat)

    async def describe(self, group_id: GroupId) -> DescribedShareGroup | Refused:
        groups = self._groups
        return await groups.ask(
            group_id, lambda token: DescribeShareGroup(token, group_id), DescribedShareGroup
        )

    # -- state that begins ----------------------------------------------------------------------------------

    def _begin(self, group_id: GroupId, starts: Mapping[_Place, int], state_epoch: int) -> None:
        """Not given up when the member that set it off goes away: others need it too."""
        task = asyncio.get_running_loop().create_task(self._initialize_all(group_id, starts, state_epoch))
        self._beginning.setdefault(group_id, set()).add(task)
        task.add_done_callback(lambda done: self._begun(group_id, done))

    def _begun(self, group_id: GroupId, task: asyncio.Task[None]) -> None:
        tasks = self._beginning[group_id]
        tasks.discard(task)
        if not tasks:
            del self._beginning[group_id]

    async def _initialize_all(
        self, group_id: GroupId, starts: Mapping[_Place, int], state_epoch: int
    ) -> None:
        # Nobody waits for the group to have written the outcome down: the heartbeats that build on it do.
        outcomes, _ = await self._initialize(group_id, starts, state_epoch)
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

    async def _initialize(
        self, group_id: GroupId, offsets: Mapping[_Place, int], state_epoch: int
    ) -> tuple[dict[_Place, Written | Refused], asyncio.Future[Answer]]:
        """Has the state begin at these offsets, and tells the group: what came of it, and the group's answer."""
        outcomes: dict[_Place, Written | Refused] = {}
        for some in _in_pieces(offsets):
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
        done = _by_topic(place for place, outcome in outcomes.items() if not isinstance(outcome, Refused))
        failed = _by_topic(place for place, outcome in outcomes.items() if isinstance(outcome, Refused))
        settled = self._groups.tell(group_id, lambda token: SettleShareStates(token, group_id, done, failed))
        return outcomes, settled

    # -- administration -------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _without_members(self, group_id: GroupId) -> AsyncIterator[None]:
        """Nobody joins the group inside, and nobody else changes its state: a member that came between two steps
        would be given what goes with the next."""
        while (others := self._closed.get(group_id)) is not None:
            await asyncio.wait([others])
        done = self._closed[group_id] = asyncio.get_running_loop().create_future()
        try:
            yield
        finally:
            del self._closed[group_id]
            done.set_result(None)

    async def _is_open(self, group_id: GroupId) -> bool:
        """Once nobody is at it any more; False if that takes too long for a heartbeat."""
        work = self._closed.get(group_id)
        if work is not None:
            await asyncio.wait([work], timeout=PATIENCE_S)
        return group_id not in self._closed

    async def topics_with_state(self, group_id: GroupId) -> Sequence[StatesOfTopic] | Refused:
        """Empty for a group that is not there, or is none that shares."""
        found = await self._groups.ask(
            group_id, lambda token: ListShareStates(token, group_id), KnownShareStates
        )
        return found if isinstance(found, Refused) else found.topics

    async def offsets(self, group_id: GroupId, topic: StatesOfTopic) -> dict[int, PartitionOffset]:
        """How far the group has come, whether or not there is such a group."""
        found: dict[int, PartitionOffset] = {}
        for some in _in_pieces(sorted(topic.partitions)):
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
        async with self._without_members(group_id):
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
        outcomes: Mapping[_Place, Written | Refused] = {}
        if wanted:
            outcomes, settled = await self._initialize(group_id, wanted, plan.state_epoch)
            await settled
        answers: dict[TopicPartition, Refused | None] = {}
        for place in offsets:
            at = places.get(place)
            outcome = None if at is None else outcomes[at]
            unknown = Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            answers[place] = unknown if outcome is None else outcome if isinstance(outcome, Refused) else None
        return answers

    def _place(self, place: TopicPartition) -> _Place | None:
        topic = self._support.cluster.topic(place.topic)
        return None if topic is None else (topic.topic_id, place.partition)

    async def delete_offsets(
        self, group_id: GroupId, topics: Sequence[str]
    ) -> dict[str, StatesOfTopic | Refused] | Refused:
        """What was deleted of each topic, or why nothing was."""
        async with self._without_members(group_id):
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
        failed = await self._delete(group_id, plan.topics)
        outcomes: dict[str, StatesOfTopic | Refused] = {
            topic.name: failed.get(topic.topic_id, topic) for topic in plan.topics
        }
        return outcomes | dict(plan.refused)

    async def delete_group(self, group_id: GroupId) -> Refused | None:
        """A group of any kind; a share group's state goes first, so that nothing is left which nobody would find."""
        async with self._without_members(group_id):
            return await self._delete_group(group_id)

    async def _delete_group(self, group_id: GroupId) -> Refused | None:
        for _ in range(DELETE_ATTEMPTS):
            answer = await self._groups.ask_any(group_id, lambda token: DeleteGroup(token, group_id))
            if isinstance(answer, Refused):
                return answer
            if not isinstance(answer, ShareStatesToDelete):
                return None
            for refused in (await self._delete(group_id, answer.topics)).values():
                return refused
        return Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "The group's state keeps beginning anew.")

    async def _delete(self, group_id: GroupId, topics: Iterable[StatesOfTopic]) -> dict[TopicId, Refused]:
        """Has the state go, tells the group; why it did not, by topic."""
        failed: dict[TopicId, Refused] = {}
        gone: set[TopicId] = set()
        for topic in topics:
            gone.add(topic.topic_id)
            for some in _in_pieces(sorted(topic.partitions)):
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


def _continued(ask: ShareHeartbeat, beat: ShareBeat) -> ShareHeartbeat:
    """The same heartbeat once more, of a member that has not been told of this beat."""
    return ask._replace(
        member_epoch=beat.epoch,
        rack_id=None,
        topics=None,
        continues_from=ask.member_epoch,
        wants_assignment=beat.assignment is not None,
    )


def _starts(places: Places, added: Places) -> dict[_Place, int]:
    """Where each begins. What was added to a topic begins with its first record; of the rest the group's policy
    decides when it is first read."""
    return {
        (topic, i): 0 if i in added.get(topic, NOTHING) else NO_OFFSET
        for topic, partitions in places.items()
        for i in sorted(partitions)
    }


def _by_topic(places: Iterable[_Place]) -> dict[TopicId, frozenset[int]]:
    found: dict[TopicId, set[int]] = {}
    for topic, partition in places:
        found.setdefault(topic, set()).add(partition)
    return {topic: frozenset(partitions) for topic, partitions in found.items()}


def _in_pieces(things: Iterable[_T]) -> Iterator[list[_T]]:
    """As many at a time as the persister is asked about."""
    left = iter(things)
    while piece := list(islice(left, KEYS_AT_A_TIME)):
        yield piece
