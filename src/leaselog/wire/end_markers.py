"""The control batch that ends a transaction in one partition: one record, COMMIT or ABORT, byte for byte as Apache's.

The key says which of the two; the value has the epoch of the coordinator that wrote it, by which an older one is told
from a newer. Other control batches (of KRaft, of share state) are none of this file's.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from leaselog.wire.errors import BadValue, CorruptBatch
from leaselog.wire.primitives import Buffer
from leaselog.wire.record_batch import BatchHeader
from leaselog.wire.records import Record, build_batch, read_records

__all__ = ["EndMarker", "build_end_marker", "read_end_marker"]

_KEY = Struct(">hh")
_VALUE = Struct(">hi")
_VERSION = 0
_ABORT, _COMMIT = 0, 1


class EndMarker(NamedTuple):
    """How a transaction ended."""

    is_commit: bool
    coordinator_epoch: int


def build_end_marker(producer_id: int, producer_epoch: int, marker: EndMarker, *, now_ms: int) -> bytearray:
    """The batch, to be appended like any other."""
    key = _KEY.pack(_VERSION, _COMMIT if marker.is_commit else _ABORT)
    record = Record(key, _VALUE.pack(_VERSION, marker.coordinator_epoch), (), now_ms)
    return build_batch(
        [record],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
    )


def read_end_marker(batch: Buffer, header: BatchHeader, position: int = 0) -> EndMarker | None:
    """What the control batch at ``position`` says; None if it ends no transaction, or compaction has emptied it.

    Raises ``DecodeError`` for what no coordinator writes. Later versions are read as this one, which they extend.
    """
    if not header.is_control or not header.has_producer or not header.record_count:
        return None
    record = next(read_records(batch, header, position))
    if record.key is None or len(record.key) < _KEY.size:
        raise CorruptBatch(f"key of a control record: {record.key!r}")
    version, kind = _KEY.unpack_from(record.key)
    if version < 0:
        raise BadValue(f"control record version {version}")
    if kind not in (_ABORT, _COMMIT):
        return None
    if record.value is None or len(record.value) < _VALUE.size:
        raise CorruptBatch(f"value of a transaction marker: {record.value!r}")
    version, coordinator_epoch = _VALUE.unpack_from(record.value)
    if version < 0:
        raise BadValue(f"transaction marker version {version}")
    return EndMarker(kind == _COMMIT, coordinator_epoch)
