"""Walking the batches of a segment file through a bounded buffer. Private to this room.

``scan_headers`` trusts the file and reads little: it skips over bodies. ``scan_valid`` trusts nothing: it checks
every checksum and stops, without an exception, where the file stops making sense.
"""

from __future__ import annotations

from collections.abc import Iterator

from leaselog.log.files import File
from leaselog.log.index import MAX_RELATIVE_OFFSET
from leaselog.wire.errors import DecodeError
from leaselog.wire.record_batch import HEADER_BYTES, BatchHeader, check_crc, read_header

__all__ = ["scan_batches", "scan_headers", "scan_valid"]

#: holds what usually lies between two index entries
_HEADER_CHUNK = 8 * 1024
_BODY_CHUNK = 1024 * 1024


def scan_headers(file: File, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """Each batch from ``position``, a batch boundary, up to ``end``. Raises ``DecodeError`` on a malformed header."""
    chunk, chunk_at = b"", position
    while position < end:
        if position + HEADER_BYTES > chunk_at + len(chunk):
            chunk, chunk_at = file.read_at(position, min(_HEADER_CHUNK, end - position)), position
        header = read_header(chunk, position - chunk_at)
        yield position, header
        position += header.size_bytes


def scan_batches(file: File, position: int, end: int) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """Each whole batch with its bytes. Raises ``DecodeError`` where a header is malformed.

    A batch is held in memory in one piece, however large; the file bounds it. Ends early, in silence, before
    a batch that does not fit in front of ``end``.
    """
    chunk, chunk_at = memoryview(b""), position
    while position + HEADER_BYTES <= end:
        if position + HEADER_BYTES > chunk_at + len(chunk):
            chunk, chunk_at = memoryview(file.read_at(position, min(_BODY_CHUNK, end - position))), position
        header = read_header(chunk, position - chunk_at)
        if position + header.size_bytes > end:
            return
        if position + header.size_bytes > chunk_at + len(chunk):
            wanted = max(header.size_bytes, min(_BODY_CHUNK, end - position))
            chunk, chunk_at = memoryview(file.read_at(position, wanted)), position
        at = position - chunk_at
        yield position, header, chunk[at : at + header.size_bytes]
        position += header.size_bytes


def scan_valid(
    file: File, end: int, base_offset: int, *, position: int = 0, next_offset: int | None = None
) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """The batches of a segment up to the first that is torn, corrupt or out of place; from its start, or from a
    ``position`` where ``next_offset`` is due.

    Base offsets are not under the checksum: one that goes back, or so far ahead that no index of the segment could
    say it, is damage.
    """
    limit = base_offset + MAX_RELATIVE_OFFSET
    next_offset = base_offset if next_offset is None else next_offset
    try:
        for at, header, batch in scan_batches(file, position, end):
            check_crc(batch, header)
            if header.base_offset < next_offset or header.end_offset - 1 > limit:
                return
            next_offset = header.end_offset
            yield at, header, batch
    except DecodeError:
        return
