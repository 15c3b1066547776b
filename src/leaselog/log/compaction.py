"""What compaction keeps: of every key the last record, of a tombstone its memory for a while. Pure, batch by batch.

Offsets never change. A batch that loses records keeps its base and last offset; one that loses all of them goes,
unless it still has to say something:

    its producer's last sequence       so that a repetition is still known after a restart
    where the segment ends             so that a segment always ends where the next one begins, which recovery
                                       and the swap of a cleaned segment rely on

A tombstone is first kept: its batch gets a delete horizon (KIP-534), `delete.retention.ms` from the cleaning that
first saw it, so that a reader who began before has that long to see it. A later cleaning drops it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b

from leaselog.wire.record_batch import BatchHeader
from leaselog.wire.records import Record, read_records, rebuild_batch, scan_records

__all__ = ["CompactionRules", "KeyMap", "compact_batch"]

#: about 150 MB of map. Beyond it a cleaning covers what the map knows, and the next one goes on from there.
MAX_KEYS = 1_000_000

_DIGEST_BYTES = 16


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


@dataclass(frozen=True, slots=True)
class CompactionRules:
    keys: KeyMap
    now_ms: int
    delete_retention_ms: int
    #: of each producer remembered, the last offset it wrote
    last_offsets: Mapping[int, int]


def compact_batch(
    batch: memoryview, header: BatchHeader, rules: CompactionRules, *, is_segment_end: bool
) -> bytes | bytearray | memoryview | None:
    """The batch as compaction leaves it: the very bytes when it loses nothing, None when nothing stays."""
    if header.is_control or header.base_offset >= rules.keys.end_offset:
        return batch
    kept = [record for record in read_records(batch, header) if _stays(record, header, rules)]
    if not kept:
        must_stay = is_segment_end or rules.last_offsets.get(header.producer_id) == header.end_offset - 1
        if not must_stay:
            return None
        return batch if header.record_count == 0 else rebuild_batch(header, [])
    needs_horizon = not header.has_delete_horizon and any(record.value is None for record in kept)
    if len(kept) == header.record_count and not needs_horizon:
        return batch
    horizon_ms = rules.now_ms + rules.delete_retention_ms if needs_horizon else None
    return rebuild_batch(header, kept, delete_horizon_ms=horizon_ms)


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
