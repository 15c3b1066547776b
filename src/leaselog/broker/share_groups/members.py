"""The members of share groups, for the handlers: what takes a group's owner, the persister and share sessions.

A heartbeat waits for the state it needs, a moment at most, and then goes on: so a member has its first partitions in
the answer to its first heartbeat, where Apache Kafka has it come back an interval later.
"""

from __future__ import annotations

from leaselog.broker.groups.coordinator import GroupCoordinator
from leaselog.broker.lending.partitions import SharePartitions
from leaselog.broker.share_groups.group_turns import GroupTurns
from leaselog.broker.share_groups.places import by_topic
from leaselog.broker.share_groups.states import GroupStates
from leaselog.coordination.share_group_commands import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    Places,
    ShareBeat,
    ShareHeartbeat,
)
from leaselog.coordination.share_group_facts import PartitionKey
from leaselog.coordination.share_state_batches import NO_OFFSET
from leaselog.model import ErrorCode, Refused
from leaselog.share import SessionKey, ShareSession, TopicIdPartition

__all__ = ["ShareMembers"]

#: how long a heartbeat waits for state to begin; past it the member is told what there is, and comes back
PATIENCE_S = 2.0
NOTHING: frozenset[int] = frozenset()


class ShareMembers:
    def __init__(
        self, groups: GroupCoordinator, shares: SharePartitions, states: GroupStates, turns: GroupTurns
    ) -> None:
        self._groups = groups
        self._shares = shares
        self._states = states
        self._turns = turns

    async def heartbeat(self, ask: ShareHeartbeat) -> ShareBeat | Refused:
        """The group's answer. The token of ``ask`` does not matter."""
        if ask.member_epoch == JOIN_EPOCH and any(map(self._shares.support.cluster.topic, ask.topics or ())):
            self._shares.support.persister.prepare()  # beside the write of the member, not behind it
        if ask.member_epoch == JOIN_EPOCH and not await self._turns.is_open(ask.group_id, PATIENCE_S):
            return Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "The group's state is being changed.")
        session = self._shares.sessions.get(SessionKey(ask.group_id, ask.member_id))
        if session is None:
            return await self._beat_with_states(ask)
        return await self._beat_in_session(ask, session)

    def session_begun(self, session: ShareSession) -> None:
        """Its first fetch may ask for what the member has lost with a heartbeat whose answer is on its way. Of that
        it gets nothing; of all else whatever it asks for, as by Apache Kafka."""
        session.revoked = self._groups.revoked_from(*session.key)

    async def _beat_in_session(self, ask: ShareHeartbeat, session: ShareSession) -> ShareBeat | Refused:
        """Of a member that may hold records. Clients drop what they acknowledge of a partition that they have lost, so
        it is revoked in two steps: the session gets no more of it, and when nothing of it is held any more,
        which mostly is at once, the member loses it.
        """
        not_held = self._not_held(session, session.revoking)
        beat = await self._beat_with_states(ask._replace(may_hold=True, not_held=not_held))
        if isinstance(beat, Refused) or beat.epoch == LEAVE_EPOCH:
            return beat
        session.assign(beat.target, beat.revoking)
        not_held = self._not_held(session, beat.revoking)
        if not not_held:
            return beat
        last = await self._heartbeat(_continued(ask, beat)._replace(may_hold=True, not_held=not_held))
        if not isinstance(last, Refused):
            session.assign(last.target, last.revoking)
        return last

    def _not_held(self, session: ShareSession, places: Places) -> Places:
        """Those of which the session's member holds no records."""
        shares = self._shares
        return by_topic(
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
            self._states.begin(ask.group_id, _starts(beat.to_initialize, beat.added), beat.state_epoch)
        elif not beat.is_initializing:
            return beat
        await self._states.begun(ask.group_id, PATIENCE_S)
        return await self._heartbeat(_continued(ask, beat))

    async def _heartbeat(self, ask: ShareHeartbeat) -> ShareBeat | Refused:
        groups = self._groups
        return await groups.ask(ask.group_id, lambda token: ask._replace(token=token), ShareBeat)


def _continued(ask: ShareHeartbeat, beat: ShareBeat) -> ShareHeartbeat:
    """The same heartbeat once more, of a member that has not been told of this beat."""
    return ask._replace(
        member_epoch=beat.epoch,
        rack_id=None,
        topics=None,
        continues_from=ask.member_epoch,
        wants_assignment=beat.assignment is not None,
    )


def _starts(places: Places, added: Places) -> dict[PartitionKey, int]:
    """Where each begins. What was added to a topic begins with its first record; of the rest the group's policy
    decides when it is first read."""
    return {
        (topic, i): 0 if i in added.get(topic, NOTHING) else NO_OFFSET
        for topic, partitions in places.items()
        for i in sorted(partitions)
    }
