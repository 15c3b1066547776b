"""One Fetch under way: what there is of its partitions, and waiting until that is enough.

The request looks at all its partitions once, in its session's order. Then it stays parked under them and looks again at
those alone that were woken, so that a waking costs as much as what it woke. Between two looks at a partition it knows
where the records lie, not the records: these are read when the answer is written, and a partition that has lost some
meanwhile is looked at once more.

A reader of committed records (READ_COMMITTED) is offered what lies before the last stable offset, and nothing beyond it
counts as there: it waits until the marker of a transaction is safe. With the records it is told which transactions
among them were aborted.

The first partition with records gets at least one batch whatever the limits (KIP-74); the others share what the limits
leave.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from leaselog.broker.cluster.partition_lookup import PartitionSource, why_not_here
from leaselog.broker.fetching.sessions import FetchSession, FollowedPartition
from leaselog.broker.quotas.client_quotas import ClientQuotas
from leaselog.broker.quotas.held_bytes import PETTY_BYTES
from leaselog.broker.records.partition import Partition
from leaselog.broker.records.waiting_room import WaitingRoom, Watch
from leaselog.broker.runtime.runtime import Runtime
from leaselog.log import AbortedTransaction, FileSlice, PartitionLog
from leaselog.model import ErrorCode, Refused
from leaselog.wire.messages.fetch import AbortedTransaction as ToldAborted
from leaselog.wire.messages.fetch import EpochEndOffset, FetchRequest, PartitionData

__all__ = ["Fetching", "Found"]

READ_COMMITTED = 1
#: more is not read in a turn: a consumer asks again, and others go on. A larger batch comes whole.
MOST_AT_ONCE_BYTES = 4 << 20
#: more than a segment holds
EVERYTHING = 2**40


@dataclass(slots=True)
class Found:
    """What there is of one partition."""

    followed: FollowedPartition
    #: None if there is none of this name
    partition: Partition | None = None
    #: where the records lie; None without any, or with an error
    records: FileSlice | None = None
    error: ErrorCode = ErrorCode.NONE
    diverging: EpochEndOffset | None = None

    @property
    def size_bytes(self) -> int:
        return 0 if self.records is None else self.records.size_bytes

    @property
    def is_urgent(self) -> bool:
        """An error, or a divergence: told at once. What does not exist hurries nobody who waits for something else."""
        return self.partition is not None and (self.error != ErrorCode.NONE or self.diverging is not None)

    def is_cut(self, *, committed: bool) -> bool:
        """Whether records are there that the limits kept out."""
        if self.partition is None or self.records is None:
            return False
        log = self.partition.log
        end = log.visible_end(committed=committed)
        if self.followed.fetch_offset >= end:
            return False
        there = log.locate(self.followed.fetch_offset, EVERYTHING, end)
        last = log.locate(end - 1, 0, end)
        if isinstance(there, Refused) or isinstance(last, Refused):
            return True
        return there.size_bytes > self.size_bytes or last.file is not there.file


class FetchHouse(PartitionSource, Protocol):
    """What a fetch reads from and waits in."""

    @property
    def runtime(self) -> Runtime: ...

    @property
    def quotas(self) -> ClientQuotas: ...

    @property
    def waiting_room(self) -> WaitingRoom: ...


class Fetching:
    def __init__(
        self,
        house: FetchHouse,
        session: FetchSession,
        request: FetchRequest,
        quota_bytes: Callable[[], int],
        room_bytes: Callable[[], int],
        may_read: Callable[[str], bool] | None = None,
    ) -> None:
        """``quota_bytes`` tells the most that the client's limit lets one fetch bring; ``room_bytes`` what may
        still be handed to the sockets of clients that do not keep up; ``may_read`` whether the client may read a topic
        now, None: whatever there is."""
        self._house = house
        self._runtime = house.runtime
        self._request = request
        self._quota_bytes = quota_bytes
        self._room_bytes = room_bytes
        self._may_read = may_read
        #: as others do not read what they asked for, there is none but for little batches
        self._has_room = True
        replica = request.replica_state
        self._is_replica = (request.replica_id if replica is None else replica.replica_id) >= 0
        #: of the request's isolation levels, one sees no further than the first open transaction
        self._committed = request.isolation_level == READ_COMMITTED
        self._deadline_ms = house.runtime.monotonic_ms() + request.max_wait_ms
        self._session = session
        #: in the session's order
        self.found: list[Found] = []
        #: of the records that were found, in all partitions
        self.bytes_found = 0
        #: how many partitions exist, and how many have something that is told at once
        self._known = self._urgent = 0
        #: a limit keeps records out: whole batches stop short of it, and what is left of it is not to be waited for
        self._is_cut = False
        #: the waiting room's count when the first look began
        self._looked_at = -1

    # -- looking --------------------------------------------------------------------------------------------

    def look(self) -> Generator[None, None, None]:
        """Looks at all partitions, one a step."""
        self._looked_at = self._house.waiting_room.wake_count
        if not self.found:
            for followed in tuple(self._session.partitions.values()):
                self.found.append(Found(followed))
                yield
        for found in self.found:
            self._look_at(found)
            yield
        if not self.is_enough():
            for found in self.found:
                self._is_cut = self._is_cut or self._is_cut_short(found)
                yield

    def is_enough(self) -> bool:
        runtime, request = self._runtime, self._request
        if runtime.is_stopping or request.max_wait_ms <= 0 or self._urgent or not self._known or self._is_cut:
            return True
        # More than the answer may hold is not worth waiting for.
        return self.bytes_found >= min(request.min_bytes, request.max_bytes, runtime.config.fetch_max_bytes)

    def _is_cut_short(self, found: Found) -> bool:
        """Whether more is not worth waiting for. Where there is no room now there may be some soon."""
        return self._has_room and found.is_cut(committed=self._committed)

    def _look_at(self, found: Found) -> None:
        """Looks at one partition, again or for the first time."""
        self._count(found, -1)
        found.records, found.diverging = None, None
        found.partition, found.error = self._partition(found.followed)
        if found.partition is not None:
            left_bytes = self._limit_bytes() - self.bytes_found
            limit_bytes = max(min(left_bytes, found.followed.max_bytes), 0)
            found.error = self._find(found, found.partition, limit_bytes)
        self._count(found, 1)

    def _count(self, found: Found, times: int) -> None:
        self.bytes_found += times * found.size_bytes
        self._known += times * (found.partition is not None)
        self._urgent += times * found.is_urgent

    def _limit_bytes(self) -> int:
        request, quotas = self._request, self._house.quotas
        room_bytes = self._room_bytes()
        self._has_room = room_bytes > 0
        room_bytes = min(max(room_bytes, PETTY_BYTES), MOST_AT_ONCE_BYTES)
        limit_bytes = min(request.max_bytes, self._runtime.config.fetch_max_bytes, room_bytes)
        if quotas.limits_fetch:
            limit_bytes = min(limit_bytes, self._quota_bytes())
        return limit_bytes

    def _partition(self, followed: FollowedPartition) -> tuple[Partition | None, ErrorCode]:
        """The partition asked for, or why there is none."""
        house, topic = self._house, followed.topic
        name = house.cluster.topic_name_of(topic) if isinstance(topic, UUID) else topic
        if name is None:
            return None, ErrorCode.UNKNOWN_TOPIC_ID
        if self._may_read is not None and not self._may_read(name):
            # As with what does not exist: it hurries nobody who waits for something else.
            return None, ErrorCode.TOPIC_AUTHORIZATION_FAILED
        partition = house.logs.partition(name, followed.index)
        if partition is None:
            return None, why_not_here(house, name, followed.index)
        return partition, ErrorCode.NONE

    def _find(self, found: Found, partition: Partition, limit_bytes: int) -> ErrorCode:
        """Looks into the log."""
        if self._is_replica:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        log, followed = partition.log, found.followed
        refusal = partition.check_leader_epoch(followed.leader_epoch)
        if refusal:
            return refusal
        if followed.last_fetched_epoch >= 0:
            epoch, end = log.end_offset_for_epoch(followed.last_fetched_epoch)
            if end < 0:
                return (
                    ErrorCode.OFFSET_OUT_OF_RANGE
                )  # of an epoch from the future nobody knows where it ended
            if epoch < followed.last_fetched_epoch or end < followed.fetch_offset:
                found.diverging = EpochEndOffset(epoch=epoch, end_offset=end)
                return ErrorCode.NONE
        located = log.locate(
            followed.fetch_offset,
            limit_bytes,
            log.visible_end(committed=self._committed),
            min_one_batch=self._has_room and not self.bytes_found,
        )
        if isinstance(located, Refused):
            return located.code
        found.records = located
        return ErrorCode.NONE

    # -- waiting --------------------------------------------------------------------------------------------

    def may_wait(self) -> bool:
        """Whether the waiting room has room for it."""
        return self._house.waiting_room.has_room(len(self.found))

    async def wait(self) -> None:
        """Returns when there is enough, or when the time is up. `look` has been walked to its end."""
        room, turns = self._house.waiting_room, self._runtime.turns
        with room.watch((self._deadline_ms - self._runtime.monotonic_ms()) / 1000) as watch:
            await turns.walk(self._park(watch))
            if self._looked_at != room.wake_count:  # it happened before it was parked
                await turns.walk(self.look())
            by_partition = {found.partition: found for found in self.found}
            while not self.is_enough():
                woken = await watch.wait()
                if not woken:
                    return
                for partition in woken:
                    assert isinstance(partition, Partition)
                    found = by_partition[partition]
                    self._look_again(found)
                    if (
                        found.partition is not None and found.partition is not partition
                    ):  # its log was opened anew
                        by_partition[found.partition] = found
                        room.park(watch, found.partition)

    def _park(self, watch: Watch) -> Generator[None, None, None]:
        for found in self.found:
            if found.partition is not None:
                self._house.waiting_room.park(watch, found.partition)
            yield

    def _look_again(self, found: Found) -> None:
        self._look_at(found)
        if not self.is_enough():
            self._is_cut = self._is_cut_short(found)

    # -- answering ------------------------------------------------------------------------------------------

    def answer(self, found: Found) -> PartitionData:
        """What is said of a partition, with the records."""
        if found.records is not None and not (_is_still_there(found) and self._is_still_allowed(found)):
            self._look_at(found)
        partition = found.partition
        data = PartitionData(partition_index=found.followed.index, high_watermark=-1, records=b"")
        if not self._committed:
            data.aborted_transactions = None
        if partition is not None and not found.error:
            log = partition.log
            if found.records is not None:
                self._read(found, found.records, log, data)
            data.high_watermark, data.last_stable_offset = log.high_watermark, log.last_stable_offset
            data.log_start_offset = log.start_offset
        data.error_code, data.diverging_epoch = found.error, found.diverging
        return data

    def _read(self, found: Found, where: FileSlice, log: PartitionLog, data: PartitionData) -> None:
        """Puts the records in, and tells which of them are of aborted transactions if that is asked for."""
        records = log.read_slice(where)
        aborted: list[AbortedTransaction] | Refused = []
        if self._committed and not isinstance(records, Refused):
            aborted = log.aborted_among(records)
        if isinstance(records, Refused) or isinstance(aborted, Refused):
            refused = records if isinstance(records, Refused) else aborted
            assert isinstance(refused, Refused)
            found.error = refused.code
            return
        data.records = records
        if self._committed:
            data.aborted_transactions = [
                ToldAborted(producer_id=one.producer_id, first_offset=one.first_offset) for one in aborted
            ]

    def _is_still_allowed(self, found: Found) -> bool:
        """The right may have been taken while the fetch waited."""
        return self._may_read is None or found.partition is None or self._may_read(found.partition.name.topic)


def _is_still_there(found: Found) -> bool:
    """Not so if records were cut off, or the topic taken away, or the log opened anew, since the look."""
    partition = found.partition
    if partition is None or partition.is_gone:
        return False
    return found.followed.fetch_offset >= partition.log.start_offset
