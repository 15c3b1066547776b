"""The records of a batch by aiokafka's compiled parser, where `leaselog[fast]` or anything else has installed it.

It takes a fifth of the time of our own, and is the only thing used of that package. Ours stays the judge: a batch that
the parser refuses, or reads as something a log would not have written, is read once more by ``read_records``, which
raises or reads on as if there were no other. So with and without it a batch is the same records (ADR 0012).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from itertools import islice
from operator import itemgetter, lt
from typing import Any

from leaselog.wire.compression import MAX_DECOMPRESSED_BYTES, Codec, decompress
from leaselog.wire.primitives import Buffer
from leaselog.wire.record_batch import HEADER_BYTES, BatchHeader
from leaselog.wire.records import Record, read_records

__all__ = ["RecordReader", "has_parser", "read_records_compiled", "record_reader"]

RecordReader = Callable[[Buffer, BatchHeader, int], Iterable[Record]]

#: the lower byte of a batch's attributes, and the bits in it that name a codec
_ATTRIBUTES_AT, _CODEC_BITS = 22, 0x07
_new = tuple.__new__
_timestamp_ms, _offset = itemgetter(3), itemgetter(4)


@cache
def _parser() -> type[Any] | None:
    """Looked for when somebody is about to read records: it brings a whole client along, a tenth of a second."""
    try:
        from aiokafka.record._crecords import DefaultRecordBatch
    except ImportError:
        return None
    return DefaultRecordBatch  # type: ignore[no-any-return]


def has_parser() -> bool:
    """Whether there is one on this machine."""
    return _parser() is not None


def record_reader(*, checked: bool) -> RecordReader:
    """The quickest reader for batches whose checksum was ``checked``.

    Others are not for the parser, which trusts a varint to end before the buffer does.
    """
    return read_records_compiled if checked and has_parser() else read_records


def read_records_compiled(buffer: Buffer, header: BatchHeader, position: int = 0) -> Iterable[Record]:
    """As ``read_records``, all at once. Only where `has_parser`."""
    parser = _parser()
    assert parser is not None, "aiokafka is not installed"
    try:
        records = [
            _new(Record, (each.key, each.value, tuple(each.headers), each.timestamp, each.offset))
            for each in parser(_plain(buffer, header, position))
        ]
        if _is_as_written(records, header):
            return records
    except Exception:  # noqa: BLE001 - whatever it does not like, ours has the better words for
        pass
    return read_records(buffer, header, position)


def _plain(buffer: Buffer, header: BatchHeader, position: int) -> Buffer:
    """The batch without compression: where it lies, if it has none. How much comes out is bounded here."""
    whole = memoryview(buffer)[position : position + header.size_bytes]
    if header.compression is Codec.NONE:
        return whole
    packed = whole[HEADER_BYTES:]
    head = bytearray(whole[:HEADER_BYTES])
    head[_ATTRIBUTES_AT] &= ~_CODEC_BITS
    body = decompress(header.compression, packed, MAX_DECOMPRESSED_BYTES) if packed else b""
    return b"".join((head, body))


def _is_as_written(records: list[Record], header: BatchHeader) -> bool:
    """Ascending offsets within the batch, and times that did not overflow: the parser does not look at these.

    It has no time for a record that says -1, which raises here.
    """
    if not records:
        return True
    offsets = [*map(_offset, records)]
    return (
        offsets[0] >= header.base_offset
        and offsets[-1] < header.end_offset
        and all(map(lt, offsets, islice(offsets, 1, None)))
        and header.base_timestamp >= 0
        and min(map(_timestamp_ms, records)) >= 0
    )
