"""One ShareFetch under way: what its partitions can give, and waiting for it.

A request looks at all its partitions, in its session's order; when there is enough, it acquires there and then, as
nothing else runs in between. Otherwise it waits in the waiting room, under the keys of what may change its mind, and
looks again. The records wanted are one budget for all partitions. Of the bytes each gets an even part, and what it
leaves goes to those after it; the first that has anything gets at least one batch, however large.

Who has records to acknowledge is not kept waiting for `max_wait_ms`: what it says of them stands behind this request on
the connection, and the others may be waiting for just that. It is answered with nothing when the patience of its
session ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from leaselog.broker.hosted import find_partition
from leaselog.broker.share_partition_owner import Helping, SharePartitionOwner
from leaselog.broker.waiting_room import FOR_ALL, Waking
from leaselog.model import ErrorCode, Refused
from leaselog.share import AcquireMode, ShareSession, TopicIdPartition
from leaselog.wire.messages.share_fetch import ShareFetchRequest

if TYPE_CHECKING:
    from leaselog.broker.broker import Broker

__all__ = ["Seat", "ShareFetching"]

#: the errors of a partition that Java's consumer knows what to do about
EXPECTED = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)


#: as the wire has them
MODES = {mode.value: mode for mode in AcquireMode}


class Seat:
    """One partition of the request, and what it has come to."""

    __slots__ = ("at", "error", "helping", "owner")

    def __init__(self, at: TopicIdPartition) -> None:
        self.at = at
        self.owner: SharePartitionOwner | None = None
        self.error = ErrorCode.NONE
        #: what it has given; None, too, when that is no record
        self.helping: Helping | None = None


class ShareFetching:
    """``allowed_bytes`` is what the request wants, or less when its client's quota says so."""

    __slots__ = (
        "_allowed_bytes",
        "_broker",
        "_deadline_ms",
        "_looked_at",
        "_patience_end_ms",
        "_request",
        "_session",
        "_started_ms",
        "bytes_given",
        "is_done",
        "seats",
    )

    def __init__(
        self,
        broker: Broker,
        session: ShareSession,
        request: ShareFetchRequest,
        partitions: Iterable[TopicIdPartition],
        allowed_bytes: int,
    ) -> None:
        self.seats = [Seat(at) for at in partitions]
        #: of records, by all seats
        self.bytes_given = 0
        self._broker = broker
        self._session = session
        self._request = request
        self._allowed_bytes = allowed_bytes
        self._started_ms = broker.monotonic_ms()
        self._deadline_ms = self._started_ms + max(request.max_wait_ms, 0)
        #: when to answer if the member has records to acknowledge then
        self._patience_end_ms = self._started_ms + session.patience_ms
        #: what the seats say is the answer
        self.is_done = False
        #: the waiting room's count at the last look
        self._looked_at = -1

    def try_now(self) -> bool:
        """Looks once, and takes what there is if it is enough. False: nothing was taken, and it is worth waiting."""
        broker = self._broker
        # the first look comes right after the start
        now_ms = self._started_ms if self._looked_at < 0 else broker.monotonic_ms()
        self._looked_at = broker.waiting_room.wake_count
        ready = self._ready()
        is_alive = self._is_session_alive()
        is_late = now_ms >= self._deadline_ms or broker.is_stopping or not is_alive
        if not is_late and not ready and now_ms >= self._patience_end_ms:
            is_late = self._owes_something()
        given = 0
        if not ready and all(seat.error for seat in self.seats):
            self.is_done = True
        elif is_late or (ready and self._is_enough(ready)):
            if is_alive:
                given = self._take(ready)
            # an error that taking met is an answer, as records are
            self.is_done = is_late or given > 0 or any(seat.error for seat in ready)
        if self.is_done and self.seats:  # or else it only acknowledged
            self._session.fetched(has_records=given > 0)
            elapsed_s = (broker.monotonic_ms() - self._started_ms) / 1000
            broker.share_metrics.fetched(
                self._session.key.group_id, len(self.seats), given, elapsed_s, is_late=is_late
            )
        return self.is_done

    async def wait(self) -> None:
        """Looks again whenever something happened, until it is enough or the time is up.

        Those who wait for one owner look one after the other: the first mostly takes all there is.
        """
        room = self._broker.waiting_room
        if self._looked_at != room.wake_count and self.try_now():
            return  # it happened between the first look, in the request's turn, and this one
        owes_something = self._owes_something()  # if not, it will not before this is answered
        while True:
            owners = [seat.owner for seat in self.seats if seat.owner is not None]
            now_ms = self._broker.monotonic_ms()
            left_ms = self._deadline_ms - now_ms
            if owes_something and now_ms < self._patience_end_ms:
                left_ms = min(left_ms, self._patience_end_ms - now_ms)
            waking = await room.wait_in_turn(owners, max(left_ms, 0) / 1000)
            try:
                if self.try_now():
                    return
            finally:
                if waking > FOR_ALL:
                    self._pass_on(waking)

    def _owes_something(self) -> bool:
        """Are there records for the member to acknowledge?"""
        member = self._session.key.member
        return any(seat.owner is not None and seat.owner.is_owed_by(member) for seat in self.seats)

    def _pass_on(self, waking: Waking) -> None:
        """Whatever it has taken or not: what can still be had is for the next."""
        for seat in self.seats:
            if seat.owner is not None and seat.owner.can_give():
                self._broker.waiting_room.pass_on(seat.owner, waking)

    def _is_session_alive(self) -> bool:
        """A session that ended meanwhile has given back what its member held: nothing more is to be taken for it. Nor
        for a request that another one of the session has overtaken, which will be answered with an error."""
        session = self._session
        is_there = self._broker.shares.sessions.get(session.key) is session
        return is_there and session.is_current(self._request.share_session_epoch)

    def _ready(self) -> list[Seat]:
        ready: list[Seat] = []
        for seat in self.seats:
            owner = self._owner(seat)
            if owner is not None and owner.can_give() and self._session.lends(seat.at):
                ready.append(seat)
        return ready

    def _owner(self, seat: Seat) -> SharePartitionOwner | None:
        """The owner to ask; without one the seat says why."""
        if seat.error:
            return None
        shares, group_id = self._broker.shares, self._session.key.group_id
        owner = seat.owner or shares.find(group_id, seat.at)
        topic = shares.topic_of(seat.at, owner)
        if topic is None:
            seat.error = ErrorCode.UNKNOWN_TOPIC_ID
            return None
        if owner is None or (owner.is_over and not owner.failure):
            partition = find_partition(self._broker, topic.name, seat.at.partition)
            if isinstance(partition, ErrorCode):
                seat.error = partition
                return None
            owner = shares.owner(group_id, seat.at, partition)
        elif seat.owner is None:
            owner.come_back()
        seat.owner = owner
        if owner.failure:
            # told to those who have waited for it; whoever comes next tries anew
            seat.error = _fetch_error(owner.failure)
            return None
        return owner

    def _is_enough(self, ready: list[Seat]) -> bool:
        min_bytes = self._request.min_bytes
        if min_bytes <= 1:
            return True
        max_bytes = self._max_bytes()
        min_bytes = min(min_bytes, max_bytes)
        if min_bytes <= 1:
            return True
        # a partition with more than its even part counts for that much only
        part = max(1, max_bytes // len(ready))
        owners = (seat.owner for seat in ready if seat.owner is not None)
        return sum(owner.readable_bytes(part) for owner in owners) >= min_bytes

    def _max_bytes(self) -> int:
        broker = self._broker
        return min(self._allowed_bytes, broker.config.fetch_max_bytes, broker.room_for_answers_bytes())

    def _take(self, ready: list[Seat]) -> int:
        """Acquires, for a session that is alive; how many have given records."""
        request = self._request
        left_records, left_bytes = request.max_records, self._max_bytes()
        is_first, given = True, 0
        for i, seat in enumerate(ready):
            if left_records <= 0 or seat.owner is None or (i and not self._is_session_alive()):
                break
            outcome = seat.owner.acquire(
                self._session.key.member,
                max_records=left_records,
                batch_size=request.batch_size,
                mode=MODES[request.share_acquire_mode],
                # for the first at least one: of fewer bytes than partitions only the last would get any, every time
                max_bytes=max(int(is_first), left_bytes // (len(ready) - i)),
                min_one_batch=is_first,
            )
            if isinstance(outcome, Refused):
                seat.error = _fetch_error(outcome.code)
                continue
            if not outcome.record_count:
                continue
            seat.helping = outcome
            size_bytes = len(outcome.records)
            left_records -= outcome.record_count
            left_bytes -= size_bytes
            self.bytes_given += size_bytes
            is_first = False
            given += 1
        return given


def _fetch_error(code: ErrorCode) -> ErrorCode:
    """Java's consumer dies of a fetch whose error it does not expect; of this one it takes note and goes on."""
    return code if code in EXPECTED else ErrorCode.UNKNOWN_SERVER_ERROR
