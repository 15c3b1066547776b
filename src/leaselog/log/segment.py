"""One segment: a .log file of batches in offset order, the two indexes over it, and the aborted transactions in it.

Only the last segment of a log is appended to. A sealed one never changes again, except to be replaced whole
by the cleaner, so any thread may read its file; everything else here belongs to the log's owner.

Files are opened when first needed. The active segment keeps its one descriptor; sealed ones register with
``OpenSegments``, which closes the least recently used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias
from uuid import UUID

from crc32c import crc32c

from leaselog.log._scan import scan_headers
from leaselog.log._tail import Tail
from leaselog.log.aborted_index import AbortedIndex, AbortedTransaction
from leaselog.log.files import Buffer, File, Files, empty, read_whole
from leaselog.log.index import MAX_RELATIVE_OFFSET, OffsetIndex, TimeIndex
from leaselog.log.layout import DELETED, INDEX, LOG, SNAPSHOT, SWAP, TIME_INDEX, TXN_INDEX, segment_path
from leaselog.log.memory_files import MemoryFiles
from leaselog.log.open_segments import OpenSegments
from leaselog.log.producer_state import Producer
from leaselog.log.recovery_point import IndexPart, PointWrite, RecoveryPoint
from leaselog.wire.errors import CorruptBatch, DecodeError
from leaselog.wire.record_batch import BatchHeader, check_crc, read_header

__all__ = ["FileSlice", "Segment", "TimestampAt"]

#: of indexes made outside an append, where the topic's own interval is not at hand
_INTERVAL_BYTES = 4096
#: `index.interval.bytes` may ask for more, up to no index at all; a look-up would then read a segment's every header
_LONGEST_INTERVAL_BYTES = 16 * 1024
_Index: TypeAlias = OffsetIndex | TimeIndex | AbortedIndex
_INDEXES = (INDEX, TIME_INDEX, TXN_INDEX)
_NOTHING_ABORTED = AbortedIndex()
#: before the first recovery point
_NOTHING_POINTED = (IndexPart(0, 0), IndexPart(0, 0), IndexPart(0, 0))
#: where the nothing that an empty segment holds is read from: it may have no file yet
_NO_BYTES = MemoryFiles().open("empty", create=True)


class FileSlice(NamedTuple):
    """Whole batches as they lie in a file. The file stays open as long as the slice is held."""

    file: File
    position: int
    size_bytes: int


class TimestampAt(NamedTuple):
    """A segment's largest timestamp, and the last offset of the first batch that has it."""

    timestamp: int
    offset: int


class Segment:
    def __init__(
        self,
        files: Files,
        directory: str,
        base_offset: int,
        *,
        size_bytes: int,
        end_offset: int,
        created_ms: int,
        opened: OpenSegments,
        name_suffix: str = "",
    ) -> None:
        self.base_offset = base_offset
        #: always at a batch boundary
        self.size_bytes = size_bytes
        #: one past the last offset; of a sealed segment the next one's base
        self.end_offset = end_offset
        #: when this process first saw it
        self.created_ms = created_ms
        self.is_sealed = False
        self._files = files
        self._directory = directory
        self._opened = opened
        #: `.cleaned` while it is being written to replace others
        self._name_suffix = name_suffix
        self._file: File | None = None
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        #: whether any aborted transaction ended here; the index of one that did not is not read
        self.has_aborted = False
        self._aborted: AbortedIndex | None = None
        self._largest: TimestampAt | None = None
        self._first_timestamp: int | None = None
        self._bytes_since_entry = 0
        self._tail = Tail()
        #: how much of it, and of its indexes, the last recovery point covers
        self._pointed_bytes = 0
        self._pointed = _NOTHING_POINTED

    def path(self, suffix: str = LOG) -> str:
        return segment_path(self._directory, self.base_offset, suffix + self._name_suffix)

    # -- appending --------------------------------------------------------------------------------------

    def append(self, data: Buffer, batches: Iterable[BatchHeader], *, interval_bytes: int) -> None:
        """Write stamped batches at the end, in one system call, and index them.

        An ``OSError`` leaves the segment as it was, though bytes may lie beyond its size: see ``cut_back``.
        """
        self.file().write_at(self.size_bytes, data)
        for header in batches:
            self.index(header, interval_bytes)

    def index(self, header: BatchHeader, interval_bytes: int) -> None:
        """Count the next batch in, and give it an index entry when enough bytes have gone by."""
        end_offset, size_bytes = header.end_offset, header.size_bytes
        last_offset = end_offset - 1
        if last_offset - self.base_offset > MAX_RELATIVE_OFFSET:
            raise CorruptBatch(f"offset {last_offset} in a segment that begins at {self.base_offset}")
        if header.max_timestamp > self.largest().timestamp:
            self._largest = TimestampAt(header.max_timestamp, last_offset)
        if self._first_timestamp is None and self.size_bytes == 0:
            self._first_timestamp = header.max_timestamp
        if self._bytes_since_entry > min(interval_bytes, _LONGEST_INTERVAL_BYTES):
            self.offset_index().append(last_offset, self.size_bytes)
            self.time_index().append(*self.largest())
            self._bytes_since_entry = 0
        self._tail.append(header.base_offset, end_offset, self.size_bytes)
        self.size_bytes += size_bytes
        self._bytes_since_entry += size_bytes
        self.end_offset = end_offset

    def cut_back(self) -> None:
        """Take away what a failed write left beyond the segment's size."""
        self.file().truncate(self.size_bytes)

    def has_room(self, more_bytes: int, end_offset: int, *, limit_bytes: int, index_bytes: int) -> bool:
        """Whether batches up to ``end_offset`` still fit: bytes, index entries, and offsets relative to the base."""
        return (
            self.size_bytes + more_bytes <= limit_bytes
            and not self.offset_index().is_full(index_bytes)
            and not self.time_index().is_full(index_bytes)
            and not (self.has_aborted and self.aborted_index().is_full(index_bytes))
            and end_offset - 1 - self.base_offset <= MAX_RELATIVE_OFFSET
        )

    def age_ms(self, timestamp: int, now_ms: int) -> int:
        """How long the segment has taken records: by their timestamps, as Kafka, or by the clock without any."""
        first = self.first_timestamp()
        return timestamp - first if first >= 0 else now_ms - self.created_ms

    # -- looking up -------------------------------------------------------------------------------------

    def locate(self, start: int, max_bytes: int, end: int, *, min_one_batch: bool) -> FileSlice:
        """The whole batches from the one holding ``start``, none of them reaching past ``end``."""
        if not self.size_bytes:
            return FileSlice(_NO_BYTES, 0, 0)
        file = self.file()
        limit = self.size_bytes if end >= self.end_offset else self.batch_of(end)
        position = self.batch_of(start)
        if position >= limit:
            return FileSlice(file, position, 0)
        stop = self._boundary_before(position + max_bytes) if position + max_bytes < limit else limit
        if stop <= position:
            stop = self._end_of_batch(position) if min_one_batch else position
        return FileSlice(file, position, min(stop, limit) - position)

    def batch_of(self, offset: int) -> int:
        """The position of the batch holding ``offset``, or of the next one where compaction left a gap."""
        known = self._tail.batch_of(offset)
        if known is not None:
            return known
        start = self.offset_index().position_before(offset)
        return self._seek(start, lambda _, header: header.end_offset > offset)

    def _boundary_before(self, target: int) -> int:
        known = self._tail.boundary_before(target)
        if known is not None:
            return known
        start = self.offset_index().boundary_before(target)
        return self._seek(start, lambda position, header: position + header.size_bytes > target)

    def _end_of_batch(self, position: int) -> int:
        known = self._tail.boundary_after(position, self.size_bytes)
        return self._seek(position, lambda at, _: at > position) if known is None else known

    def _seek(self, start: int, wanted: Callable[[int, BatchHeader], bool]) -> int:
        found = (at for at, header in scan_headers(self.file(), start, self.size_bytes) if wanted(at, header))
        return next(found, self.size_bytes)

    def headers(self, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """Each batch from ``position`` on."""
        return scan_headers(self.file(), position, self.size_bytes)

    def largest(self) -> TimestampAt:
        """The largest timestamp so far, -1 without any."""
        if self._largest is None:
            entry = self._last_time_entry()
            # Making a lost index anew has already found it out.
            self._largest = self._largest or TimestampAt(*(entry or (-1, self.base_offset)))
        return self._largest

    def first_timestamp(self) -> int:
        """What `segment.ms` counts from: the largest timestamp of the first batch, -1 without any."""
        if self._first_timestamp is None and self.size_bytes:
            self._first_timestamp = next(self.headers())[1].max_timestamp
        return -1 if self._first_timestamp is None else self._first_timestamp

    # -- what is open -----------------------------------------------------------------------------------

    def file(self) -> File:
        if self._file is None:
            self._file = self._files.open(self.path(), writable=not self.is_sealed)
        if self.is_sealed:
            self._opened.touch(self)
        return self._file

    def offset_index(self) -> OffsetIndex:
        if self._offset_index is None:
            self._load_indexes()
            assert self._offset_index is not None
        return self._offset_index

    def time_index(self) -> TimeIndex:
        if self._time_index is None:
            self._load_indexes()
            assert self._time_index is not None
        return self._time_index

    def aborted_index(self) -> AbortedIndex:
        """To be read. Raises ``CorruptBatch`` if it cannot be read as it was written."""
        if not self.has_aborted:
            return _NOTHING_ABORTED
        if self.is_sealed:
            self._opened.touch(self)
        if self._aborted is None:
            self._aborted = AbortedIndex.from_bytes(self.base_offset, self._read(TXN_INDEX))
        if self._aborted is None:
            raise CorruptBatch(f"{self.path(TXN_INDEX)} is no index of aborted transactions")
        return self._aborted

    def has_sound_aborted(self) -> bool:
        """Whether the index of aborted transactions can be read as it was written. Raises ``OSError``."""
        try:
            self.aborted_index()
        except CorruptBatch:
            return False
        return True

    def add_aborted(self, transaction: AbortedTransaction) -> None:
        """Its marker has been appended here."""
        index = self.aborted_index() if self.has_aborted else AbortedIndex()
        index.append(transaction)
        self._aborted, self.has_aborted = index, True

    def start_aborted(self) -> None:
        """Begin with none, whatever a file says."""
        self._aborted, self.has_aborted = None, False

    def _load_indexes(self) -> None:
        """Take both from their files, or make both anew from the segment if either is not as it was written."""
        if self.is_sealed:
            self._opened.touch(self)
        if not self._read_indexes():
            self.rebuild()

    def _read_indexes(self) -> bool:
        offsets = OffsetIndex.from_bytes(self.base_offset, self._read(INDEX))
        times = TimeIndex.from_bytes(self.base_offset, self._read(TIME_INDEX))
        is_there = self.size_bytes == 0 or all(
            self._files.exists(self.path(name)) for name in (INDEX, TIME_INDEX)
        )
        if offsets is None or times is None or not is_there:
            return False
        self._offset_index, self._time_index = offsets, times
        return offsets.last_position() < max(self.size_bytes, 1)

    def _read(self, suffix: str) -> bytes:
        path = self.path(suffix)
        return read_whole(self._files, path) if self._files.exists(path) else b""

    def _last_time_entry(self) -> tuple[int, int] | None:
        """From the index, or without loading it: retention asks every segment of every log."""
        if self._time_index is None and self._files.exists(path := self.path(TIME_INDEX)):
            entry = TimeIndex.last_entry_of(self.base_offset, self._files.open(path))
            return entry or self.time_index().last_entry()
        return self.time_index().last_entry()

    def let_go(self) -> None:
        """Give back the descriptor until it is asked for again: 10,000 partitions do not all write at once."""
        self._file = None

    def close_idle(self) -> None:
        """Give back the descriptor and the memory of the indexes; both come back when asked for."""
        # Only let go, not closed: a FileSlice may still be in use.
        self._file = self._offset_index = self._time_index = self._aborted = None
        self._tail = Tail()

    # -- from life to rest, and back --------------------------------------------------------------------

    def find_end(self) -> bool:
        """Learn where the last segment of a cleanly stopped log ends. False if the file does not read that way."""
        size_bytes = self.size_bytes
        if not self._read_indexes():
            return False
        self.size_bytes = self.offset_index().last_position()
        try:
            for _, header in scan_headers(self.file(), self.size_bytes, size_bytes):
                self.index(header, _INTERVAL_BYTES)
        except DecodeError:
            pass
        is_whole, self.size_bytes = self.size_bytes == size_bytes, size_bytes
        return is_whole

    def rebuild(self) -> None:
        """Make the indexes anew from the batches, which are trusted. Raises ``OSError`` and ``DecodeError``."""
        size_bytes, end_offset = self.size_bytes, self.end_offset
        self.size_bytes = 0
        self.start_indexes()
        try:
            for _, header in scan_headers(self.file(), 0, size_bytes):
                self.index(header, _INTERVAL_BYTES)
        except (OSError, DecodeError):
            # Or else what was not come to would not be there: a segment that ends early, and indexes of its beginning.
            self.size_bytes, self.end_offset = size_bytes, end_offset
            self._offset_index = self._time_index = self._largest = self._first_timestamp = None
            raise
        self.end_offset = end_offset
        self.time_index().append(*self.largest())

    def create(self) -> None:
        """Make the file of a new segment, so that its base offset is known from now on."""
        self._file = self._files.open(self.path(), writable=True, create=True)
        self._file.truncate(0)
        self.start_indexes()
        self.start_aborted()

    def start_indexes(self) -> None:
        """Begin with empty indexes: for a new segment, or before every batch is counted in again."""
        self._offset_index, self._time_index = OffsetIndex(self.base_offset), TimeIndex(self.base_offset)
        self._largest, self._first_timestamp = TimestampAt(-1, self.base_offset), None
        self._bytes_since_entry, self._tail = 0, Tail()
        self.forget_point()

    # -- recovery points --------------------------------------------------------------------------------

    @property
    def bytes_since_point(self) -> int:
        return self.size_bytes - self._pointed_bytes

    def point(self, topic_id: UUID, producers: Sequence[Producer]) -> PointWrite | None:
        """A recovery point at the end; None if nothing has been appended since the segment was opened.

        From here on it is taken for written: see ``forget_point``.
        """
        last_batch_at = self._tail.last_position()
        if last_batch_at is None:
            return None
        indexes = tuple[_Index, ...]((self.offset_index(), self.time_index(), self.aborted_index()))
        more = [index.to_bytes(known.entries) for index, known in zip(indexes, self._pointed, strict=True)]
        tails = [
            (self.path(suffix), known.entries * index.ENTRY_BYTES, data)
            for suffix, index, known, data in zip(_INDEXES, indexes, self._pointed, more, strict=True)
        ]
        self._pointed_bytes = self.size_bytes
        offsets, times, aborted = (
            IndexPart(len(index), crc32c(data, known.crc))
            for index, known, data in zip(indexes, self._pointed, more, strict=True)
        )
        self._pointed = (offsets, times, aborted)
        point = RecoveryPoint(
            topic_id,
            self.base_offset,
            self.end_offset,
            self.size_bytes,
            last_batch_at,
            self._bytes_since_entry,
            *self.largest(),
            -1 if self._first_timestamp is None else self._first_timestamp,
            *self._pointed,
        )
        return PointWrite(self._directory, point, producers, tails)

    def forget_point(self) -> None:
        """The last one was not written, or is not to be relied on: the next says everything anew."""
        self._pointed_bytes, self._pointed = 0, _NOTHING_POINTED

    def resume(self, point: RecoveryPoint) -> bool:
        """Begin where the point says, everything before it taken as known. False if it does not fit what is here.

        Raises ``OSError``.
        """
        if point.base_offset != self.base_offset or not self._ends_with_batch(point):
            return False
        offsets = OffsetIndex.from_bytes(self.base_offset, self._prefix(INDEX, point.offsets, OffsetIndex))
        times = TimeIndex.from_bytes(self.base_offset, self._prefix(TIME_INDEX, point.times, TimeIndex))
        aborted = AbortedIndex.from_bytes(
            self.base_offset, self._prefix(TXN_INDEX, point.aborted, AbortedIndex)
        )
        if offsets is None or times is None or aborted is None:
            return False
        known = (point.offsets.entries, point.times.entries, point.aborted.entries)
        if (len(offsets), len(times), len(aborted)) != known:
            return False
        self._offset_index, self._time_index = offsets, times
        self._aborted, self.has_aborted = (aborted, True) if len(aborted) else (None, False)
        self.size_bytes, self.end_offset = point.size_bytes, point.end_offset
        self._largest = TimestampAt(point.largest_timestamp, point.offset_of_largest)
        self._first_timestamp = point.first_timestamp
        self._bytes_since_entry, self._tail = point.bytes_since_entry, Tail()
        self._pointed_bytes, self._pointed = point.size_bytes, (point.offsets, point.times, point.aborted)
        return True

    def _ends_with_batch(self, point: RecoveryPoint) -> bool:
        """Whether a whole batch ends where the point says, in the file and in the log."""
        size_bytes = point.size_bytes - point.last_batch_at
        if not 0 <= point.last_batch_at < point.size_bytes <= self.size_bytes:
            return False
        batch = self.file().read_at(point.last_batch_at, size_bytes)
        try:
            header = read_header(batch)
            check_crc(batch, header)
        except DecodeError:
            return False
        return (header.size_bytes, header.end_offset) == (size_bytes, point.end_offset)

    def _prefix(self, suffix: str, part: IndexPart, kind: type[_Index]) -> bytes:
        """The bytes of an index that a point relies on; of another length if they are not those."""
        path = self.path(suffix)
        if not part.entries or not self._files.exists(path):
            return b""
        data = self._files.open(path).read_at(0, part.entries * kind.ENTRY_BYTES)
        return data if crc32c(data) == part.crc else b""

    @property
    def index_paths(self) -> list[str]:
        return [self.path(suffix) for suffix in (_INDEXES if self.has_aborted else _INDEXES[:2])]

    def write_indexes(self) -> list[File]:
        """Put the indexes into their files. The files come back open, to be synced when it suits."""
        self.time_index().append(*self.largest())
        written = [
            self._write(INDEX, self.offset_index().to_bytes()),
            self._write(TIME_INDEX, self.time_index().to_bytes()),
        ]
        if self.has_aborted:
            written.append(self.write_aborted())
        return written

    def write_aborted(self) -> File:
        return self._write(TXN_INDEX, self.aborted_index().to_bytes())

    def _write(self, suffix: str, data: bytes) -> File:
        file = self._files.open(self.path(suffix), writable=True, create=True)
        empty(file)
        if data:
            file.write_at(0, data)
        return file

    def seal(self) -> list[File]:
        """No more appends. Returns the files to sync before this segment counts as durable."""
        file = self.file()
        index_files = self.write_indexes()
        self.is_sealed = True
        self._opened.touch(self)
        return [file, *index_files]

    def rename_away(self, *, with_snapshot: bool = True) -> list[str]:
        """Rename the segment's files so that no open takes them for its own. Returns the new paths."""
        # The log first: without it the rest is swept at the next open.
        suffixes = (LOG, *_INDEXES, SNAPSHOT) if with_snapshot else (LOG, *_INDEXES)
        present = [path for suffix in suffixes if self._files.exists(path := self.path(suffix))]
        for path in present:
            self._files.rename(path, path + DELETED)
        return [path + DELETED for path in present]

    def remove_files(self) -> None:
        """Remove a segment that was never taken into the log."""
        for suffix in (LOG, *_INDEXES):
            if self._files.exists(self.path(suffix)):
                self._files.remove(self.path(suffix))

    def take_over(self) -> None:
        """A cleaned segment gets its sources' place, which they have left, and its final name. Raises ``OSError``."""
        suffixes = _INDEXES if self.has_aborted else _INDEXES[:2]
        names = {suffix: self.path(suffix) for suffix in suffixes}
        swap = segment_path(self._directory, self.base_offset, LOG + SWAP)
        self._name_suffix, self.is_sealed = "", True
        for suffix, path in names.items():
            self._files.rename(path, self.path(suffix))
        self._files.rename(swap, self.path())
        self._opened.touch(self)

    def commit_swap(self) -> None:
        """From here on the cleaned segment is the truth, whatever happens. Raises ``OSError``."""
        self._files.rename(self.path(), segment_path(self._directory, self.base_offset, LOG + SWAP))
        self._files.sync_directory(self._directory)
