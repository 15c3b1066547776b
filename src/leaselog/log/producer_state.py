"""What one partition remembers of its idempotent producers, so that a batch sent twice is written once.

It follows from the log alone: replaying the headers of a partition's batches gives the state, and a snapshot,
in Kafka's own file format, spares reading them all. Pure; the partition's log owns it and feeds it every batch
that it has written. Checking never changes anything: a batch counts once it is in the log.

A marker moves the epoch and ends the open transaction. Which transactions are open follows from the producers, and is
kept beside them in order (see ``transactions``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from leaselog.log._steps import Steps
from leaselog.log.aborted_index import AbortedTransaction
from leaselog.log.transactions import OpenTransactions
from leaselog.model import ErrorCode, Refused
from leaselog.wire.end_markers import EndMarker
from leaselog.wire.errors import BadLength, BadValue, CorruptBatch, Truncated
from leaselog.wire.primitives import Buffer
from leaselog.wire.record_batch import (
    MAX_SEQUENCE,
    NO_PRODUCER_EPOCH,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BatchHeader,
)

__all__ = ["KnownBatch", "Producer", "ProducerLimit", "ProducerState", "format_snapshot"]

#: A producer has at most five requests in flight (`max.in.flight.requests.per.connection`), so no more can repeat.
REMEMBERED_BATCHES = 5
#: of one partition. Kafka has no bound but time: beyond this the one that wrote longest ago is forgotten, as if it had
#: expired. What is lost with it is that a repetition of its last batches would be known.
MAX_PRODUCERS = 20_000
#: of one partition, one a producer. These are never forgotten, as nothing else holds readers back from their records:
#: beyond this a transaction is refused, and its producer tries again
MAX_OPEN_TRANSACTIONS = MAX_PRODUCERS // 2
#: of all partitions together, half a kilobyte each
MAX_PRODUCERS_IN_ALL = 200_000

#: of the producers of the log that has the most, forgotten at once
_FORGOTTEN_PART = 8
_PRODUCERS_PER_STEP = 2048

_SNAPSHOT_VERSION = 1
_SNAPSHOT_HEAD = Struct(">hI")
_COUNT = Struct(">i")
# id, epoch, last sequence, last offset, offset delta, timestamp, coordinator epoch, first offset of transaction
_ENTRY = Struct(">qhiqiqiq")
_NONE = -1
#: after it a producer gets another id
LAST_EPOCH = 2**15 - 1


class KnownBatch(NamedTuple):
    """A batch already in the log. Sequences are inclusive, and wrap to 0 after 2^31-1."""

    first_sequence: int
    last_sequence: int
    start_offset: int
    end_offset: int
    #: the batch's largest; a duplicate is answered with it
    timestamp_ms: int


class Producer(NamedTuple):
    """One producer's past, as far as it is remembered. Never changed, only replaced: a list of them is a snapshot."""

    producer_id: int
    epoch: int = NO_PRODUCER_EPOCH
    coordinator_epoch: int = _NONE
    last_timestamp_ms: int = NO_TIMESTAMP
    #: -1 without an open transaction
    transaction_start: int = _NONE
    #: oldest first, all of ``epoch``
    batches: tuple[KnownBatch, ...] = ()

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

    def after(self, header: BatchHeader) -> Producer:
        """As it is once the batch, which is no marker, is in the log."""
        batches = self.batches if header.producer_epoch == self.epoch else ()
        batches = (*batches[1 - REMEMBERED_BATCHES :], _known(header))
        start = self.transaction_start
        if header.is_transactional and start < 0:
            start = header.base_offset
        return Producer(
            self.producer_id,
            header.producer_epoch,
            self.coordinator_epoch,
            header.max_timestamp,
            start,
            batches,
        )

    def ended(self, header: BatchHeader, marker: EndMarker) -> Producer:
        """As it is once the marker is in the log: without a transaction, and at the marker's epoch."""
        epoch = header.producer_epoch
        batches = self.batches if epoch == self.epoch else ()
        return Producer(
            self.producer_id, epoch, marker.coordinator_epoch, header.max_timestamp, _NONE, batches
        )


class ProducerLimit:
    """A bound on the producers that all logs of a broker remember together. Belongs to the logs' owner thread.

    Beyond it the log that a producer is new to forgets its own oldest if it has more than its share, else the log
    that has the most does: who brings many producers to one partition does not make the others forget theirs.
    """

    def __init__(self, limit: int = MAX_PRODUCERS_IN_ALL) -> None:
        self._limit = limit
        self._count = 0
        #: those that remember any
        self._states: dict[ProducerState, None] = {}

    def __len__(self) -> int:
        return self._count

    def changed(self, state: ProducerState, by: int) -> None:
        """``state`` remembers so many more, or fewer."""
        self._count += by
        if len(state):
            self._states[state] = None
        else:
            self._states.pop(state, None)
        if self._count > self._limit:
            share = self._limit // len(self._states)
            most = state if len(state) > share else max(self._states, key=len)
            most.forget_oldest(max(len(most) // _FORGOTTEN_PART, 1))


class ProducerState:
    """The producers of one partition, those that wrote last at the end."""

    def __init__(
        self,
        *,
        expiration_ms: int = 86_400_000,
        limit: int = MAX_PRODUCERS,
        in_all: ProducerLimit | None = None,
    ) -> None:
        #: `producer.id.expiration.ms`; may be changed at any time
        self.expiration_ms = expiration_ms
        self._limit = limit
        self._in_all = ProducerLimit() if in_all is None else in_all
        self._producers: dict[int, Producer] = {}
        self._transactions = OpenTransactions()

    def __len__(self) -> int:
        return len(self._producers)

    def __iter__(self) -> Iterator[Producer]:
        """For DescribeProducers, and for a snapshot to be written elsewhere."""
        return iter(self._producers.values())

    def stable_end(self, visible_end: int) -> int:
        """How far readers of committed records may see where others may see up to ``visible_end``."""
        return self._transactions.stable_end(visible_end)

    def is_in_transaction(self, producer_id: int, epoch: int) -> bool:
        """Whether the producer has a transaction open, in this very epoch."""
        known = self._producers.get(producer_id)
        return known is not None and known.transaction_start >= 0 and known.epoch == epoch

    def check(self, header: BatchHeader, *, sequenced: bool = True) -> KnownBatch | Refused | None:
        """Whether the batch may be written: None if so, the first one if it is a repetition, else why not.

        A coordinator's batches carry an epoch and no sequence: ``sequenced=False``.
        """
        producer = self._producers.get(header.producer_id)
        if producer is None:
            # Nothing known, perhaps because it expired: any sequence may be the next one.
            return self._too_many(header)
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
        return self._too_many(header) if producer.transaction_start < 0 else None

    def _too_many(self, header: BatchHeader) -> Refused | None:
        if not header.is_transactional or len(self._transactions) < MAX_OPEN_TRANSACTIONS:
            return None
        return Refused(  # which producers try again
            ErrorCode.CONCURRENT_TRANSACTIONS,
            f"{len(self._transactions)} transactions are open in this partition, expected fewer",
        )

    def check_marker(self, header: BatchHeader, marker: EndMarker, *, is_bumped: bool) -> Refused | None:
        """Whether the marker may be written: None if so, else why not.

        With ``is_bumped`` the transaction ends with an epoch of its own (`transaction.version` 2, KIP-890), so one that
        is not newer comes from a coordinator's past: unless nothing is open, when it is the same marker once more, or
        the epochs have come to their end.
        """
        producer = self._producers.get(header.producer_id)
        if producer is None:
            return None
        epoch, known = header.producer_epoch, producer.epoch
        is_again = epoch == known and (producer.transaction_start < 0 or epoch == LAST_EPOCH)
        if epoch < known or (is_bumped and epoch == known and not is_again):
            expected = f"one above {known}" if is_bumped else f"at least {known}"
            return Refused(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"a marker for producer {producer.producer_id} has epoch {epoch}, expected {expected}",
            )
        if marker.coordinator_epoch < producer.coordinator_epoch:
            return Refused(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"a marker for producer {producer.producer_id} is of coordinator epoch {marker.coordinator_epoch}, "
                f"expected at least {producer.coordinator_epoch}",
            )
        return None

    def replay(self, header: BatchHeader, marker: EndMarker | None = None) -> AbortedTransaction | None:
        """The batch is in the log. Without a producer it means nothing here.

        For a control batch ``marker`` is what it says, and the answer is the transaction that it has aborted. A control
        batch that is no marker, or was emptied by compaction, changes nothing.
        """
        if not header.has_producer or (marker is None and header.is_control):
            return None
        producer_id = header.producer_id
        known = self._producers.pop(producer_id, None)
        producer = Producer(producer_id) if known is None else known
        aborted = None
        if marker is None:
            after = producer.after(header)
            if after.transaction_start != producer.transaction_start:
                self._transactions.begin(producer_id, after.transaction_start)
        else:
            after = producer.ended(header, marker)
            ended = self._transactions.end(producer_id, header.base_offset)
            aborted = None if marker.is_commit else ended
        self._producers[producer_id] = after
        if known is None:
            if len(self._producers) > self._limit:
                self.forget_oldest(1)
            self._in_all.changed(self, 1)
        return aborted

    def expire(self, now_ms: int) -> Steps[int]:
        """Forget who has been silent for the expiration and has no transaction open. How many that were.

        Silence counts from the largest timestamp of a producer's last batch, as in Kafka: one that writes old
        timestamps is forgotten early.
        """
        yield None
        count = 0
        for looked_at, producer in enumerate(tuple(self._producers.values()), 1):
            if self._is_expired(producer, now_ms) and self._producers.get(producer.producer_id) is producer:
                del self._producers[producer.producer_id]
                self._in_all.changed(self, -1)
                count += 1
            if looked_at % _PRODUCERS_PER_STEP == 0:
                yield None
        return count

    def clear(self) -> None:
        """Forget the producers of a log that is let go. Whoever still reads it is held back as before."""
        transactions = self._transactions
        self._replace({})
        self._transactions = transactions

    def snapshot(self) -> bytes:
        """The content of a `.snapshot` file."""
        return format_snapshot(tuple(self))

    def restore(self, data: Buffer, now_ms: int) -> None:
        """Take the place of what is known with a snapshot's producers, those expired by now left out.

        Raises a ``DecodeError`` for anything but a snapshot, and then has changed nothing.
        """
        restored = dict[int, Producer]()
        for entry in _read_snapshot(data):
            before = restored.pop(entry.producer_id, None)
            restored[entry.producer_id] = entry if before is None else _joined(before, entry)
        self._replace({key: known for key, known in restored.items() if not self._is_expired(known, now_ms)})
        self.forget_oldest(len(self._producers) - self._limit)

    def _replace(self, producers: dict[int, Producer]) -> None:
        more = len(producers) - len(self._producers)
        self._producers = producers
        self._transactions = OpenTransactions(
            (known.producer_id, known.transaction_start)
            for known in producers.values()
            if known.transaction_start >= 0
        )
        self._in_all.changed(self, more)

    def _is_expired(self, producer: Producer, now_ms: int) -> bool:
        is_silent = now_ms - producer.last_timestamp_ms >= self.expiration_ms
        return is_silent and producer.transaction_start < 0

    def forget_oldest(self, count: int) -> None:
        """As many of those without an open transaction: a forgotten transaction would show its records to everybody."""
        if count <= 0:
            return
        free = (p.producer_id for p in self._producers.values() if p.transaction_start < 0)
        chosen = list(islice(free, count))
        for producer_id in chosen:
            del self._producers[producer_id]
        self._in_all.changed(self, -len(chosen))


def _follows(producer: Producer, header: BatchHeader) -> bool:
    if producer.epoch == NO_PRODUCER_EPOCH:
        return True
    if header.producer_epoch != producer.epoch:
        return header.base_sequence == 0
    return header.base_sequence == _next(producer.last_sequence)


def _next(sequence: int) -> int:
    return (sequence + 1) & MAX_SEQUENCE


def _known(header: BatchHeader) -> KnownBatch:
    return KnownBatch(
        header.base_sequence,
        header.last_sequence,
        header.base_offset,
        header.end_offset,
        header.max_timestamp,
    )


def format_snapshot(producers: Sequence[Producer]) -> bytes:
    """The content of a `.snapshot` file, with an entry for each remembered batch, the last one of a producer last.

    After a restart clients send again all that they had in flight, and each of these batches is to be known. Kafka
    writes the last batch alone; of several entries of a producer it keeps the last.
    """
    entries = [entry for known in producers for entry in _entries(known)]
    body = _COUNT.pack(len(entries)) + b"".join(entries)
    return _SNAPSHOT_HEAD.pack(_SNAPSHOT_VERSION, crc32c(body)) + body


def _entries(producer: Producer) -> Iterator[bytes]:
    for earlier in producer.batches[:-1]:
        yield _write_entry(producer, earlier, earlier.timestamp_ms)
    last = producer.batches[-1] if producer.batches else None
    yield _write_entry(producer, last, producer.last_timestamp_ms)


def _write_entry(producer: Producer, batch: KnownBatch | None, timestamp_ms: int) -> bytes:
    return _ENTRY.pack(
        producer.producer_id,
        producer.epoch,
        NO_SEQUENCE if batch is None else batch.last_sequence,
        _NONE if batch is None else batch.end_offset - 1,
        0 if batch is None else batch.end_offset - batch.start_offset - 1,
        timestamp_ms,
        producer.coordinator_epoch,
        producer.transaction_start,
    )


def _joined(before: Producer, entry: Producer) -> Producer:
    """A later entry of the same producer is what holds; earlier batches of its epoch are remembered with it."""
    if before.epoch != entry.epoch:
        return entry
    return entry._replace(batches=(before.batches + entry.batches)[-REMEMBERED_BATCHES:])


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
    batches: tuple[KnownBatch, ...] = ()
    if last_offset >= 0:
        first_sequence = NO_SEQUENCE
        if last_sequence != NO_SEQUENCE:
            first_sequence = (last_sequence - offset_delta) & MAX_SEQUENCE
        start = last_offset - offset_delta
        batches = (KnownBatch(first_sequence, last_sequence, start, last_offset + 1, timestamp_ms),)
    return Producer(producer_id, epoch, coordinator_epoch, timestamp_ms, transaction_start, batches)
