"""How the facts of a share-state owner lie in a log: what any ledger must do, and that of ``__share_group_state``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeAlias

from leaselog.broker.partition import Partition
from leaselog.broker.share_records import decode_share_fact, encode_share_fact
from leaselog.broker.structured_log import StructuredLog
from leaselog.coordination.share_state_facts import ShareFact
from leaselog.log import PartitionLog
from leaselog.model import BrokenInvariant, Refused
from leaselog.wire.errors import DecodeError
from leaselog.wire.record_batch import HEADER_BYTES, BatchHeader, iterate_headers
from leaselog.wire.records import Record, build_batch, read_records

__all__ = ["LoadStep", "ShareLedger", "StateTopicLedger", "batches_of", "read_back"]

#: facts and their offsets
LoadStep: TypeAlias = list[tuple[int, ShareFact]]

#: read back at a time; the loop serves others in between
LOAD_BYTES = 256 * 1024
#: what the length, offset and timestamp of a record take at most
RECORD_OVERHEAD_BYTES = 32

log = StructuredLog("share state")


class ShareLedger(Protocol):
    @property
    def is_alone(self) -> bool:
        """Nobody else writes to the log, so that the offsets of records are known before they are written."""

    def load_steps(self) -> Iterator[LoadStep]:
        """All there is to replay, a step at a time. Raises ``BrokenInvariant`` if the log cannot be read."""

    def batches(self, facts: Iterable[ShareFact], now_ms: int) -> Iterator[bytearray]:
        """The facts as batches that the topic takes, to be appended at once. More than one are not atomic; each
        fact stands alone."""


class StateTopicLedger:
    """A partition of ``__share_group_state``, byte for byte as Apache Kafka has it."""

    is_alone = True

    def __init__(self, partition: Partition) -> None:
        self._partition = partition

    def load_steps(self) -> Iterator[LoadStep]:
        for step in read_back(self._partition.log, lambda header: not header.is_control):
            yield [(offset, fact) for record in step for offset, fact in self._fact(record)]

    def batches(self, facts: Iterable[ShareFact], now_ms: int) -> Iterator[bytearray]:
        records = (encode_share_fact(fact, now_ms) for fact in facts)
        for batch in batches_of(records, self._partition.log.config.max_message_bytes):
            yield build_batch(batch)

    def _fact(self, record: Record) -> LoadStep:
        try:
            fact = decode_share_fact(record)
        except DecodeError as bad:
            # Written by something newer than us, or not by a coordinator at all: skipping it loses one write.
            log.error("unreadable share state", partition=self._partition.name, offset=record.offset, why=bad)
            return []
        return [] if fact is None else [(record.offset, fact)]


def batches_of(records: Iterable[Record], limit_bytes: int) -> Iterator[list[Record]]:
    """The records in portions whose batches are no larger than ``limit_bytes``, but for one that is larger alone."""
    portion: list[Record] = []
    size_bytes = HEADER_BYTES
    for record in records:
        more_bytes = len(record.key or b"") + len(record.value or b"") + RECORD_OVERHEAD_BYTES
        if portion and size_bytes + more_bytes > limit_bytes:
            yield portion
            portion, size_bytes = [], HEADER_BYTES
        portion.append(record)
        size_bytes += more_bytes
    if portion:
        yield portion


def read_back(
    partition_log: PartitionLog, is_wanted: Callable[[BatchHeader], bool], start: int = 0
) -> Iterator[list[Record]]:
    """The records of the batches that are wanted, from ``start`` or where the log begins, a step at a time."""
    position = max(start, partition_log.start_offset)
    # After a failed write only what is safe counts; else also what is on its way.
    end = partition_log.end_offset if partition_log.failure is None else partition_log.high_watermark
    while position < end:
        data = partition_log.read(position, LOAD_BYTES, end)
        if isinstance(data, Refused):
            raise BrokenInvariant(f"{partition_log.directory} cannot be read from {position}: {data}")
        if not len(data):
            return
        step: list[Record] = []
        first = position
        for at, header in iterate_headers(data):
            if header.end_offset > first and is_wanted(header):
                step += [r for r in read_records(data, header, at) if r.offset >= first]
            position = max(position, header.end_offset)
        yield step
