"""The checks every append gets, whoever sends it: whole batches with the right checksums. Private to this room."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from leaselog.model import ErrorCode
from leaselog.wire.errors import Truncated
from leaselog.wire.record_batch import BatchHeader, check_crc, iterate_headers, stamp

__all__ = ["AppendRefused", "Origin", "RecordError", "take_in"]


class Origin(Enum):
    """Who appends."""

    CLIENT = auto()
    COORDINATOR = auto()


@dataclass(frozen=True, slots=True)
class RecordError:
    index: int
    message: str


@dataclass(frozen=True, slots=True)
class AppendRefused:
    """Why nothing was appended; of some faults, which records are to blame."""

    code: ErrorCode
    message: str | None = None
    record_errors: tuple[RecordError, ...] = ()


def take_in(records: bytearray | memoryview, next_offset: int, leader_epoch: int) -> list[BatchHeader]:
    """The headers, stamped in the buffer with dense offsets. Raises ``DecodeError`` and then has changed nothing."""
    batches = list(iterate_headers(records))
    if not batches:
        raise Truncated("no batch")
    for position, header in batches:
        check_crc(records, header, position)
    for position, header in batches:
        stamp(records, position, next_offset, leader_epoch)
        header.base_offset, header.leader_epoch = next_offset, leader_epoch
        next_offset = header.end_offset
    return [header for _, header in batches]
