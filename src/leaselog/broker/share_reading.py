"""Reading the log for a share fetch: as many whole batches as the records wanted need, and which offsets they hold.

A share fetch asks for records, not for bytes, so reading all it may have would mostly be reading in vain: the size of
the first read is guessed from what records took last time, and grows when they turn out larger.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from leaselog.log import PartitionLog
from leaselog.model import ErrorCode, Refused, Span
from leaselog.wire.errors import DecodeError
from leaselog.wire.record_batch import HEADER_BYTES, iterate_headers

__all__ = ["BatchesRead", "ShareReader"]

#: what a record is taken to need before any was read
FIRST_GUESS_BYTES = 512
#: each further read of one fetch is this many times larger
GROWTH = 8


@dataclass(slots=True)
class BatchesRead:
    """Whole batches, one after the other as they lie in the log."""

    data: memoryview = field(default_factory=lambda: memoryview(b""))
    spans: list[Span] = field(default_factory=list)
    #: where each begins in ``data``, and where the last one ends
    positions: list[int] = field(default_factory=lambda: [0])

    def covering(self, start: int, end: int) -> memoryview:
        """The bytes of all batches that hold one of these offsets, and of those between them."""
        inside = [i for i, span in enumerate(self.spans) if span.end > start and span.start < end]
        if not inside:
            return memoryview(b"")
        return self.data[self.positions[inside[0]] : self.positions[inside[-1] + 1]]


class ShareReader:
    """Reads one log for one group."""

    def __init__(self, log: PartitionLog) -> None:
        self._log = log
        self._record_bytes = FIRST_GUESS_BYTES

    def readable_bytes(self, offset: int, wanted_bytes: int) -> int:
        """How many bytes there are to read from that offset, counted up to those wanted.

        All of them if the log goes on in another segment, as in Apache Kafka: nobody waits at the end of a file.
        """
        high_watermark = self._log.high_watermark
        if offset >= high_watermark:
            return 0
        found = self._log.locate(offset, wanted_bytes)
        last = self._log.locate(high_watermark - 1, 0)
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
        read = BatchesRead()
        chunks: list[bytes] = []
        at, guess_bytes = offset, HEADER_BYTES + self._record_bytes * records
        while at < offset + records and read.positions[-1] < max_bytes:
            limit = min(max_bytes - read.positions[-1], guess_bytes)
            is_needed = not chunks and (min_one_batch or limit < max_bytes)
            data = self._log.read(at, limit, min_one_batch=is_needed)
            if isinstance(data, Refused):
                return data
            if not data or (len(data) > max_bytes and not min_one_batch):
                break
            try:
                self._take(read, data, offset + records)
            except DecodeError as bad:
                return Refused(ErrorCode.CORRUPT_MESSAGE, str(bad))
            chunks.append(data)
            at, guess_bytes = read.spans[-1].end, guess_bytes * GROWTH
        if chunks:
            read.data = memoryview(chunks[0] if len(chunks) == 1 else b"".join(chunks))
            self._learn(read)
        return read

    @staticmethod
    def _take(read: BatchesRead, data: bytes, end: int) -> None:
        """Notes the batches up to the one that reaches ``end``; the rest of the bytes is nobody's."""
        base = read.positions[-1]
        for position, header in iterate_headers(data):
            read.spans.append(Span(header.base_offset, header.end_offset))
            read.positions.append(base + position + header.size_bytes)
            if header.end_offset >= end:
                return

    def _learn(self, read: BatchesRead) -> None:
        offsets = sum(map(len, read.spans))
        self._record_bytes = max(1, -(-read.positions[-1] // offsets))
