"""Incremental fetch sessions (KIP-227): which partitions a fetcher follows, so that it need not say so each time.

A session is a list of partitions with what was last told about each. A request brings changes; a response brings
only what is new. Knows neither the log nor the wire: it keeps the order, the epochs and the cache's bound.

At the bound (`max.incremental.fetch.session.cache.slots`) a session that nobody used for
`min.incremental.fetch.session.eviction.ms` makes room; if there is none, the fetcher gets no session and sends
full requests, which is slower for it and changes nothing else. The same goes for a session that would take the
partitions of all sessions past `MAX_FOLLOWED`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from uuid import UUID

from leaselog.model import ErrorCode

__all__ = [
    "FINAL_EPOCH",
    "INITIAL_EPOCH",
    "FetchSession",
    "FetchSessions",
    "FollowedPartition",
    "PartitionKey",
]

#: a full fetch that asks for a new session
INITIAL_EPOCH = 0
#: a full fetch outside any session
FINAL_EPOCH = -1
MAX_EPOCH = 2**31 - 1
#: partitions in all sessions together, half a kilobyte each. Kafka bounds the sessions alone.
MAX_FOLLOWED = 200_000

#: topic name (older versions) or topic id, and partition
PartitionKey = tuple[str | UUID, int]


@dataclass(slots=True)
class FollowedPartition:
    """What the fetcher asked of one partition, and what it was last told."""

    topic: str | UUID
    index: int
    fetch_offset: int
    max_bytes: int
    leader_epoch: int
    last_fetched_epoch: int
    told_high_watermark: int = -1
    told_start_offset: int = -1
    told_error: int = 0

    def ask(self, newer: FollowedPartition) -> None:
        self.fetch_offset = newer.fetch_offset
        self.max_bytes = newer.max_bytes
        self.leader_epoch = newer.leader_epoch
        self.last_fetched_epoch = newer.last_fetched_epoch

    def tell(self, *, error: int, high_watermark: int, start_offset: int, has_records: bool) -> bool:
        """Notes what an answer says; whether it says anything new."""
        news = (
            has_records
            or error != ErrorCode.NONE
            or self.told_error != error
            or self.told_high_watermark != high_watermark
            or self.told_start_offset != start_offset
        )
        self.told_error, self.told_high_watermark, self.told_start_offset = (
            error,
            high_watermark,
            start_offset,
        )
        return news


@dataclass(slots=True)
class FetchSession:
    #: 0: outside any session, made for one full fetch
    id: int
    next_epoch: int
    last_used_ms: int
    uses_topic_ids: bool
    #: how many of its partitions count towards the bound of all sessions
    counted: int = 0
    #: in the order in which the next response looks at them
    partitions: OrderedDict[PartitionKey, FollowedPartition] = field(default_factory=OrderedDict)

    @property
    def is_incremental(self) -> bool:
        return self.id != 0

    def follow(self, asked: FollowedPartition) -> None:
        known = self.partitions.get((asked.topic, asked.index))
        if known is None:
            self.partitions[asked.topic, asked.index] = asked
        else:
            known.ask(asked)

    def forget(self, keys: Iterable[PartitionKey]) -> None:
        for key in keys:
            self.partitions.pop(key, None)

    def served(self, key: PartitionKey) -> None:
        """Moves a partition that got records behind the others, so that none of them starves."""
        if key in self.partitions:
            self.partitions.move_to_end(key)


class FetchSessions:
    def __init__(self, *, slots: int, evict_after_ms: int, new_id: Callable[[], int]) -> None:
        self._slots = slots
        self._evict_after_ms = evict_after_ms
        self._new_id = new_id
        #: least recently used first
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()
        #: the sum of what the sessions count
        self._followed = 0

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partition_count(self) -> int:
        """Of all sessions, as of their last request."""
        return self._followed

    def enter(
        self, session_id: int, epoch: int, *, uses_topic_ids: bool, now_ms: int
    ) -> FetchSession | ErrorCode:
        """The session a request belongs to: a kept one, a new one, or one for this request alone."""
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._drop(session_id)
            kept_id = self._make_room(now_ms) if epoch == INITIAL_EPOCH else 0
            session = FetchSession(kept_id, 1, now_ms, uses_topic_ids)
            if kept_id:
                self._sessions[kept_id] = session
            return session
        return self._continue(session_id, epoch, uses_topic_ids=uses_topic_ids, now_ms=now_ms)

    def settle(self, session: FetchSession) -> None:
        """Call when a request's changes are in. A session without partitions, or one too many, ends here.

        Its answer then bears the id 0, and the fetcher begins anew.
        """
        if self._sessions.get(session.id) is not session:
            return
        count = len(session.partitions)
        self._followed += count - session.counted
        session.counted = count
        if not count or self._followed > MAX_FOLLOWED:
            self._drop(session.id)
            session.id = 0

    def _drop(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._followed -= session.counted

    def _continue(
        self, session_id: int, epoch: int, *, uses_topic_ids: bool, now_ms: int
    ) -> FetchSession | ErrorCode:
        session = self._sessions.get(session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.next_epoch != epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.uses_topic_ids != uses_topic_ids:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        session.next_epoch = 1 if epoch == MAX_EPOCH else epoch + 1
        session.last_used_ms = now_ms
        self._sessions.move_to_end(session_id)
        return session

    def _make_room(self, now_ms: int) -> int:
        """A free id, or 0 when every slot is taken by a session still in use."""
        if len(self._sessions) >= self._slots:
            if not self._sessions:
                return 0
            oldest = next(iter(self._sessions.values()))
            if now_ms - oldest.last_used_ms <= self._evict_after_ms:
                return 0
            self._drop(oldest.id)
        while True:
            new_id = self._new_id()
            if new_id > 0 and new_id not in self._sessions:
                return new_id
