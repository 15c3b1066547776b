"""Everything of share groups that this node leads: their share sessions, and the owners of their share partitions.

An owner is made by the first fetch and kept while its group has a session here. What ends it is gathered here: a
connection that closes, a topic that is deleted, offsets that an administrator sets or deletes. Bounds: so many
sessions (`group.share.max.share.sessions`), and for each group at most one owner for each partition there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from leaselog.broker.cluster.cluster import Topic
from leaselog.broker.cluster.partition_lookup import find_partition
from leaselog.broker.lending.errors import as_fetch_error
from leaselog.broker.lending.fetch_line import FetchLine, Group
from leaselog.broker.lending.local_group import LocalGroup
from leaselog.broker.lending.partition_owner import SharePartitionOwner
from leaselog.broker.lending.support import LendingSupport
from leaselog.broker.records.partition import Partition
from leaselog.broker.runtime.client import Client
from leaselog.model import ErrorCode, GroupId, TopicId
from leaselog.share import ConnectionId, SessionKey, ShareSession, ShareSessions, TopicIdPartition

__all__ = ["SharePartitions"]

#: owners of a group without sessions that end in one turn of the loop
LEFT_AT_ONCE = 200


class SharePartitions:
    def __init__(self, support: LendingSupport) -> None:
        self.support = support
        self.sessions = self._no_sessions()
        #: one for all sessions
        self._reach = self.reach
        #: one for all owners
        self._told_of_end = self._ended
        #: those that have an owner or a session here
        self._groups: dict[GroupId, Group] = {}

    def group(self, group_id: GroupId) -> Group:
        group = self._groups.get(group_id)
        if group is None:
            group = self._groups[group_id] = LocalGroup(self.support.waiting_room)
        return group

    def line(self, session: ShareSession) -> FetchLine:
        """Of a session that is there, or was when the request came that asks."""
        group = self.group(session.key.group_id)
        line = group.lines.get(session.key.member)
        if line is not None and line.session is session:
            return line
        if line is not None:  # it has begun anew, and what its member held stays leased to it
            line.end()
        line = group.lines[session.key.member] = FetchLine(self._reach, group, session)
        return line

    # -- owners ---------------------------------------------------------------------------------------------

    def owners(self) -> Iterator[SharePartitionOwner]:
        for group in self._groups.values():
            yield from group.owners.values()

    def every_owner(self) -> list[SharePartitionOwner]:
        """All of them as they are now."""
        found: list[SharePartitionOwner] = []
        for group in self._groups.values():
            found += group.owners.values()
        return found

    def find(self, group_id: GroupId, at: TopicIdPartition) -> SharePartitionOwner | None:
        """The owner, if the group has fetched from the partition and somebody of it is still here."""
        group = self._groups.get(group_id)
        return None if group is None else group.owners.get(at)

    def owner(self, group_id: GroupId, at: TopicIdPartition, partition: Partition) -> SharePartitionOwner:
        """The owner, made and told to read its state if there is none. It may have failed by the time you have it."""
        group = self.group(group_id)
        owner = group.owners.get(at)
        if owner is not None and owner.partition is partition:
            owner.come_back()
            return owner
        if owner is not None:
            owner.end()
        owner = SharePartitionOwner(group_id, at, partition, self.support, group, ended=self._told_of_end)
        if not group.owners:
            self.support.metrics.group_came(group_id)
        group.owners[at] = owner
        owner.load()
        return owner

    def reach(self, group_id: GroupId, at: TopicIdPartition) -> SharePartitionOwner | ErrorCode:
        """The owner, made if there is none, or why it cannot be had."""
        owner = self.find(group_id, at)
        topic = self.topic_of(at, owner)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        if owner is not None:
            owner.come_back()
            return owner
        partition = find_partition(self.support, topic.name, at.partition)
        if isinstance(partition, ErrorCode):
            return partition
        owner = self.owner(group_id, at, partition)
        # told to those who have waited for it; whoever comes next tries anew
        return as_fetch_error(owner.failure) if owner.failure else owner

    def topic_of(self, at: TopicIdPartition, owner: SharePartitionOwner | None) -> Topic | None:
        """The topic, if it exists. Owners end with their topics, so by the name, which is quicker, where one is."""
        cluster = self.support.cluster
        if owner is None or owner.is_over:
            return cluster.topic_by_id(at.topic_id)
        return cluster.topic(owner.partition.name.topic)

    def _ended(self, owner: SharePartitionOwner) -> None:
        self.support.metrics.owner_ended(owner)
        group_id = owner.key.group_id
        group = self.group(group_id)
        group.has_ended(owner)
        if not group.owners:
            self.support.metrics.group_gone(group_id)
            self._forget_if_gone(group_id)

    def _forget_if_gone(self, group_id: GroupId) -> None:
        group = self._groups.get(group_id)
        if group is not None and not group.owners and not group.lines:
            del self._groups[group_id]

    def is_owed(self, key: SessionKey, at: TopicIdPartition) -> bool:
        """Has the member records of the partition that it has not acknowledged?"""
        owner = self.find(key.group_id, at)
        return owner is not None and owner.is_owed_by(key.member)

    def wake(self, group_id: GroupId) -> None:
        """Fetches that wait for anything of the group look again."""
        group = self._groups.get(group_id)
        if group is not None:
            group.all_changed()

    def wake_all(self) -> None:
        """The same of all groups."""
        for group in self._groups.values():
            group.all_changed()

    # -- what ends ------------------------------------------------------------------------------------------

    def connection_closed(self, client: Client) -> None:
        """Ends the sessions that the connection opened; without any session left, a group is forgotten here.

        Not when the broker itself hangs up to stop: that is no delivery that failed, and must not be counted as one.
        Leases are not durable, so what was held is available at the next start, as after a crash.
        """
        if self.support.runtime.is_stopping:
            return
        for closed in self.sessions.connection_closed(ConnectionId(client.connection_id)):
            if closed.session is not None:
                self.support.metrics.evicted_sessions += 1
                self.release(closed.session)
            if closed.is_group_empty:
                self._leave(closed.key.group_id)

    def release(self, session: ShareSession) -> None:
        """The session is over: what its member holds in its partitions is given back."""
        group_id, member = session.key
        group = self._groups.get(group_id)
        line = None if group is None else group.lines.get(member)
        if group is None or line is None or line.session is not session:
            return
        del group.lines[member]
        for owner in line.end():
            owner.release(member)
        self._forget_if_gone(group_id)

    def _leave(self, group_id: GroupId) -> None:
        group = self._groups.get(group_id)
        if group is not None:
            self._leave_some(group_id, list(group.owners.values()))

    def _leave_some(self, group_id: GroupId, owners: list[SharePartitionOwner]) -> None:
        """So many owners a turn of the loop; not if somebody of the group is back."""
        if self.sessions.of_group(group_id):
            return
        for owner in owners[-LEFT_AT_ONCE:]:
            owner.leave()
        del owners[-LEFT_AT_ONCE:]
        if owners:
            self.support.runtime.turns.queue(partial(self._leave_some, group_id, owners))

    def forget(self, group_id: GroupId, places: Iterable[tuple[TopicId, int]] | None = None) -> None:
        """What is known of the group here, or of these partitions of it, is not true any more; it is read anew.

        To be called when somebody else has state begin or go: the epoch of the state need not rise with that.
        """
        group = self._groups.get(group_id)
        if group is None:
            return
        for at in list(group.owners) if places is None else [TopicIdPartition(*place) for place in places]:
            owner = group.owners.get(at)
            if owner is not None:
                owner.end()

    def partitions_gone(self, topic_id: TopicId, indexes: Sequence[int]) -> None:
        """Owners of what does not exist any more end; fetches that wait for them look again, and are told of it.

        Also of partitions whose logs have failed and were opened anew: another owner reads the state again. Looks, in
        each group, at so many places as it has owners or the topic has partitions, whichever is less.
        """
        places = [TopicIdPartition(topic_id, index) for index in indexes]
        for group in list(self._groups.values()):
            is_wide = len(places) > len(group.owners)
            theirs = [at for at in group.owners if at.topic_id == topic_id] if is_wide else places
            for at in theirs:
                owner = group.owners.get(at)
                if owner is not None and owner.partition.is_gone:
                    owner.end()

    def clear(self) -> None:
        """Share groups were switched off, or the broker stops: nothing is left, and nobody is released."""
        for owner in list(self.owners()):
            owner.end()
        self.sessions = self._no_sessions()

    def _no_sessions(self) -> ShareSessions:
        return ShareSessions(self.support.runtime.config.group_share_max_share_sessions)
