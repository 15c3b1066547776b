"""One ShareFetch under way: what its partitions can give, and waiting for it.

A request looks at all its partitions, in its session's order; when there is enough, it acquires there and then, as
nothing else runs in between. Otherwise it waits in the waiting room, under the keys of what may change its mind, and
looks again. The records wanted are one budget for all partitions. Of the bytes each gets an even part, and what it
leaves goes to those after it; the first that has anything gets at least one batch, however large.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from leaselog.broker.hosted import find_partition
from leaselog.broker.share_partition_owner import Helping, SharePartitionOwner
from leaselog.broker.waiting_room import FOR_ALL, Waking
from leaselog.model import ErrorCode, Refused
from leaselog.share import AcquireMode, ShareSession, TopicIdPartition

if TYPE_CHECKING:
    from leaselog.broker.broker import Broker

__all__ = ["Seat", "ShareFetching", "Wish"]

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


class Wish(NamedTuple):
    """What the request asks for, beside from where."""

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    max_records: int
    batch_size: int
    mode: AcquireMode


@dataclass(slots=True)
class Seat:
    """One partition of the request, and what it has come to."""

    at: TopicIdPartition
    owner: SharePartitionOwner | None = None
    error: ErrorCode = ErrorCode.NONE
    helping: Helping | None = None

    @property
    def has_records(self) -> bool:
        return self.helping is not None and self.helping.record_count > 0


class ShareFetching:
    def __init__(
        self,
        broker: Broker,
        session: ShareSession,
        epoch: int,
        partitions: Iterable[TopicIdPartition],
        wish: Wish,
    ) -> None:
        self.seats = [Seat(at) for at in partitions]
        self._broker = broker
        self._session = session
        #: the request's
        self._epoch = epoch
        self._wish = wish
        self._started_ms = broker.monotonic_ms()
        self._deadline_ms = self._started_ms + max(wish.max_wait_ms, 0)
        #: what the seats say is the answer
        self.is_done = False
        #: the waiting room's count at the last look
        self._looked_at = -1

    @property
    def bytes_given(self) -> int:
        return sum(len(seat.helping.records) for seat in self.seats if seat.helping is not None)

    def try_now(self) -> bool:
        """Looks once, and takes what there is if it is enough. False: nothing was taken, and it is worth waiting."""
        self._looked_at = self._broker.waiting_room.wake_count
        ready = self._ready()
        is_late = self._left_ms() <= 0 or self._broker.is_stopping or not self._is_session_alive()
        if all(seat.error for seat in self.seats):
            self.is_done = True
        elif is_late or (ready and self._is_enough(ready)):
            self.is_done = self._take(ready) or is_late
        if self.is_done:
            self._count(is_late=is_late)
        return self.is_done

    def _count(self, *, is_late: bool) -> None:
        if not self.seats:
            return  # it only acknowledged
        given = sum(1 for seat in self.seats if seat.has_records)
        elapsed_s = (self._broker.monotonic_ms() - self._started_ms) / 1000
        self._broker.share_metrics.fetched(
            self._session.key.group_id, len(self.seats), given, elapsed_s, is_late=is_late
        )

    async def wait(self) -> None:
        """Looks again whenever something happened, until it is enough or the time is up.

        Those who wait for one owner look one after the other: the first mostly takes all there is.
        """
        room = self._broker.waiting_room
        if self._looked_at != room.wake_count and self.try_now():
            return  # it happened between the first look, in the request's turn, and this one
        while True:
            owners = [seat.owner for seat in self.seats if seat.owner is not None]
            waking = await room.wait_in_turn(owners, max(self._left_ms(), 0) / 1000)
            try:
                if self.try_now():
                    return
            finally:
                if waking > FOR_ALL:
                    self._pass_on(waking)

    def _pass_on(self, waking: Waking) -> None:
        """Whatever it has taken or not: what can still be had is for the next."""
        for seat in self.seats:
            if seat.owner is not None and seat.owner.can_give():
                self._broker.waiting_room.pass_on(seat.owner, waking)

    def _left_ms(self) -> float:
        return self._deadline_ms - self._broker.monotonic_ms()

    def _is_session_alive(self) -> bool:
        """A session that ended meanwhile has given back what its member held: nothing more is to be taken for it. Nor
        for a request that another one of the session has overtaken, which will be answered with an error."""
        is_there = self._broker.shares.sessions.get(self._session.key) is self._session
        return is_there and self._session.is_current(self._epoch)

    def _ready(self) -> list[Seat]:
        ready: list[Seat] = []
        for seat in self.seats:
            owner = self._owner(seat)
            if owner is not None and owner.can_give():
                ready.append(seat)
        return ready

    def _owner(self, seat: Seat) -> SharePartitionOwner | None:
        """The owner to ask; without one the seat says why."""
        if seat.error:
            return None
        name = self._broker.cluster.topic_name_of(seat.at.topic_id)
        if name is None:
            seat.error = ErrorCode.UNKNOWN_TOPIC_ID
            return None
        partition = find_partition(self._broker, name, seat.at.partition)
        if isinstance(partition, ErrorCode):
            seat.error = partition
            return None
        if seat.owner is None or (seat.owner.is_over and not seat.owner.failure):
            seat.owner = self._broker.shares.owner(self._session.key.group_id, seat.at, partition)
        if seat.owner.failure:
            # told to those who have waited for it; whoever comes next tries anew
            seat.error = _fetch_error(seat.owner.failure)
            return None
        return seat.owner

    def _is_enough(self, ready: list[Seat]) -> bool:
        min_bytes = min(self._wish.min_bytes, self._max_bytes())
        if min_bytes <= 1:
            return True
        # a partition with more than its even part counts for that much only
        part = max(1, self._max_bytes() // len(ready))
        owners = (seat.owner for seat in ready if seat.owner is not None)
        return sum(owner.readable_bytes(part) for owner in owners) >= min_bytes

    def _max_bytes(self) -> int:
        config = self._broker.config
        return min(self._wish.max_bytes, config.fetch_max_bytes, self._broker.room_for_answers_bytes())

    def _take(self, ready: list[Seat]) -> bool:
        """Acquires; whether that has changed anything worth answering."""
        wish = self._wish
        left_records, left_bytes = wish.max_records, self._max_bytes()
        is_first = True
        for i, seat in enumerate(ready):
            if left_records <= 0 or seat.owner is None or not self._is_session_alive():
                break
            outcome = seat.owner.acquire(
                self._session.key.member,
                max_records=left_records,
                batch_size=wish.batch_size,
                mode=wish.mode,
                # for the first at least one: of fewer bytes than partitions only the last would get any, every time
                max_bytes=max(int(is_first), left_bytes // (len(ready) - i)),
                min_one_batch=is_first,
            )
            if isinstance(outcome, Refused):
                seat.error = _fetch_error(outcome.code)
                continue
            seat.helping = outcome
            left_records -= outcome.record_count
            left_bytes -= len(outcome.records)
            is_first = is_first and not outcome.records
        return not is_first or any(seat.error for seat in ready)


def _fetch_error(code: ErrorCode) -> ErrorCode:
    """Java's consumer dies of a fetch whose error it does not expect; of this one it takes note and goes on."""
    return code if code in EXPECTED else ErrorCode.UNKNOWN_SERVER_ERROR
