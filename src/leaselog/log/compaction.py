"""What compaction keeps: of every key the last record, of a tombstone its memory for a while. Pure, batch by batch.

Offsets never change. A batch that loses records keeps its base and last offset; one that loses all of them goes,
unless it still has to say something:

    its producer's last sequence       so that a repetition is still known after a restart
    where the segment ends             so that a segment always ends where the next one begins, which recovery
                                       and the swap of a cleaned segment rely on

What an aborted transaction wrote goes, and supersedes nothing. A marker is kept as long as there is a batch of its
transaction, emptied or not: a log that is read again would find the transaction open. From the cleaning on that finds
none, it is kept like a tombstone, for readers who have begun to read the transaction; and as long as nothing else tells
its producer's epoch.

A tombstone is first kept: its batch gets a delete horizon (KIP-534), `delete.retention.ms` from the cleaning that
first saw it, so that a reader who began before has that long to see it. A later cleaning drops it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from operator import attrgetter

from leaselog.log.aborted_index import AbortedTransaction
from leaselog.wire.record_batch import BatchHeader
from leaselog.wire.records import Record, read_records, rebuild_batch, scan_records

__all__ = ["CleanedTransactions", "CompactionRules", "KeyMap", "compact_batch"]

#: about 150 MB of map. Beyond it a cleaning covers what the map knows, and the next one goes on from there.
MAX_KEYS = 1_000_000

_DIGEST_BYTES = 16
_LAST_OFFSET = attrgetter("last_offset")


class KeyMap:
    """The last offset of each key from ``start`` on. Keys by digest, so their size does not matter."""

    def __init__(self, start: int, limit: int = MAX_KEYS) -> None:
        self._start = start
        self._limit = limit
        self._offsets: dict[bytes, int] = {}
        #: every record from the start up to here is known
        self.end_offset = start

    def __len__(self) -> int:
        return len(self._offsets)

    def add(self, batch: memoryview, header: BatchHeader) -> bool:
        """Count in a batch, later than any before; its records below the start are passed over.

        False when the map is full before the batch's end.
        """
        if not header.is_control:
            for record in scan_records(batch, header):
                if record.key is None or record.offset < self._start:
                    continue
                digest = _digest(record.key)
                if len(self._offsets) >= self._limit and digest not in self._offsets:
                    self.end_offset = record.offset
                    return False
                self._offsets[digest] = record.offset
        self.end_offset = header.end_offset
        return True

    def is_superseded(self, key: bytes, offset: int) -> bool:
        return self._offsets.get(_digest(key), -1) > offset


class CleanedTransactions:
    """The transactions of what is cleaned, all of which have ended. Batches are to be told of in their order."""

    def __init__(self, aborted: Iterable[AbortedTransaction] = ()) -> None:
        self._aborted = dict[int, list[AbortedTransaction]]()
        for transaction in aborted:
            self._aborted.setdefault(transaction.producer_id, []).append(transaction)
        #: producers of which there was a batch since their last marker
        self._begun = set[int]()

    def is_aborted(self, header: BatchHeader) -> bool:
        """Whether the batch is of an aborted transaction, and no marker."""
        if not header.is_transactional or header.is_control:
            return False
        known = self._aborted.get(header.producer_id, ())
        at = bisect_left(known, header.base_offset, key=_LAST_OFFSET)
        return at < len(known) and known[at].first_offset <= header.base_offset

    def pass_over(self, header: BatchHeader) -> bool:
        """Goes on to the next batch. Whether this one is a marker of a transaction of which there is nothing left."""
        if header.is_control and header.has_producer:
            is_needed = header.producer_id in self._begun
            self._begun.discard(header.producer_id)
            return not is_needed
        if header.is_transactional:
            self._begun.add(header.producer_id)
        return False


@dataclass(frozen=True, slots=True)
class CompactionRules:
    keys: KeyMap
    now_ms: int
    delete_retention_ms: int
    #: of each producer remembered, the last offset it wrote
    last_offsets: Mapping[int, int]
    #: of each producer of which nothing but a marker is remembered, its epoch
    marker_epochs: Mapping[int, int] = field(default_factory=dict)
    transactions: CleanedTransactions = field(default_factory=CleanedTransactions)


def compact_batch(
    batch: memoryview, header: BatchHeader, rules: CompactionRules, *, is_segment_end: bool
) -> bytes | bytearray | memoryview | None:
    """The batch as compaction leaves it: the very bytes when it loses nothing, None when nothing stays."""
    is_left_over = rules.transactions.pass_over(header)
    if rules.transactions.is_aborted(header):
        return _emptied(batch, header, rules, is_segment_end=is_segment_end)
    if header.base_offset >= rules.keys.end_offset:
        return batch
    if header.is_control:
        return _marker(batch, header, rules, is_segment_end=is_segment_end) if is_left_over else batch
    kept = [record for record in read_records(batch, header) if _stays(record, header, rules)]
    if not kept:
        return _emptied(batch, header, rules, is_segment_end=is_segment_end)
    needs_horizon = not header.has_delete_horizon and any(record.value is None for record in kept)
    if len(kept) == header.record_count and not needs_horizon:
        return batch
    horizon_ms = rules.now_ms + rules.delete_retention_ms if needs_horizon else None
    return rebuild_batch(header, kept, delete_horizon_ms=horizon_ms)


def _emptied(
    batch: memoryview, header: BatchHeader, rules: CompactionRules, *, is_segment_end: bool
) -> bytearray | memoryview | None:
    """The batch without its records, or None if nothing needs it."""
    if header.is_control:
        tells_producer = rules.marker_epochs.get(header.producer_id) == header.producer_epoch
    else:
        tells_producer = rules.last_offsets.get(header.producer_id) == header.end_offset - 1
    if not is_segment_end and not tells_producer:
        return None
    return batch if header.record_count == 0 else rebuild_batch(header, [])


def _marker(
    batch: memoryview, header: BatchHeader, rules: CompactionRules, *, is_segment_end: bool
) -> bytearray | memoryview | None:
    """A marker whose transaction has no batch any more: it may go when its delete horizon is past."""
    if header.record_count and not header.has_delete_horizon:
        horizon_ms = rules.now_ms + rules.delete_retention_ms
        return rebuild_batch(header, list(read_records(batch, header)), delete_horizon_ms=horizon_ms)
    if header.record_count and header.base_timestamp > rules.now_ms:
        return batch
    return _emptied(batch, header, rules, is_segment_end=is_segment_end)


def _stays(record: Record, header: BatchHeader, rules: CompactionRules) -> bool:
    if record.offset >= rules.keys.end_offset:
        return True
    if record.key is None:
        return False  # from before the topic was compacted; Kafka drops it too
    if rules.keys.is_superseded(record.key, record.offset):
        return False
    # With a horizon the base timestamp is the horizon.
    is_past_horizon = header.has_delete_horizon and header.base_timestamp <= rules.now_ms
    return record.value is not None or not is_past_horizon


def _digest(key: bytes) -> bytes:
    return blake2b(key, digest_size=_DIGEST_BYTES).digest()
