"""How far a log is safe, kept beside its segments: recovery begins there instead of at the segment's first batch.

Written behind a sync once `recovery.point.interval.bytes` have been appended since the last one, by the thread that
synced, so it says nothing that is not on the disk. It is itself not synced: one that a crash tore or took only makes
recovery read more. To go on from a point recovery wants what it would otherwise find out by reading every batch: the
entries of the indexes, of which the files get those that are new, and the producers.

A point that does not fit what lies there is as good as none: it names its topic, the checksum of the index entries it
relies on, and the batch that ends at it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from struct import Struct
from typing import NamedTuple
from uuid import UUID

from crc32c import crc32c

from leaselog.log.files import Files, read_whole, replace_whole
from leaselog.log.layout import RECOVERY_POINT
from leaselog.log.producer_state import Producer, format_snapshot

__all__ = ["IndexPart", "PointWrite", "RecoveryPoint", "read_point"]

#: 1 had nothing of aborted transactions
_VERSION = 2
_HEAD = Struct(">hI")
_BODY = Struct(">16s8qqIqIqI")


class IndexPart(NamedTuple):
    """The first entries of an index."""

    entries: int
    #: of their bytes in the file
    crc: int


class RecoveryPoint(NamedTuple):
    topic_id: UUID
    #: of the segment that was active
    base_offset: int
    #: everything below is on the disk
    end_offset: int
    #: of that segment
    size_bytes: int
    #: where its last batch begins
    last_batch_at: int
    bytes_since_entry: int
    largest_timestamp: int
    offset_of_largest: int
    first_timestamp: int
    offsets: IndexPart
    times: IndexPart
    aborted: IndexPart
    #: in the format of a snapshot
    producers: bytes = b""

    def to_bytes(self) -> bytes:
        body = _BODY.pack(
            self.topic_id.bytes,
            self.base_offset,
            self.end_offset,
            self.size_bytes,
            self.last_batch_at,
            self.bytes_since_entry,
            self.largest_timestamp,
            self.offset_of_largest,
            self.first_timestamp,
            *self.offsets,
            *self.times,
            *self.aborted,
        )
        body += self.producers
        return _HEAD.pack(_VERSION, crc32c(body)) + body

    @classmethod
    def from_bytes(cls, data: bytes) -> RecoveryPoint | None:
        """None for anything but a point that is whole."""
        if len(data) < _HEAD.size + _BODY.size:
            return None
        version, crc = _HEAD.unpack_from(data)
        body = data[_HEAD.size :]
        if version != _VERSION or crc32c(body) != crc:
            return None
        topic_id, *numbers = _BODY.unpack_from(body)
        parts = (IndexPart(*numbers[at : at + 2]) for at in (8, 10, 12))
        return cls._make((UUID(bytes=topic_id), *numbers[:8], *parts, body[_BODY.size :]))


def read_point(files: Files, directory: str, topic_id: UUID) -> RecoveryPoint | None:
    """The point in a log's directory; None if there is none to go by. Raises ``OSError``."""
    path = f"{directory}/{RECOVERY_POINT}"
    point = RecoveryPoint.from_bytes(read_whole(files, path)) if files.exists(path) else None
    return point if point is not None and point.topic_id == topic_id else None


class PointWrite:
    """A point to be written by whoever has made sure that it is true; any thread. Touches nothing of the log's."""

    def __init__(
        self,
        directory: str,
        point: RecoveryPoint,
        producers: Sequence[Producer],
        index_tails: Sequence[tuple[str, int, bytes]],
    ) -> None:
        self._directory = directory
        self._point = point
        self._producers = producers
        #: of each index file: its path, from where on, and the entries since the last point
        self._index_tails = index_tails
        self.is_written = False

    def write(self, files: Files) -> None:
        """A disk that refuses has refused nothing that was promised: the next point is written whole."""
        with suppress(OSError):
            for path, position, data in self._index_tails:
                if data:
                    file = files.open(path, writable=True, create=True)
                    file.write_at(position, data)
                    file.close()
            point = self._point._replace(producers=format_snapshot(self._producers))
            replace_whole(files, f"{self._directory}/{RECOVERY_POINT}", point.to_bytes()).close()
            self.is_written = True
