"""Reading a partition of ``__share_group_state`` back, from where its log begins, a step at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from leaselog.broker.partition import Partition
from leaselog.broker.share_records import decode_share_fact
from leaselog.broker.structured_log import StructuredLog
from leaselog.coordination.share_state_facts import ShareFact
from leaselog.model import BrokenInvariant, Refused
from leaselog.wire.errors import DecodeError
from leaselog.wire.record_batch import iterate_headers
from leaselog.wire.records import Record, read_records

__all__ = ["LoadStep", "load_steps"]

#: facts and their offsets
LoadStep: TypeAlias = list[tuple[int, ShareFact]]

#: read back at a time; the loop serves others in between
LOAD_BYTES = 256 * 1024

log = StructuredLog("share state")


def load_steps(partition: Partition) -> Iterator[LoadStep]:
    """All there is to replay. Raises ``BrokenInvariant`` if the log cannot be read."""
    partition_log = partition.log
    position = partition_log.start_offset
    # After a failed write only what is safe counts; else also what is on its way.
    end = partition_log.end_offset if partition_log.failure is None else partition_log.high_watermark
    while position < end:
        data = partition_log.read(position, LOAD_BYTES, end)
        if isinstance(data, Refused):
            raise BrokenInvariant(f"{partition.name} cannot be read from {position}: {data}")
        if not len(data):
            return
        step: LoadStep = []
        for at, header in iterate_headers(data):
            if header.end_offset > position and not header.is_control:
                step += _facts(partition, read_records(data, header, at), position)
            position = max(position, header.end_offset)
        yield step


def _facts(partition: Partition, records: Iterable[Record], start: int) -> Iterator[tuple[int, ShareFact]]:
    for record in records:
        if record.offset < start:
            continue
        try:
            fact = decode_share_fact(record)
        except DecodeError as bad:
            # Written by something newer than us, or not by a coordinator at all: skipping it loses one write.
            log.error("unreadable share state", partition=partition.name, offset=record.offset, why=bad)
            continue
        if fact is not None:
            yield record.offset, fact
