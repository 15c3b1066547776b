"""What an append is asked by, and what it may be refused with. Private to this room; public by its ``__init__``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from leaselog.model import ErrorCode

__all__ = ["AppendRefused", "Origin", "RecordError", "Unfit"]


class Origin(Enum):
    """Who appends."""

    #: a producer, held to every rule
    CLIENT = auto()
    #: the broker itself: several batches at once, control batches
    COORDINATOR = auto()
    #: it ends a transaction of `transaction.version` 2: the marker's epoch is newer than that of the records
    BUMPED_MARKER = auto()


@dataclass(frozen=True, slots=True)
class RecordError:
    """One record to blame, by its index in the batch."""

    index: int
    message: str


@dataclass(frozen=True, slots=True)
class AppendRefused:
    """Why nothing was appended; of some faults, which records are to blame."""

    code: ErrorCode
    message: str | None = None
    record_errors: tuple[RecordError, ...] = ()


class Unfit(Exception):
    """Carries a refusal out of the depth of a check."""

    def __init__(
        self, code: ErrorCode, message: str | None, record_errors: tuple[RecordError, ...] = ()
    ) -> None:
        self.refusal = AppendRefused(code, message, record_errors)
