"""Records on their way to being sent: gathered into batches, numbered, sent again in order. Pure: time is an argument.

Each partition has a lane. Batches leave a lane in order, a few at a time. When one comes back to be tried again,
nothing new leaves the lane until it is through, so that its sequence numbers still make sense to the broker.
If a batch has to be given up, the numbers behind it can never be accepted: all lanes then stop, batches that may
have been written are still settled under the old producer epoch, and the rest is numbered anew under the next one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from leaselog.model import TopicPartition
from leaselog.wire.record_batch import HEADER_BYTES, MAX_SEQUENCE, NO_SEQUENCE
from leaselog.wire.records import Record

__all__ = ["Accumulator", "Batch", "BatchLimits", "record_bytes"]

#: a record's varints at their usual longest: length, attributes, timestamp, offset, key and value length, headers
_RECORD_OVERHEAD_BYTES = 21
_HEADER_OVERHEAD_BYTES = 6


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Java's batch.size, linger.ms, buffer.memory, max.in.flight.requests.per.connection, delivery.timeout.ms."""

    batch_bytes: int = 16_384
    linger_ms: int = 5
    buffer_bytes: int = 32 * 1024 * 1024
    in_flight: int = 5
    delivery_timeout_ms: int = 120_000


@dataclass(slots=True, eq=False)
class Batch:
    where: TopicPartition
    #: its place among all batches, which is their order within a lane
    ordinal: int
    created_ms: int
    records: list[Record] = field(default_factory=list)
    #: whatever the sender wants to see again with what became of each record, in their order
    tags: list[object] = field(default_factory=list)
    #: before compression, and never less than it turns out to be
    size_bytes: int = HEADER_BYTES
    base_sequence: int = NO_SEQUENCE
    retry_at_ms: int = 0
    tries: int = 0
    #: sent, and the answer did not say that it was refused
    may_be_written: bool = False


@dataclass(slots=True)
class _Lane:
    waiting: deque[Batch] = field(default_factory=deque)
    retries: list[Batch] = field(default_factory=list)
    in_flight: int = 0
    next_sequence: int = 0
    #: the broker has written a batch of this epoch, so it knows which number comes next
    is_begun: bool = False


def record_bytes(record: Record) -> int:
    """An upper bound of what the record adds to a batch."""
    size = _RECORD_OVERHEAD_BYTES + len(record.key or b"") + len(record.value or b"")
    for name, value in record.headers:
        size += _HEADER_OVERHEAD_BYTES + len(name.encode("utf-8", "surrogateescape")) + len(value or b"")
    return size


class Accumulator:
    def __init__(self, limits: BatchLimits, *, numbered: bool) -> None:
        self._limits = limits
        #: whether batches carry sequences: the producer is idempotent
        self._numbered = numbered
        #: one for each partition ever written to
        self._lanes = dict[TopicPartition, _Lane]()
        self._buffered_bytes = 0
        self._unsettled = 0
        self._made = 0
        self._renumbering = False

    @property
    def is_empty(self) -> bool:
        """Whether every record has been delivered or given up."""
        return self._unsettled == 0

    @property
    def must_renumber(self) -> bool:
        """Whether a new producer epoch is needed, and every doubt about the old one settled."""
        return self._renumbering and not any(
            lane.in_flight or any(b.may_be_written for b in lane.retries) for lane in self._lanes.values()
        )

    def has_room(self, size_bytes: int) -> bool:
        return self._buffered_bytes == 0 or self._buffered_bytes + size_bytes <= self._limits.buffer_bytes

    def append(self, where: TopicPartition, record: Record, size_bytes: int, now_ms: int) -> Batch:
        """Put a record into its partition's youngest batch, or a new one. Check ``has_room`` first."""
        lane = self._lanes.setdefault(where, _Lane())
        batch = lane.waiting[-1] if lane.waiting else None
        if batch is None or batch.size_bytes + size_bytes > self._limits.batch_bytes:
            batch = Batch(where, self._made, now_ms)
            self._made += 1
            lane.waiting.append(batch)
            self._unsettled += 1
        batch.records.append(record)
        batch.size_bytes += size_bytes
        self._buffered_bytes += size_bytes
        return batch

    def leave_out(self, batch: Batch, places: Collection[int]) -> tuple[list[Record], list[object]]:
        """The records at these places of a batch in flight, with their tags: they are no longer in it."""
        records = [batch.records[at] for at in places]
        size_bytes = sum(map(record_bytes, records))
        has_tags = len(batch.tags) == len(batch.records)
        tags = [batch.tags[at] for at in places] if has_tags else []
        kept = [at for at in range(len(batch.records)) if at not in places]
        if has_tags:
            batch.tags = [batch.tags[at] for at in kept]
        batch.records = [batch.records[at] for at in kept]
        batch.size_bytes -= size_bytes
        self._buffered_bytes -= size_bytes
        return records, tags

    def ready(self, now_ms: int, *, flush: bool) -> Iterator[Batch]:
        """The batch each lane would send next. `take` it to send it; a batch not taken stays where it is."""
        for lane in self._lanes.values():
            batch = self._head(lane, now_ms, flush)
            if batch is not None:
                yield batch

    def take(self, batch: Batch) -> None:
        """The batch goes out now; it comes back by `settle` or `retry`."""
        lane = self._lanes[batch.where]
        if batch in lane.retries:
            lane.retries.remove(batch)
        else:
            assert lane.waiting[0] is batch, f"{batch.where}: only the head of a lane may leave it"
            lane.waiting.popleft()
        lane.in_flight += 1
        batch.tries += 1
        if self._numbered and batch.base_sequence == NO_SEQUENCE:
            batch.base_sequence = lane.next_sequence
            lane.next_sequence = (lane.next_sequence + len(batch.records)) & MAX_SEQUENCE

    def holds_back(self, batch: Batch) -> bool:
        """Whether the batch, taken and never sent, would pass an older one that has come back meanwhile.

        It waits behind that one then. A connection can end, and another broker be found at the address, between the
        two: one that has lost its memory would take the number of whichever came first.
        """
        lane = self._lanes[batch.where]
        if batch.may_be_written or not any(older.ordinal < batch.ordinal for older in lane.retries):
            return False
        batch.tries -= 1
        self.retry(batch, batch.retry_at_ms, may_be_written=False)
        return True

    def follows_another(self, batch: Batch) -> bool:
        """Whether an older batch of its lane is in flight, or waits to be sent again."""
        lane = self._lanes[batch.where]
        return lane.in_flight > 1 or any(older.ordinal < batch.ordinal for older in lane.retries)

    def settle(self, batch: Batch, *, written: bool) -> None:
        """A batch in flight is done with, for better or worse.

        Nothing follows from it for older batches. A broker leaves no gap between numbers, but one that has lost its
        memory takes any number for the first: it may have a younger batch, and not the older one.
        """
        lane = self._lanes[batch.where]
        lane.in_flight -= 1
        lane.is_begun = lane.is_begun or written
        self._forget(batch, written=written)

    def retry(self, batch: Batch, at_ms: int, *, may_be_written: bool) -> None:
        """A batch in flight has to be sent again, not before ``at_ms``."""
        lane = self._lanes[batch.where]
        lane.in_flight -= 1
        batch.retry_at_ms, batch.may_be_written = at_ms, may_be_written
        lane.retries.append(batch)
        lane.retries.sort(key=lambda b: b.ordinal)

    def retry_lost_count(self, batch: Batch, at_ms: int) -> None:
        """A batch in flight came back because the broker expects another number, or forgot the producer.

        It may be behind one that has to be sent again first. If it is the oldest, and nothing else is in flight, the
        numbers are no longer of use: this batch is not among those that the broker remembers, so it gets a new number,
        and is written twice if it was among those that the broker has forgotten. Each of the others that may have been
        written is sent once more under its old number, since the broker may know it. (Java numbers them all anew.)
        """
        lane = self._lanes[batch.where]
        if lane.in_flight == 1 and all(batch.ordinal < other.ordinal for other in lane.retries):
            self.ask_renumbering()
        self.retry(batch, at_ms, may_be_written=batch.may_be_written and not self._renumbering)

    def ask_renumbering(self) -> None:
        """The broker and we no longer agree on sequences."""
        self._renumbering = self._numbered

    def renumbered(self) -> None:
        """A new producer epoch began: every lane starts at sequence 0 again."""
        assert self.must_renumber or not self._renumbering
        self._renumbering = False
        for lane in self._lanes.values():
            lane.next_sequence, lane.is_begun = 0, False
            for batch in lane.retries:
                batch.base_sequence = NO_SEQUENCE

    def drop(self) -> list[Batch]:
        """All that is not in flight is given up with this call."""
        gone = []
        for lane in self._lanes.values():
            gone += [*lane.retries, *lane.waiting]
            lane.retries.clear()
            lane.waiting.clear()
        for batch in gone:
            self._forget(batch, written=False)
        return gone

    def expired(self, now_ms: int) -> list[Batch]:
        """Batches past their delivery time-out, which are given up with this call."""
        latest = now_ms - self._limits.delivery_timeout_ms
        gone = []
        for lane in self._lanes.values():
            for line in (lane.waiting, lane.retries):
                # Made in this order, so the first that is young enough ends the search: this is asked at every turn.
                while line and line[0].created_ms <= latest:
                    batch = line[0]
                    del line[0]
                    self._forget(batch, written=False)
                    gone.append(batch)
        return gone

    def next_ready_ms(self, now_ms: int) -> int | None:
        """When time alone will make a batch ready (or expire); None if that cannot happen."""
        times = list[int]()
        for lane in self._lanes.values():
            if (batch := self._next_retry(lane)) is not None:
                times.append(batch.retry_at_ms)
            if lane.waiting and lane.waiting[0].created_ms + self._limits.linger_ms > now_ms:
                # A head that has lingered already waits for an answer, not for time.
                times.append(lane.waiting[0].created_ms + self._limits.linger_ms)
            times += [
                line[0].created_ms + self._limits.delivery_timeout_ms
                for line in (lane.retries, lane.waiting)
                if line
            ]
        return min(times, default=None)

    def _next_retry(self, lane: _Lane) -> Batch | None:
        """One at a time; while the count is lost, those of which nobody knows whether they were written."""
        if lane.in_flight:
            return None
        return next((b for b in lane.retries if b.may_be_written or not self._renumbering), None)

    def _head(self, lane: _Lane, now_ms: int, flush: bool) -> Batch | None:
        if lane.retries:
            again = self._next_retry(lane)
            return again if again is not None and again.retry_at_ms <= now_ms else None
        if not lane.waiting or self._renumbering or lane.in_flight >= self._limit_of(lane):
            return None
        batch = lane.waiting[0]
        is_full = len(lane.waiting) > 1 or batch.size_bytes >= self._limits.batch_bytes
        lingered = batch.created_ms + self._limits.linger_ms <= now_ms
        return batch if is_full or lingered or flush else None

    def _limit_of(self, lane: _Lane) -> int:
        """A broker that does not know the producer takes any number for the first, so the first goes alone: if it were
        refused, and the next one not, it could never be written any more."""
        return self._limits.in_flight if lane.is_begun or not self._numbered else 1

    def _forget(self, batch: Batch, *, written: bool) -> None:
        self._buffered_bytes -= batch.size_bytes - HEADER_BYTES
        self._unsettled -= 1
        if not written and batch.base_sequence != NO_SEQUENCE:
            self.ask_renumbering()


def fit(batches: Iterable[Batch], limit_bytes: int) -> list[Batch]:
    """The first batches that fit one request together, one at least."""
    chosen, size = list[Batch](), 0
    for batch in batches:
        size += batch.size_bytes
        if chosen and size > limit_bytes:
            break
        chosen.append(batch)
    return chosen
