"""Share sessions: what a member fetches from this broker, and the epoch that orders its requests.

Rules are Apache Kafka's, with its oddities where a client can see them: ShareFetch and ShareAcknowledge advance one
epoch; who is no member of the group may fetch whatever it likes; nothing is evicted to make room; and a connection that
opened sessions ends, when it closes, whatever sessions their keys name by then. Beyond them, a member of the group is
given no records of what the group revokes from it (ADR 0018).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NewType

from leaselog.model import ErrorCode, GroupId, MemberId, Refused, TopicId, TopicIdPartition

__all__ = [
    "FINAL_EPOCH",
    "INITIAL_EPOCH",
    "ClosedConnection",
    "ConnectionId",
    "SessionKey",
    "ShareSession",
    "ShareSessions",
    "TopicIdPartition",
]

#: opens a session
INITIAL_EPOCH = 0
#: closes it
FINAL_EPOCH = -1
_LAST_EPOCH = 2**31 - 1
#: of a member with records to acknowledge: how long its next fetch waits after one that brought some, and at most
FIRST_PATIENCE_MS = 5
_LONGEST_PATIENCE_MS = 60_000

ConnectionId = NewType("ConnectionId", int)


class SessionKey(NamedTuple):
    group_id: GroupId
    member: MemberId


class ShareSession:
    """The partitions a member fetches, in the order of their turn."""

    __slots__ = (
        "_answering",
        "_last_turn",
        "_must_list",
        "_target",
        "epoch",
        "key",
        "partitions",
        "patience_ms",
        "revoked",
        "revoking",
    )

    def __init__(self, key: SessionKey, partitions: Iterable[TopicIdPartition]) -> None:
        self.key = key
        #: what the next request must carry
        self.epoch = 1
        #: what the last request carried
        self._answering = INITIAL_EPOCH
        self._last_turn = 0
        #: ascending: where each stands in the line
        self.partitions: dict[TopicIdPartition, int] = {}
        for partition in partitions:
            self._line_up(partition)
        #: partitions that the next response names even with nothing to say
        self._must_list: set[TopicIdPartition] = set()
        #: how long a fetch may wait while the member has records to acknowledge
        self.patience_ms = FIRST_PATIENCE_MS
        #: what the group wants the member to work on, by topic; None while it has not said so in this session
        self._target: Mapping[TopicId, frozenset[int]] | None = None
        #: what the member had lost before the session began
        self.revoked: Mapping[TopicId, frozenset[int]] = {}
        #: what the group is taking from it
        self.revoking: Mapping[TopicId, frozenset[int]] = {}

    def assign(
        self, target: Mapping[TopicId, frozenset[int]], revoking: Mapping[TopicId, frozenset[int]]
    ) -> None:
        """What the group has told the member with its last heartbeat."""
        self._target, self.revoking = target, revoking

    def may_acquire(self, at: TopicIdPartition) -> bool:
        """May the member have records of the partition?"""
        if self._target is None:
            return at.partition not in self.revoked.get(at.topic_id, ())
        return at.partition in self._target.get(at.topic_id, ())

    def update(self, added: Iterable[TopicIdPartition], forgotten: Iterable[TopicIdPartition]) -> None:
        """Additions come first: what is in both is forgotten."""
        for partition in added:
            if partition not in self.partitions:
                self._line_up(partition)
                self._must_list.add(partition)
        for partition in forgotten:
            self.partitions.pop(partition, None)
            self._must_list.discard(partition)

    def answered(self, partition: TopicIdPartition, *, has_records: bool, has_error: bool) -> bool:
        """Note what a response says of a partition, and learn whether it must name it.

        One that returned records goes to the end of the line, so that none starves. An error also has the next good
        answer named.
        """
        must_list = self._must_list
        listed = has_records or has_error or partition in must_list
        if partition not in self.partitions:
            return listed
        if has_records and len(self.partitions) > 1:
            self._line_up(partition)
        if has_error:
            must_list.add(partition)
        elif must_list:
            must_list.discard(partition)
        return listed

    def to_be_named(self) -> list[TopicIdPartition]:
        """What the next response names even with nothing to say, in the order of turn."""
        return sorted(self._must_list, key=self.partitions.__getitem__) if self._must_list else []

    def _line_up(self, partition: TopicIdPartition) -> None:
        """At the end of the line."""
        self._last_turn += 1
        self.partitions.pop(partition, None)
        self.partitions[partition] = self._last_turn

    def fetched(self, *, has_records: bool) -> None:
        """A fetch of the session has ended.

        Clients ask for more before they have worked on what they got, and what they acknowledge meanwhile waits behind
        that request. So it is not kept waiting: at first shortly, then twice as long each time, which is about as long
        as the member has held its records, until it brings some again.
        """
        if has_records:
            self.patience_ms = FIRST_PATIENCE_MS
        elif self.patience_ms < _LONGEST_PATIENCE_MS:
            self.patience_ms *= 2

    def advance(self) -> None:
        """A request has come that carries the epoch that was next."""
        self._answering = self.epoch
        self.epoch = 1 if self.epoch >= _LAST_EPOCH else self.epoch + 1

    def is_current(self, request_epoch: int) -> bool:
        """Has no other request advanced the session since the one with this epoch? Ask before answering it."""
        return self._answering == request_epoch


@dataclass(frozen=True, slots=True)
class ClosedConnection:
    """What the end of a connection ended. The member's records in these partitions are to be released."""

    key: SessionKey
    #: None when its session had been closed already
    session: ShareSession | None
    #: the group has no session left here: its share partitions may be dropped from memory
    is_group_empty: bool


class ShareSessions:
    """All sessions of this broker, at most so many."""

    def __init__(self, max_sessions: int) -> None:
        self.max_sessions = max_sessions
        self.evicted_count = 0
        self._sessions: dict[SessionKey, ShareSession] = {}
        #: the sessions that each connection has opened, which need not be there any more
        self._opened_by: dict[ConnectionId, dict[SessionKey, None]] = {}
        self._sessions_of_group: dict[GroupId, int] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partition_count(self) -> int:
        return sum(len(session.partitions) for session in self._sessions.values())

    def get(self, key: SessionKey) -> ShareSession | None:
        return self._sessions.get(key)

    def of_group(self, group_id: GroupId) -> int:
        """How many sessions the group has here."""
        return self._sessions_of_group.get(group_id, 0)

    def fetch(
        self,
        key: SessionKey,
        epoch: int,
        connection: ConnectionId,
        *,
        added: Sequence[TopicIdPartition] = (),
        forgotten: Sequence[TopicIdPartition] = (),
        has_acknowledgements: bool = False,
    ) -> ShareSession | Refused:
        """Open, continue or, at the final epoch, find the session of a ShareFetch.

        At the final epoch nothing changes yet: apply the acknowledgements, then ``end`` it. SHARE_SESSION_LIMIT_REACHED
        is to be answered only when the request's wait is over, or a client without a session would ask in a loop.
        """
        if epoch == INITIAL_EPOCH:
            return self._open(key, connection, added, has_acknowledgements)
        session = self._sessions.get(key)
        if session is None:
            return _not_found(key)
        if epoch == FINAL_EPOCH:
            return session
        if session.epoch != epoch:
            return _invalid_epoch(session, epoch)
        if added or forgotten:
            session.update(added, forgotten)
        session.advance()
        return session

    def acknowledge(self, key: SessionKey, epoch: int) -> ShareSession | Refused:
        """Continue the session of a ShareAcknowledge, which cannot open one; at the final epoch find it."""
        if epoch == INITIAL_EPOCH:
            return Refused(
                ErrorCode.INVALID_SHARE_SESSION_EPOCH,
                "share session epoch 0 cannot acknowledge, expected 1 or more",
            )
        session = self._sessions.get(key)
        if session is None:
            return _not_found(key)
        if epoch == FINAL_EPOCH:
            return session
        if session.epoch != epoch:
            return _invalid_epoch(session, epoch)
        session.advance()
        return session

    def end(self, key: SessionKey) -> ShareSession | None:
        """Close a session. The member's records in its partitions are to be released."""
        session = self._sessions.pop(key, None)
        if session is not None:
            left = self._sessions_of_group[key.group_id] - 1
            if left:
                self._sessions_of_group[key.group_id] = left
            else:
                del self._sessions_of_group[key.group_id]
        return session

    def connection_closed(self, connection: ConnectionId) -> list[ClosedConnection]:
        """End what this connection opened. Apache Kafka ends the last one only; any other stays there for ever."""
        return [self._closed(key) for key in self._opened_by.pop(connection, ())]

    def _closed(self, key: SessionKey) -> ClosedConnection:
        session = self.end(key)
        if session is not None:
            self.evicted_count += 1
        return ClosedConnection(key, session, self.of_group(key.group_id) == 0)

    def _open(
        self,
        key: SessionKey,
        connection: ConnectionId,
        partitions: Iterable[TopicIdPartition],
        has_acknowledgements: bool,
    ) -> ShareSession | Refused:
        if has_acknowledgements:
            return Refused(
                ErrorCode.INVALID_REQUEST,
                "share session epoch 0 opens a session and cannot acknowledge records",
            )
        # Apache Kafka leaves the leases of the session before to their deadlines
        self.end(key)
        if len(self._sessions) >= self.max_sessions:
            return Refused(
                ErrorCode.SHARE_SESSION_LIMIT_REACHED,
                f"this broker has {self.max_sessions} share sessions already",
            )
        session = ShareSession(key, partitions)
        self._sessions[key] = session
        self._sessions_of_group[key.group_id] = self.of_group(key.group_id) + 1
        opened = self._opened_by.setdefault(connection, {})
        if len(opened) >= self.max_sessions:  # of which most have been closed again
            del opened[next(iter(opened))]
        opened[key] = None
        return session


def _not_found(key: SessionKey) -> Refused:
    return Refused(
        ErrorCode.SHARE_SESSION_NOT_FOUND,
        f"member {key.member} of group {key.group_id} has no share session here",
    )


def _invalid_epoch(session: ShareSession, epoch: int) -> Refused:
    return Refused(
        ErrorCode.INVALID_SHARE_SESSION_EPOCH, f"share session epoch {epoch}, expected {session.epoch}"
    )
