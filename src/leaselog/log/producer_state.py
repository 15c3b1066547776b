"""What one partition remembers of its idempotent producers, so that a batch sent twice is written once.

It follows from the log alone: replaying the headers of a partition's batches gives the state, and a snapshot,
in Kafka's own file format, spares reading them all. Pure; the partition's log owns it and feeds it every batch
that it has written. Checking never changes anything: a batch counts once it is in the log.

Left for transactions: markers move the epoch and end the open transaction here, but nobody writes any yet.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from struct import Struct

from crc32c import crc32c

from leaselog.model import ErrorCode, Refused
from leaselog.wire.errors import BadLength, BadValue, CorruptBatch, Truncated
from leaselog.wire.primitives import Buffer
from leaselog.wire.record_batch import (
    MAX_SEQUENCE,
    NO_PRODUCER_EPOCH,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BatchHeader,
)

__all__ = ["MAX_PRODUCERS", "REMEMBERED_BATCHES", "KnownBatch", "Producer", "ProducerState"]

#: A producer has at most five requests in flight (`max.in.flight.requests.per.connection`), so no more can repeat.
REMEMBERED_BATCHES = 5
#: Kafka has no bound but time. Beyond this the producer silent for longest is forgotten, as if it had expired.
MAX_PRODUCERS = 100_000

_SNAPSHOT_VERSION = 1
_SNAPSHOT_HEAD = Struct(">hI")
_COUNT = Struct(">i")
# id, epoch, last sequence, last offset, offset delta, timestamp, coordinator epoch, first offset of transaction
_ENTRY = Struct(">qhiqiqiq")
_NONE = -1


@dataclass(frozen=True, slots=True)
class KnownBatch:
    """A batch already in the log. Sequences are inclusive, and wrap to 0 after 2^31-1."""

    first_sequence: int
    last_sequence: int
    start_offset: int
    end_offset: int
    #: the batch's largest; a duplicate is answered with it
    timestamp_ms: int


@dataclass(slots=True)
class Producer:
    """One producer's past, as far as it is remembered."""

    producer_id: int
    epoch: int = NO_PRODUCER_EPOCH
    coordinator_epoch: int = _NONE
    last_timestamp_ms: int = NO_TIMESTAMP
    #: -1 without an open transaction
    transaction_start: int = _NONE
    #: oldest first, all of ``epoch``
    batches: deque[KnownBatch] = field(default_factory=lambda: deque(maxlen=REMEMBERED_BATCHES))

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def find(self, header: BatchHeader) -> KnownBatch | None:
        """The same batch, if it is among the remembered: same epoch, first and last sequence."""
        if header.producer_epoch != self.epoch:
            return None
        first, last = header.base_sequence, header.last_sequence
        for known in self.batches:
            if known.first_sequence == first and known.last_sequence == last:
                return known
        return None

    def begin_epoch(self, epoch: int) -> None:
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches.clear()


class ProducerState:
    """The producers of one partition, those that wrote last at the end."""

    def __init__(self, *, expiration_ms: int = 86_400_000, limit: int = MAX_PRODUCERS) -> None:
        #: `producer.id.expiration.ms`; may be changed at any time
        self.expiration_ms = expiration_ms
        self._limit = limit
        self._producers: dict[int, Producer] = {}

    def __len__(self) -> int:
        return len(self._producers)

    def __iter__(self) -> Iterator[Producer]:
        """For DescribeProducers: every producer, to be read and not changed."""
        return iter(self._producers.values())

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the oldest open transaction began; None without one."""
        starts = (p.transaction_start for p in self._producers.values() if p.transaction_start >= 0)
        return min(starts, default=None)

    def check(self, header: BatchHeader, *, sequenced: bool = True) -> KnownBatch | Refused | None:
        """Whether the batch may be written: None if so, the first one if it is a repetition, else why not.

        A coordinator's batches carry an epoch and no sequence: ``sequenced=False``.
        """
        producer = self._producers.get(header.producer_id)
        if producer is None:
            # Nothing known, perhaps because it expired: any sequence may be the next one.
            return None
        if sequenced and (known := producer.find(header)) is not None:
            return known
        if header.producer_epoch < producer.epoch:
            return Refused(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {header.producer_id} sent epoch {header.producer_epoch}, expected {producer.epoch}",
            )
        if sequenced and not _follows(producer, header):
            expected = 0 if header.producer_epoch != producer.epoch else _next(producer.last_sequence)
            return Refused(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {header.producer_id} sent sequence {header.base_sequence}, expected {expected}",
            )
        if producer.transaction_start >= 0 and not header.is_transactional:
            return Refused(
                ErrorCode.INVALID_TXN_STATE,
                f"producer {header.producer_id} has a transaction open since {producer.transaction_start}",
            )
        return None

    def replay(self, header: BatchHeader, *, coordinator_epoch: int | None = None) -> None:
        """The batch is in the log. Without a producer it means nothing here.

        For a control batch the caller may pass the coordinator's epoch, which only the record inside tells.
        """
        if not header.has_producer:
            return
        producer = self._producers.pop(header.producer_id, None) or Producer(header.producer_id)
        self._producers[header.producer_id] = producer
        producer.begin_epoch(header.producer_epoch)
        producer.last_timestamp_ms = header.max_timestamp
        if header.is_control:
            producer.transaction_start = _NONE
            if coordinator_epoch is not None:
                producer.coordinator_epoch = coordinator_epoch
        else:
            _remember(producer, header)
        if len(self._producers) > self._limit:
            self._forget_oldest()

    def expire(self, now_ms: int) -> int:
        """Forget who has been silent for the expiration and has no transaction open. How many that were.

        Silence counts from the largest timestamp of a producer's last batch, as in Kafka: one that writes old
        timestamps is forgotten early.
        """
        silent = [p for p in self._producers.values() if self._is_expired(p, now_ms)]
        for producer in silent:
            del self._producers[producer.producer_id]
        return len(silent)

    def clear(self) -> None:
        self._producers.clear()

    def snapshot(self) -> bytes:
        """The content of a `.snapshot` file. Of each producer only the last batch is kept, as in Kafka."""
        entries = b"".join(map(_write_entry, self._producers.values()))
        body = _COUNT.pack(len(self._producers)) + entries
        return _SNAPSHOT_HEAD.pack(_SNAPSHOT_VERSION, crc32c(body)) + body

    def restore(self, data: Buffer, now_ms: int) -> None:
        """Take the place of what is known with a snapshot's producers, those expired by now left out.

        Raises a ``DecodeError`` for anything but a snapshot, and then has changed nothing.
        """
        restored = (p for p in _read_snapshot(data) if not self._is_expired(p, now_ms))
        self._producers = {producer.producer_id: producer for producer in restored}
        while len(self._producers) > self._limit:
            self._forget_oldest()

    def _is_expired(self, producer: Producer, now_ms: int) -> bool:
        is_silent = now_ms - producer.last_timestamp_ms >= self.expiration_ms
        return is_silent and producer.transaction_start < 0

    def _forget_oldest(self) -> None:
        """The oldest without an open transaction; if all have one, the oldest."""
        free = (p.producer_id for p in self._producers.values() if p.transaction_start < 0)
        del self._producers[next(free, next(iter(self._producers)))]


def _follows(producer: Producer, header: BatchHeader) -> bool:
    if producer.epoch == NO_PRODUCER_EPOCH:
        return True
    if header.producer_epoch != producer.epoch:
        return header.base_sequence == 0
    return header.base_sequence == _next(producer.last_sequence)


def _next(sequence: int) -> int:
    return (sequence + 1) & MAX_SEQUENCE


def _remember(producer: Producer, header: BatchHeader) -> None:
    known = KnownBatch(
        header.base_sequence,
        header.last_sequence,
        header.base_offset,
        header.end_offset,
        header.max_timestamp,
    )
    producer.batches.append(known)
    if header.is_transactional and producer.transaction_start < 0:
        producer.transaction_start = header.base_offset


def _write_entry(producer: Producer) -> bytes:
    last = producer.batches[-1] if producer.batches else None
    return _ENTRY.pack(
        producer.producer_id,
        producer.epoch,
        producer.last_sequence,
        _NONE if last is None else last.end_offset - 1,
        0 if last is None else last.end_offset - last.start_offset - 1,
        producer.last_timestamp_ms,
        producer.coordinator_epoch,
        producer.transaction_start,
    )


def _read_snapshot(data: Buffer) -> list[Producer]:
    head = _SNAPSHOT_HEAD.size
    if len(data) < head + _COUNT.size:
        raise Truncated(f"producer snapshot of {len(data)} bytes")
    version, crc = _SNAPSHOT_HEAD.unpack_from(data)
    if version != _SNAPSHOT_VERSION:
        raise BadValue(f"producer snapshot version {version}, expected {_SNAPSHOT_VERSION}")
    body = memoryview(data)[head:]
    if crc32c(body) != crc:
        raise CorruptBatch(f"producer snapshot checksum {crc:#010x}, its bytes give {crc32c(body):#010x}")
    count = _COUNT.unpack_from(body)[0]
    if count * _ENTRY.size != len(body) - _COUNT.size:
        raise BadLength(f"{count} producers in a snapshot of {len(data)} bytes")
    return [_read_entry(*fields) for fields in _ENTRY.iter_unpack(body[_COUNT.size :])]


def _read_entry(
    producer_id: int,
    epoch: int,
    last_sequence: int,
    last_offset: int,
    offset_delta: int,
    timestamp_ms: int,
    coordinator_epoch: int,
    transaction_start: int,
) -> Producer:
    producer = Producer(producer_id, epoch, coordinator_epoch, timestamp_ms, transaction_start)
    if last_offset >= 0:
        first_sequence = NO_SEQUENCE
        if last_sequence != NO_SEQUENCE:
            first_sequence = (last_sequence - offset_delta) & MAX_SEQUENCE
        start = last_offset - offset_delta
        known = KnownBatch(first_sequence, last_sequence, start, last_offset + 1, timestamp_ms)
        producer.batches.append(known)
    return producer
