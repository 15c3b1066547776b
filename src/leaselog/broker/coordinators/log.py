"""What a coordinator has written, read back a step at a time, and records put into batches that its topic takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from leaselog.broker.records.portions import most_bytes
from leaselog.log import PartitionLog
from leaselog.model import BrokenInvariant, Refused
from leaselog.wire.end_markers import EndMarker, read_end_marker
from leaselog.wire.errors import DecodeError, EncodeError
from leaselog.wire.record_batch import HEADER_BYTES, BatchHeader, iterate_headers
from leaselog.wire.records import Record, read_records

__all__ = ["ReadBatch", "Unwritable", "read_back", "read_batches", "records_of"]

Fact = TypeVar("Fact")

#: read back at a time; the loop serves others in between
LOAD_BYTES = 256 * 1024


class Unwritable(Exception):
    """No record of the topic can say this. Nothing has been changed or written."""


def records_of(facts: Iterable[Fact], encode: Callable[[Fact], Record], limit_bytes: int) -> list[Record]:
    """The facts as records each of which fits a batch of ``limit_bytes``; or raises ``Unwritable``."""
    records = []
    for fact in facts:
        try:
            record = encode(fact)
        except EncodeError as bad:
            raise Unwritable(str(bad)) from bad
        size_bytes = most_bytes(record)
        if HEADER_BYTES + size_bytes > limit_bytes:
            what = type(fact).__name__
            raise Unwritable(f"{what} of {size_bytes} bytes, a batch may have {limit_bytes}")
        records.append(record)
    return records


class ReadBatch(NamedTuple):
    header: BatchHeader
    records: list[Record]
    #: the batch ends a transaction, so or so
    marker: EndMarker | None = None


def read_back(
    partition_log: PartitionLog, is_wanted: Callable[[BatchHeader], bool], start: int = 0
) -> Iterator[list[Record]]:
    """The records of the batches that are wanted, from ``start`` or where the log begins, a step at a time.

    Raises ``BrokenInvariant`` where the log cannot be read.
    """
    for step in read_batches(partition_log, is_wanted, start):
        yield [record for batch in step for record in batch.records]


def read_batches(
    partition_log: PartitionLog, is_wanted: Callable[[BatchHeader], bool], start: int = 0
) -> Iterator[list[ReadBatch]]:
    """The same, batch by batch, with what the markers among them say."""
    position = max(start, partition_log.start_offset)
    # After a failed write only what is safe counts; else also what is on its way.
    end = partition_log.end_offset if partition_log.failure is None else partition_log.high_watermark
    while position < end:
        data = partition_log.read(position, LOAD_BYTES, end)
        if isinstance(data, Refused):
            raise BrokenInvariant(f"{partition_log.directory} cannot be read from {position}: {data}")
        if not len(data):
            return
        try:
            step, position = _step(data, is_wanted, position)
        except DecodeError as damage:
            raise BrokenInvariant(
                f"{partition_log.directory} does not read from {position}: {damage}"
            ) from damage
        yield step


def _step(data: bytes, is_wanted: Callable[[BatchHeader], bool], first: int) -> tuple[list[ReadBatch], int]:
    """The wanted batches with their records from ``first`` on, and where they end."""
    step: list[ReadBatch] = []
    position = first
    for at, header in iterate_headers(data):
        if header.end_offset > first and is_wanted(header):
            records = [r for r in read_records(data, header, at) if r.offset >= first]
            step.append(ReadBatch(header, records, read_end_marker(data, header, at)))
        position = max(position, header.end_offset)
    return step, position
