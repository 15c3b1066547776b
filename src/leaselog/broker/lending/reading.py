"""Reading the log for a share fetch: as many whole batches as the records wanted need, and which offsets they hold.

A share fetch asks for records, not for bytes, so reading all it may have would mostly be reading in vain: the size of
the first read is guessed from what records took last time, and grows when they turn out larger. Jobs are fetched one
by one, though, and finding a place in the log costs more than reading on: so at least `MIN_READ_BYTES` are read, and
what is left of a small read is kept for the next fetches. What lies below the high watermark does not change.

What a disk returns is not always what was written. A consumer finds that out by the checksum and rejects the batch, as
Java's does, and its records are through; so here they are checked first, at a microsecond for sixteen kilobytes, and
what does not hold is read again. Bytes that are the same twice are what the disk has, and go to the consumer as they
are; others are refused until they are read as they were written. Offsets are under no checksum: batches that do not
follow on each other are read twice, too, since whoever believes a gap gives up what lies in it.

A marker that ends a transaction is no record, so it is withheld: the machine archives it and delivers it to nobody. For
a group that reads committed records (`share.isolation.level`) so are batches of aborted transactions, and there is only
what lies before the last stable offset, which does not change either. When the group's level is altered, what was kept
is forgotten.

Bounds: a reader keeps `MAX_KEPT_READ_BYTES` at most, and all together what `share_kept_reads` lets them.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter

from leaselog.broker.lending.kept_reads import KeptReads
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.log import AbortedTransaction, PartitionLog
from leaselog.model import ErrorCode, Refused, Span
from leaselog.wire.errors import CorruptBatch, DecodeError
from leaselog.wire.isolation import with_fate
from leaselog.wire.record_batch import HEADER_BYTES, check_crc, iterate_headers

__all__ = ["BatchesRead", "ShareReader"]

MIN_READ_BYTES = 16 * 1024
MAX_KEPT_READ_BYTES = 32 * 1024
#: what a span and its position take in memory, about
SPAN_BYTES = 150
#: what a record is taken to need before any was read
FIRST_GUESS_BYTES = 512
#: how often is read what does not hold up
MAX_READS = 4
#: each further read of one fetch is this many times larger
GROWTH = 8

_END = attrgetter("end")

log = StructuredLog("share")


@dataclass(slots=True)
class BatchesRead:
    """Whole batches, one after the other as they lie in the log."""

    data: memoryview = field(default_factory=lambda: memoryview(b""))
    spans: list[Span] = field(default_factory=list)
    #: where each begins in ``data``, and where the last one ends
    positions: list[int] = field(default_factory=lambda: [0])
    #: batches that nobody is to get, ascending
    withheld: tuple[Span, ...] = ()

    def covering(self, start: int, end: int) -> memoryview:
        """The bytes of all batches that hold one of these offsets, and of those between them."""
        if start < self.spans[0].end and self.spans[-1].start < end:
            return self.data
        first = bisect_right(self.spans, start, key=_END)
        behind = first
        while behind < len(self.spans) and self.spans[behind].start < end:
            behind += 1
        return self.data[self.positions[first] : self.positions[behind]]

    def part(self, offset: int, records: int, max_bytes: int) -> BatchesRead | None:
        """The batches for so many records from ``offset`` on, if all of them are here; None if not."""
        spans, upto = self.spans, offset + records
        first = bisect_right(spans, offset, key=_END)
        if first == len(spans) or spans[first].start > offset:
            return None
        behind = first + 1
        while spans[behind - 1].end < upto:
            if behind == len(spans):
                return None
            behind += 1
        start, end = self.positions[first], self.positions[behind]
        if end - start > max_bytes:
            return None
        if behind - first == len(spans):
            return self  # as mostly where jobs lie in batches of many
        positions = [position - start for position in self.positions[first : behind + 1]]
        low, high = spans[first].start, spans[behind - 1].end
        withheld = self.withheld and tuple(span for span in self.withheld if low <= span.start < high)
        return BatchesRead(self.data[start:end], spans[first:behind], positions, withheld)


class ShareReader:
    """Reads one log for one group."""

    __slots__ = ("_committed", "_kept", "_kept_reads", "_last", "_log", "_record_bytes")

    def __init__(self, log: PartitionLog, kept_reads: KeptReads) -> None:
        self._log = log
        #: nothing beyond the last stable offset is read, and what is aborted is told
        self._committed = False
        self._kept_reads = kept_reads
        self._record_bytes = FIRST_GUESS_BYTES
        self._kept: BatchesRead | None = None
        #: the last batch that was read, and was sound
        self._last = Span(0, 0)

    @property
    def kept_bytes(self) -> int:
        """How much memory it keeps, with what is known of what it has read."""
        return 0 if self._kept is None else _size_bytes(self._kept)

    def forget_kept(self) -> None:
        """Keeps nothing any more."""
        if self._kept is not None:
            self._kept = None
            self._kept_reads.keeps_nothing(self)

    def read_committed(self, committed: bool) -> None:
        """From here on, whether only committed records are wanted."""
        if committed is not self._committed:
            self.forget_kept()
            self._committed = committed

    @property
    def visible_end(self) -> int:
        """One past the last offset there is to read."""
        return self._log.visible_end(committed=self._committed)

    def readable_bytes(self, offset: int, wanted_bytes: int) -> int:
        """How many bytes there are to read from that offset, counted up to those wanted.

        All of them if the log goes on in another segment, as in Apache Kafka: nobody waits at the end of a file.
        """
        end = self.visible_end
        if offset >= end:
            return 0
        found = self._log.locate(offset, wanted_bytes, end)
        last = self._log.locate(end - 1, 0, end)
        if isinstance(found, Refused) or isinstance(last, Refused) or last.file is not found.file:
            return wanted_bytes
        # what stops short of the limit because batches are whole is there all the same
        return min(wanted_bytes, last.position + last.size_bytes - found.position)

    def read(
        self, offset: int, *, records: int, max_bytes: int, min_one_batch: bool
    ) -> BatchesRead | Refused:
        """The batches from the one that holds ``offset`` on, until ``records`` offsets are covered or bytes run out.

        Nothing at the end of the log. Refuses what the log refuses, and CORRUPT_MESSAGE.
        """
        if self._kept is not None and offset >= self._log.start_offset:
            part = self._kept.part(offset, records, max_bytes)
            if part is not None:
                return part
        self.forget_kept()
        return self._read_log(offset, records, max_bytes, min_one_batch)

    def _read_log(
        self, offset: int, records: int, max_bytes: int, min_one_batch: bool
    ) -> BatchesRead | Refused:
        read, chunks = BatchesRead(), list[bytes]()
        at, guess_bytes = offset, max(MIN_READ_BYTES, HEADER_BYTES + self._record_bytes * records)
        while at < offset + records and read.positions[-1] < max_bytes:
            limit = min(max_bytes - read.positions[-1], guess_bytes)
            is_needed = not chunks and (min_one_batch or limit < max_bytes)
            found = self._read_sound(at, limit, is_needed)
            if isinstance(found, Refused):
                return found
            if not found.data or (len(found.data) > max_bytes and not min_one_batch):
                break
            base = read.positions[-1]
            read.spans += found.spans
            read.withheld += tuple(found.markers)
            read.positions += [base + end for end in found.ends]
            chunks.append(found.data)
            at, guess_bytes = read.spans[-1].end, guess_bytes * GROWTH
        if not chunks:
            return read
        read.data = memoryview(chunks[0] if len(chunks) == 1 else b"".join(chunks))
        self._record_bytes = max(1, -(-len(read.data) // sum(map(len, read.spans))))
        if self._committed:
            aborted = self._log.aborted_among(read.data)
            if isinstance(aborted, Refused):
                return aborted
            if aborted:
                read.withheld = tuple(sorted((*read.withheld, *_aborted_spans(read.data, aborted))))
        if len(read.data) > MAX_KEPT_READ_BYTES:
            return read
        self._kept = read
        self._kept_reads.keeps(self, _size_bytes(read))
        return read.part(offset, records, max_bytes) or read

    def _read_sound(self, at: int, limit: int, is_needed: bool) -> _Chunk | Refused:
        """What holds up, or is the same twice."""
        before = b""
        for _ in range(MAX_READS):
            data = self._log.read(at, limit, self.visible_end, min_one_batch=is_needed)
            if isinstance(data, Refused):
                return data
            try:
                chunk = _taken_apart(data)
            except DecodeError as bad:
                if data == before:
                    return Refused(ErrorCode.CORRUPT_MESSAGE, str(bad))
                before = data
                continue
            is_sound = chunk.damage is None and self._follows(chunk.spans, at)
            if is_sound or data == before:
                if chunk.damage is not None:
                    log.error(
                        "what was read is not what was written",
                        directory=self._log.directory,
                        at=at,
                        why=chunk.damage,
                    )
                if chunk.spans:
                    self._last = chunk.spans[-1]
                return chunk
            before = data
        return Refused(ErrorCode.CORRUPT_MESSAGE, f"offset {at}: it is something else whenever it is read")

    def _follows(self, spans: list[Span], at: int) -> bool:
        """No offset is missing from ``at`` on. A batch that began before must be the one known to lie there."""
        if not spans:
            return True
        first = spans[0]
        is_first = first.start == at or (first == self._last and at in first)
        return is_first and all(a.end == b.start for a, b in pairwise(spans))


def _size_bytes(read: BatchesRead) -> int:
    return len(read.data) + SPAN_BYTES * len(read.spans)


def _aborted_spans(data: memoryview, aborted: list[AbortedTransaction]) -> tuple[Span, ...]:
    begun = ((one.producer_id, one.first_offset) for one in aborted)
    batches = with_fate(iterate_headers(data), begun)
    return tuple(Span(header.base_offset, header.end_offset) for _, header, is_gone in batches if is_gone)


@dataclass(frozen=True, slots=True)
class _Chunk:
    """What one read brought."""

    data: bytes
    spans: list[Span]
    #: where each batch ends in ``data``
    ends: list[int]
    #: those that end a transaction
    markers: list[Span]
    #: which checksum does not hold
    damage: CorruptBatch | None


def _taken_apart(data: bytes) -> _Chunk:
    """Raises ``DecodeError`` where there is no telling where a batch ends."""
    spans, ends, markers, damage = list[Span](), list[int](), list[Span](), None
    for position, header in iterate_headers(data):
        spans.append(Span(header.base_offset, header.end_offset))
        if header.is_control and header.has_producer:
            markers.append(spans[-1])
        ends.append(position + header.size_bytes)
        try:
            check_crc(data, header, position)
        except CorruptBatch as bad:
            damage = damage or bad
    return _Chunk(data, spans, ends, markers, damage)
