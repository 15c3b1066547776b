"""Everything of share groups that this node leads: their share sessions, and the owners of their share partitions.

An owner is made by the first fetch and kept while its group has a session here. What ends it is gathered here: a
connection that closes, a topic that is deleted, offsets that an administrator sets or deletes. Bounds: so many
sessions (`group.share.max.share.sessions`), and for each group at most one owner for each partition there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from leaselog.broker.api import Client
from leaselog.broker.cluster import Topic
from leaselog.broker.partition import Partition
from leaselog.broker.share_partition_owner import SharePartitionOwner
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import GroupId, TopicId
from leaselog.share import ConnectionId, SessionKey, ShareSession, ShareSessions, TopicIdPartition

if TYPE_CHECKING:
    from leaselog.broker.broker import Broker

__all__ = ["SharePartitions"]


class SharePartitions:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.sessions = ShareSessions(broker.config.group_share_max_share_sessions)
        self._owners: dict[GroupId, dict[TopicIdPartition, SharePartitionOwner]] = {}

    # -- owners ---------------------------------------------------------------------------------------------

    def owners(self) -> Iterator[SharePartitionOwner]:
        for group in self._owners.values():
            yield from group.values()

    def find(self, group_id: GroupId, at: TopicIdPartition) -> SharePartitionOwner | None:
        """The owner, if the group has fetched from the partition and somebody of it is still here."""
        group = self._owners.get(group_id)
        return None if group is None else group.get(at)

    def owner(self, group_id: GroupId, at: TopicIdPartition, partition: Partition) -> SharePartitionOwner:
        """The owner, made and told to read its state if there is none. It may have failed by the time you have it."""
        owner = self.find(group_id, at)
        if owner is not None and owner.partition is partition:
            owner.come_back()
            return owner
        if owner is not None:
            owner.end()
        key = SharePartitionKey(group_id, at.topic_id, at.partition)
        owner = SharePartitionOwner(key, partition, self._broker, ended=self._ended)
        if group_id not in self._owners:
            self._owners[group_id] = {}
            self._broker.share_metrics.group_came(group_id)
        self._owners[group_id][at] = owner
        owner.load()
        return owner

    def topic_of(self, at: TopicIdPartition, owner: SharePartitionOwner | None) -> Topic | None:
        """The topic, if it exists. Owners end with their topics, so by the name, which is quicker, where one is."""
        cluster = self._broker.cluster
        if owner is None or owner.is_over:
            return cluster.topic_by_id(at.topic_id)
        return cluster.topic(owner.partition.name.topic)

    def _ended(self, owner: SharePartitionOwner) -> None:
        self._broker.share_metrics.owner_ended(owner)
        at = TopicIdPartition(owner.key.topic_id, owner.key.partition)
        group = self._owners.get(owner.key.group_id)
        if group is not None and group.get(at) is owner:
            del group[at]
            if not group:
                del self._owners[owner.key.group_id]
                self._broker.share_metrics.group_gone(owner.key.group_id)

    def is_owed(self, key: SessionKey, at: TopicIdPartition) -> bool:
        """Has the member records of the partition that it has not acknowledged?"""
        owner = self.find(key.group_id, at)
        return owner is not None and owner.is_owed_by(key.member)

    def wake(self, group_id: GroupId) -> None:
        """Fetches that wait for anything of the group look again."""
        for owner in self._owners.get(group_id, {}).values():
            self._broker.waiting_room.wake(owner)

    # -- what ends ------------------------------------------------------------------------------------------

    def connection_closed(self, client: Client) -> None:
        """Ends the sessions that the connection opened; without any session left, a group is forgotten here.

        Not when the broker itself hangs up to stop: that is no delivery that failed, and must not be counted as one.
        Leases are not durable, so what was held is available at the next start, as after a crash.
        """
        if self._broker.is_stopping:
            return
        for closed in self.sessions.connection_closed(ConnectionId(client.connection_id)):
            if closed.session is not None:
                self._broker.share_metrics.evicted_sessions += 1
                self.release(closed.session)
            if closed.is_group_empty:
                self._leave(closed.key.group_id)

    def release(self, session: ShareSession) -> None:
        """The session is over: what its member holds in its partitions is given back."""
        for at in session.partitions:
            owner = self.find(session.key.group_id, at)
            if owner is not None:
                owner.release(session.key.member)

    def _leave(self, group_id: GroupId) -> None:
        for owner in list(self._owners.get(group_id, {}).values()):
            owner.leave()

    def forget(self, group_id: GroupId, places: Iterable[tuple[TopicId, int]] | None = None) -> None:
        """What is known of the group here, or of these partitions of it, is not true any more; it is read anew.

        To be called when somebody else has state begin or go: the epoch of the state need not rise with that.
        """
        group = self._owners.get(group_id)
        if group is None:
            return
        for at in list(group) if places is None else [TopicIdPartition(*place) for place in places]:
            owner = group.get(at)
            if owner is not None:
                owner.end()

    def topic_deleted(self) -> None:
        """Owners of what does not exist any more end; fetches that wait for them are told that it does not."""
        for owner in list(self.owners()):
            if owner.partition.is_deleted:
                owner.end()

    def clear(self) -> None:
        """Share groups were switched off, or the broker stops: nothing is left, and nobody is released."""
        for owner in list(self.owners()):
            owner.end()
        self.sessions = ShareSessions(self._broker.config.group_share_max_share_sessions)
