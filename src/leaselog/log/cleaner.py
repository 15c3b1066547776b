"""The cleaner: rewrites sealed segments of a compacted topic, small ones merged, while the log goes on.

    PartitionLog.plan_cleaning     owner's thread    whether it is worth it, and which segments
    CleaningJob.run / steps        any thread        reads those segments, writes and syncs `.cleaned` files
    PartitionLog.install           owner's thread    puts each in place of its sources (see ``swaps``)
    PartitionLog.drop_cleaning     owner's thread    or removes the `.cleaned` files again

A job shares nothing with its log but file names: sealed segments do not change, and it opens them itself. The
active segment is never cleaned, nor anything not yet durable, nor too young (`min.compaction.lag.ms`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from leaselog.log._scan import scan_batches
from leaselog.log.aborted_index import AbortedTransaction
from leaselog.log.compaction import MAX_KEYS, CleanedTransactions, CompactionRules, KeyMap, compact_batch
from leaselog.log.config import LogConfig
from leaselog.log.files import Files
from leaselog.log.index import MAX_RELATIVE_OFFSET
from leaselog.log.segment import Segment
from leaselog.wire.errors import CorruptBatch
from leaselog.wire.record_batch import BatchHeader, check_crc, read_header

__all__ = ["Candidate", "Cleaned", "CleaningJob", "Source", "cleanable", "group"]

_WRITE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sealed segment as the decision to clean sees it."""

    base_offset: int
    end_offset: int
    size_bytes: int
    first_timestamp_ms: int
    largest_timestamp_ms: int


def cleanable(
    sealed: Sequence[Candidate], config: LogConfig, *, now_ms: int, cleaned_to: int, safe_end: int
) -> int:
    """How many of the oldest segments to clean now; 0 if it is not worth it yet."""
    count, clean_bytes, dirty_bytes, oldest_dirty_ms = 0, 0, 0, now_ms
    for segment in sealed:
        is_dirty = segment.end_offset > cleaned_to
        is_young = config.min_compaction_lag_ms > 0 and (
            segment.largest_timestamp_ms > now_ms - config.min_compaction_lag_ms
        )
        if segment.end_offset > safe_end or (is_dirty and is_young):
            break
        count += 1
        if is_dirty:
            dirty_bytes += segment.size_bytes
            if segment.first_timestamp_ms >= 0:
                oldest_dirty_ms = min(oldest_dirty_ms, segment.first_timestamp_ms)
        else:
            clean_bytes += segment.size_bytes
    if dirty_bytes == 0:
        return 0
    is_overdue = now_ms - oldest_dirty_ms > config.max_compaction_lag_ms
    ratio = dirty_bytes / (clean_bytes + dirty_bytes)
    return count if is_overdue or ratio > config.min_cleanable_dirty_ratio else 0


@dataclass(frozen=True, slots=True)
class Source:
    """A segment to clean, by what another thread may know of it."""

    path: str
    base_offset: int
    end_offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Cleaned:
    """One group of sources and the segment made from them; without one they stay as they are."""

    sources: tuple[Source, ...]
    segment: Segment | None


@dataclass(slots=True)
class CleaningJob:
    """One round of cleaning. ``run`` raises ``OSError`` or ``DecodeError``; the log is then as it was."""

    files: Files
    sources: tuple[Source, ...]
    config: LogConfig
    now_ms: int
    #: where the dirty part begins
    dirty_from: int
    last_offsets: Mapping[int, int]
    #: of each producer of which nothing but a marker is remembered, its epoch
    marker_epochs: Mapping[int, int]
    #: the aborted transactions that have records in the sources
    aborted: Sequence[AbortedTransaction]
    #: makes the segment that a group becomes, named `.cleaned`, from its first and end offset
    new_segment: Callable[[int, int], Segment]
    max_keys: int = MAX_KEYS
    #: what came of it, complete once ``run`` returns
    done: list[Cleaned] = field(default_factory=list)
    #: all below is clean once the job is installed
    cleaned_to: int = 0
    bytes_read: int = 0
    bytes_written: int = 0

    def run(self) -> None:
        for _ in self.steps():
            pass

    def steps(self) -> Iterator[None]:
        """The same as ``run``, pausing about once a mebibyte, so that whoever drives it can throttle or give up."""
        keys = KeyMap(self.dirty_from, self.max_keys)
        yield from self._map_keys(keys)
        rules = CompactionRules(
            keys,
            self.now_ms,
            self.config.delete_retention_ms,
            self.last_offsets,
            self.marker_epochs,
            CleanedTransactions(self.aborted),
        )
        known = [source for source in self.sources if source.base_offset < keys.end_offset]
        for sources in group(known, self.config):
            yield from self._clean(sources, rules)
        self.cleaned_to = keys.end_offset

    def _map_keys(self, keys: KeyMap) -> Iterator[None]:
        transactions = CleanedTransactions(self.aborted)
        for source in self.sources:
            if source.end_offset <= self.dirty_from:
                continue
            for _, header, batch in self._batches(source):
                is_wanted = header.end_offset > self.dirty_from and not transactions.is_aborted(header)
                if is_wanted and not keys.add(batch, header):
                    return
                if self._counts(header.size_bytes):
                    yield
            keys.end_offset = source.end_offset

    def _clean(self, sources: tuple[Source, ...], rules: CompactionRules) -> Iterator[None]:
        segment = self.new_segment(sources[0].base_offset, sources[-1].end_offset)
        segment.create()
        pending, headers, is_changed = bytearray(), list[BatchHeader](), len(sources) > 1
        for source in sources:
            for position, header, batch in self._batches(source):
                is_end = source is sources[-1] and position + header.size_bytes == source.size_bytes
                kept = compact_batch(batch, header, rules, is_segment_end=is_end)
                is_changed = is_changed or kept is not batch
                if kept is not None:
                    pending += kept
                    headers.append(header if kept is batch else read_header(kept))
                if len(pending) >= _WRITE_BYTES:
                    self._write(segment, pending, headers)
                    pending, headers = bytearray(), []
                if self._counts(header.size_bytes):
                    yield
        self._write(segment, pending, headers)
        for file in (segment.file(), *segment.write_indexes()):
            file.sync()
        self.done.append(Cleaned(sources, segment))
        if not is_changed:
            segment.remove_files()
            self.done[-1] = Cleaned(sources, None)

    def _write(self, segment: Segment, data: bytearray, headers: list[BatchHeader]) -> None:
        if headers:
            segment.append(data, headers, interval_bytes=self.config.index_interval_bytes)
            self.bytes_written += len(data)
            by_marker = {transaction.last_offset: transaction for transaction in self.aborted}
            for header in headers:
                if header.is_control and header.base_offset in by_marker:
                    segment.add_aborted(by_marker[header.base_offset])

    def _batches(self, source: Source) -> Iterator[tuple[int, BatchHeader, memoryview]]:
        """A source's batches, each one checked: rot in one must not be written anew under a good checksum."""
        file, position = self.files.open(source.path), 0
        for position, header, batch in scan_batches(file, 0, source.size_bytes):
            check_crc(batch, header)
            yield position, header, batch
            position += header.size_bytes
        if position != source.size_bytes:
            raise CorruptBatch(
                f"{source.path} ends within a batch at {position}, expected {source.size_bytes}"
            )

    def _counts(self, size_bytes: int) -> bool:
        """Add to what was read; True when another mebibyte is full."""
        before = self.bytes_read
        self.bytes_read += size_bytes
        return before // _WRITE_BYTES != self.bytes_read // _WRITE_BYTES


def group(sources: Sequence[Source], config: LogConfig) -> list[tuple[Source, ...]]:
    """Neighbours that fit into one segment together, by their sizes before cleaning."""
    groups: list[list[Source]] = []
    for source in sources:
        current = groups[-1] if groups else None
        if current is not None and (
            sum(member.size_bytes for member in current) + source.size_bytes <= config.segment_bytes
            and source.end_offset - 1 - current[0].base_offset <= MAX_RELATIVE_OFFSET
        ):
            current.append(source)
        else:
            groups.append([source])
    return [tuple(members) for members in groups if any(member.size_bytes for member in members)]
