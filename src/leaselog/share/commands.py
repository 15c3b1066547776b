"""What may be asked of a share partition. Values only; each is answered by the machine at once.

What is asked for every job is not frozen, though nobody changes it: freezing costs each field a call when it is made,
and a tuple's fields take several times as long to read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NewType

from leaselog.model import MemberId, Span
from leaselog.share.retrying import RetryBackoff

__all__ = [
    "Acknowledge",
    "AcknowledgeType",
    "AcknowledgementBatch",
    "AcknowledgementDetails",
    "Acquire",
    "AcquireMode",
    "ChangeLimits",
    "Command",
    "DeadLettersEnded",
    "Expire",
    "Limits",
    "MoveLogStart",
    "Persisted",
    "ReleaseMember",
    "WriteToken",
]

WriteToken = NewType("WriteToken", int)


class AcquireMode(IntEnum):
    """Kafka's ids (KIP-1206)."""

    #: the limit is soft: what is new is taken up to the end of a log batch
    BATCH_OPTIMIZED = 0
    RECORD_LIMIT = 1


class AcknowledgeType(IntEnum):
    """Kafka's ids."""

    #: the client found no record at the offset
    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    #: a fresh lease (KIP-1222)
    RENEW = 4


@dataclass(frozen=True, slots=True)
class Limits:
    """What the group's configuration says. Read at every command, so a change counts from the next one on."""

    delivery_count_limit: int = 5
    lock_duration_ms: int = 30_000
    #: bounds the window from start to end, not the leases in it
    max_record_locks: int = 2_000
    #: what is rejected or out of deliveries goes to a dead-letter topic before it is archived (KIP-1191)
    has_dead_letters: bool = False
    #: how long what was released, or whose lease ran out, waits for its next delivery; None: not at all
    backoff: RetryBackoff | None = None
    #: the longest that a client may ask for
    release_delay_max_ms: int = 3_600_000

    @property
    def longest_wait_ms(self) -> int:
        """No record waits longer, whoever says so."""
        return max(self.release_delay_max_ms, 0 if self.backoff is None else self.backoff.max_ms)


@dataclass(slots=True)
class Acquire:
    """Lease records out of what was read from the log.

    ``batches`` are the log's batches from ``fetch_offset`` on, ascending, none left out between the first and the
    last: an offset in none of them is known to hold no record (compaction). Control batches may be left out.
    """

    member: MemberId
    fetch_offset: int
    batches: tuple[Span, ...]
    max_records: int
    #: the log's batches are grouped up to this size into one acquired range
    batch_size: int = 500
    mode: AcquireMode = AcquireMode.BATCH_OPTIMIZED
    #: what is archived and delivered to nobody, ascending: markers, and with read_committed aborted transactions
    withheld: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class AcknowledgementDetails:
    """What a client can say beyond Kafka's protocol; of each, what concerns its type of acknowledgement counts."""

    #: how long released records wait, in place of the group's pause; None leaves it to that
    delay_ms: int | None = None
    #: why records were rejected: the cause in their dead letters
    reason: str | None = None
    #: released records were not begun with: the delivery does not count, and nobody waits
    is_given_back: bool = False


@dataclass(slots=True)
class AcknowledgementBatch:
    """Offsets in ``[start, end)``: one type for all of them or exactly one for each. See ``find_malformed``."""

    start: int
    end: int
    types: Sequence[int]
    details: AcknowledgementDetails | None = None


@dataclass(slots=True)
class Acknowledge:
    """All or nothing: the first record that may not be acknowledged refuses every batch."""

    member: MemberId
    batches: tuple[AcknowledgementBatch, ...]


@dataclass(frozen=True, slots=True)
class ReleaseMember:
    """The member's share session ended: what it holds is released, as if it had asked for that itself.

    So the delivery counts, and a record that has used up its deliveries is archived (Apache Kafka from 4.3 on; 4.2 gave
    the delivery back, and such a record could be delivered for ever). What the member has acknowledged stays so.
    """

    member: MemberId


@dataclass(frozen=True, slots=True)
class Expire:
    """Look at the clock. Every command does that first; this one does nothing else."""


@dataclass(slots=True)
class Persisted:
    """The outcome of a ``Persist``. Every token is answered once, in any order."""

    token: WriteToken
    ok: bool


@dataclass(frozen=True, slots=True)
class DeadLettersEnded:
    """The outcome of a ``WriteDeadLetters``: each of its records is safe on the dead-letter topic, or given up.

    Every token is answered once, in any order, or never when the leader ends.
    """

    token: WriteToken


@dataclass(frozen=True, slots=True)
class MoveLogStart:
    """The log begins at ``offset`` now (retention, DeleteRecords)."""

    offset: int


@dataclass(frozen=True, slots=True)
class ChangeLimits:
    limits: Limits


Command = (
    Acquire
    | Acknowledge
    | ReleaseMember
    | Expire
    | Persisted
    | DeadLettersEnded
    | MoveLogStart
    | ChangeLimits
)
