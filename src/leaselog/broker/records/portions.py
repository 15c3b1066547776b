"""Records in portions that a topic takes: no batch larger than it may be, counted from above."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from leaselog.wire.record_batch import HEADER_BYTES
from leaselog.wire.records import Record

__all__ = ["most_bytes", "portions"]

#: what a record takes beside its key, its value and its headers, at most; and what a header does
RECORD_OVERHEAD_BYTES, HEADER_OVERHEAD_BYTES = 40, 10


def most_bytes(record: Record) -> int:
    """In a batch, at most."""
    size_bytes = RECORD_OVERHEAD_BYTES + len(record.key or b"") + len(record.value or b"")
    for name, value in record.headers:
        size_bytes += len(name) + len(value or b"") + HEADER_OVERHEAD_BYTES
    return size_bytes


def portions(records: Iterable[Record], limit_bytes: int) -> Iterator[list[Record]]:
    """Records for one batch each, of which only one with a single record may be larger than ``limit_bytes``."""
    portion: list[Record] = []
    size_bytes = HEADER_BYTES
    for record in records:
        more_bytes = most_bytes(record)
        if portion and size_bytes + more_bytes > limit_bytes:
            yield portion
            portion, size_bytes = [], HEADER_BYTES
        portion.append(record)
        size_bytes += more_bytes
    if portion:
        yield portion
