"""What a fetch acquired from one partition, turned into records when the application asks for them. Pure.

A broker sends whole log batches and says which of their offsets it leased. Everything else is somebody else's and is
skipped. Leased offsets without a record (compacted away, transaction markers) are gaps, which the consumer has to
acknowledge or they would wait for their lock to run out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from leaselog.client.compiled_records import RecordReader
from leaselog.client.share.acknowledge_type import AcknowledgeType
from leaselog.client.share.acknowledgements import GAP, Lease
from leaselog.client.share.deserializers import Deserializer, as_bytes, deserialized
from leaselog.client.share.record import ShareRecord
from leaselog.wire.errors import BadLength, BadValue, DecodeError
from leaselog.wire.primitives import Buffer
from leaselog.wire.record_batch import PREFIX_BYTES, BatchHeader, check_crc, read_header
from leaselog.wire.records import Record, read_records

__all__ = ["Acquired", "Decoding", "LeasedRange", "Taken", "leased_ranges"]

#: start, end, delivery count; end is not part of it
LeasedRange = tuple[int, int, int]
#: Of one partition in one answer. A window holds some thousands, and the largest batch there can be by default 150,000.
MAX_LEASED_OFFSETS = 1 << 20


@dataclass(frozen=True, slots=True)
class Decoding:
    key: Deserializer[Any]
    value: Deserializer[Any]
    check_crcs: bool = True
    read: RecordReader = read_records

    @property
    def is_plain(self) -> bool:
        return self.key is as_bytes and self.value is as_bytes


@dataclass(slots=True)
class Taken:
    records: list[ShareRecord[Any, Any]] = field(default_factory=list)
    #: what the consumer says by itself: gaps, and batches that cannot be read
    settled: dict[int, int] = field(default_factory=dict)
    #: what is wrong with a batch, or with a part of one
    error: DecodeError | None = None


class Acquired:
    """`take` until `is_empty`."""

    def __init__(
        self, lease: Lease, data: Buffer, ranges: Sequence[LeasedRange], left_out_bytes: int = 0
    ) -> None:
        self.lease = lease
        #: of the log batches, whether or not the broker sent them
        self.bytes = len(data) + left_out_bytes
        self._data = memoryview(data)
        self._position = 0
        #: ascending and disjoint; what is behind the next record to be read
        self._ranges = [entry for entry in ranges if entry[0] < entry[1]]
        self._at = 0
        #: of the present range, offsets below this are dealt with
        self._next = self._ranges[0][0] if self._ranges else 0

    @property
    def is_empty(self) -> bool:
        return self._at == len(self._ranges)

    def ranges(self) -> tuple[LeasedRange, ...]:
        """What is not taken yet, with delivery counts."""
        if self.is_empty:
            return ()
        _, end, delivery_count = self._ranges[self._at]
        return ((self._next, end, delivery_count), *self._ranges[self._at + 1 :])

    @property
    def count(self) -> int:
        """How many offsets are not taken yet."""
        return sum(end - start for start, end, _ in self.ranges())

    def rest(self) -> list[int]:
        """The offsets not taken yet."""
        if self.is_empty:
            return []
        offsets = list(range(self._next, self._ranges[self._at][1]))
        for start, end, _ in self._ranges[self._at + 1 :]:
            offsets += range(start, end)
        return offsets

    def take(self, limit: int, decoding: Decoding) -> Taken:
        """Records until there are ``limit`` or more; a log batch is never torn, as acknowledging it whole is cheap."""
        taken = Taken()
        while not self.is_empty and len(taken.records) < limit:
            try:
                header = self._header()
            except DecodeError as bad:
                taken.error = bad
                self._settle(self._ranges[-1][1], AcknowledgeType.RELEASE, taken)
                break
            if header is None:
                self._settle(self._ranges[-1][1], GAP, taken)
                break
            self._take_batch(header, decoding, taken)
            self._position += header.size_bytes
        return taken

    def _header(self) -> BatchHeader | None:
        """The next batch, if it is wholly there: a broker may cut the last one at the size it was asked for."""
        if len(self._data) - self._position <= PREFIX_BYTES:
            return None
        header = read_header(self._data, self._position)
        return header if header.size_bytes <= len(self._data) - self._position else None

    def _take_batch(self, header: BatchHeader, decoding: Decoding, taken: Taken) -> None:
        end = header.end_offset
        self._settle(header.base_offset, GAP, taken)
        if self.is_empty or self._next >= end:
            return  # nothing of this batch was leased
        if not header.is_control:
            kind = AcknowledgeType.REJECT
            try:
                if decoding.check_crcs:
                    check_crc(self._data, header, self._position)
                kind = AcknowledgeType.RELEASE
                self._take_records(header, decoding, taken)
            except DecodeError as bad:
                # Bytes that are not what was written will never be; what we cannot unpack, another consumer may.
                taken.error = bad
                self._settle(end, kind, taken)
                return
        self._settle(end, GAP, taken)

    def _take_records(self, header: BatchHeader, decoding: Decoding, taken: Taken) -> None:
        read = decoding.read(self._data, header, self._position)
        if isinstance(read, list) and self._take_all(read, header, decoding, taken):
            return
        ranges, lease, records = self._ranges, self.lease, taken.records
        timestamp_type, leader_epoch = header.timestamp_type, header.leader_epoch
        is_plain = decoding.is_plain
        _, end, delivery_count = ranges[self._at]
        # The hot loop: what it needs of a batch is looked up before it, and attributes are written after it.
        next_offset = self._next
        try:
            for key, value, headers, timestamp_ms, offset in read:
                if offset != next_offset:
                    if offset < next_offset:
                        continue
                    self._next = next_offset
                    self._settle(offset, GAP, taken)
                    if self.is_empty:
                        return
                    next_offset = self._next
                    _, end, delivery_count = ranges[self._at]
                    if offset < next_offset:
                        continue
                made = (
                    (key, value, None)
                    if is_plain
                    else deserialized(decoding.key, decoding.value, key, value, lease.where, offset)
                )
                records.append(
                    ShareRecord(
                        lease,
                        offset,
                        delivery_count,
                        made[0],
                        made[1],
                        key,
                        value,
                        headers,
                        timestamp_ms,
                        timestamp_type,
                        leader_epoch,
                        made[2],
                    )
                )
                next_offset = offset + 1
                if next_offset == end:
                    self._advance()
                    if self.is_empty:
                        return
                    next_offset = self._next
                    _, end, delivery_count = ranges[self._at]
        finally:
            self._next = next_offset

    def _take_all(self, read: list[Record], header: BatchHeader, decoding: Decoding, taken: Taken) -> bool:
        """The short way for what is usual: a whole batch without gaps was leased, and nothing is to be deserialised."""
        end, range_end = header.end_offset, self._ranges[self._at][1]
        if (
            not decoding.is_plain
            or self._next != header.base_offset
            or end > range_end
            or len(read) != end - self._next
        ):
            return False
        lease, delivery_count = self.lease, self._ranges[self._at][2]
        timestamp_type, leader_epoch = header.timestamp_type, header.leader_epoch
        taken.records += [
            ShareRecord(
                lease,
                offset,
                delivery_count,
                key,
                value,
                key,
                value,
                headers,
                timestamp_ms,
                timestamp_type,
                leader_epoch,
            )
            for key, value, headers, timestamp_ms, offset in read
        ]
        self._next = end
        if end == range_end:
            self._advance()
        return True

    def _settle(self, before: int, kind: int, taken: Taken) -> None:
        """Everything leased below ``before`` that has not been handed out gets this type."""
        while not self.is_empty and self._next < before:
            end = self._ranges[self._at][1]
            stop = min(end, before)
            taken.settled.update(dict.fromkeys(range(self._next, stop), int(kind)))
            if stop < end:
                self._next = stop
            else:
                self._advance()

    def _advance(self) -> None:
        self._at += 1
        if self._at < len(self._ranges):
            self._next = self._ranges[self._at][0]


def leased_ranges(first_last_counts: Sequence[tuple[int, int, int]]) -> Iterator[LeasedRange]:
    """The wire's inclusive ranges as ours; neighbours of one delivery count become one.

    Raises ``DecodeError`` for ranges that nobody leases: a few bytes can name offsets that no memory holds.
    """
    start, end, count, leased = 0, 0, -1, 0
    for first, last, delivery_count in first_last_counts:
        if first < end or last < first:
            raise BadValue(f"offsets {first} to {last} were leased behind offset {end}")
        leased += last + 1 - first
        if leased > MAX_LEASED_OFFSETS:
            raise BadLength(f"{leased} offsets were leased at once, expected at most {MAX_LEASED_OFFSETS}")
        if first == end and delivery_count == count:
            end = last + 1
            continue
        if start < end:
            yield start, end, count
        start, end, count = first, last + 1, delivery_count
    if start < end:
        yield start, end, count
