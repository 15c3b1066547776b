"""What an operator wants to know of a share partition: counted in one walk over its runs. Pure; changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from leaselog.model import MemberId
from leaselog.share.acknowledging import is_hole
from leaselog.share.record_state import TERMINAL, RecordState
from leaselog.share.share_partition import SharePartition

__all__ = ["Holding", "Inspection", "inspect"]


@dataclass(frozen=True, slots=True)
class Holding:
    """What one member holds."""

    record_count: int
    #: when the first and the last of its leases end
    first_deadline_ms: int
    last_deadline_ms: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """Counts are records."""

    start: int
    end: int
    #: the first record that nobody has finished; ``end`` when all of the window is done
    first_unfinished: int
    #: to be had now
    available: int
    #: held back until a time, of which the first is ``next_due_ms``
    waiting: int
    next_due_ms: int | None
    #: on their way to the dead-letter topic
    archiving: int
    acquired: int
    #: finished, but with unfinished ones before them
    done_ahead: int
    #: what counts against the bound on the window
    window_used: int
    window_limit: int
    #: unfinished records of the window by how often they were delivered
    delivery_counts: Mapping[int, int]
    holders: Mapping[MemberId, Holding]


def inspect(partition: SharePartition) -> Inspection:
    counts = dict.fromkeys(RecordState, 0)
    delivery_counts, holders = dict[int, int](), dict[MemberId, Holding]()
    first_unfinished, hole_count, next_due_ms = partition.end, 0, None
    for start, end, cell in partition.runs():
        size = end - start
        if is_hole(cell):
            hole_count += size
            continue
        counts[cell.state] += size
        if cell.state in TERMINAL:
            continue
        first_unfinished = min(first_unfinished, start)
        delivery_counts[cell.delivery_count] = delivery_counts.get(cell.delivery_count, 0) + size
        if cell.state is RecordState.AVAILABLE and cell.deadline_ms is not None:
            next_due_ms = min(cell.deadline_ms, next_due_ms or cell.deadline_ms)
        if cell.holder is not None and cell.deadline_ms is not None:
            known = holders.get(cell.holder, Holding(0, cell.deadline_ms, cell.deadline_ms))
            holders[cell.holder] = Holding(
                known.record_count + size,
                min(known.first_deadline_ms, cell.deadline_ms),
                max(known.last_deadline_ms, cell.deadline_ms),
            )
    return Inspection(
        partition.start,
        partition.end,
        first_unfinished,
        counts[RecordState.AVAILABLE] - partition.waiting_count,
        partition.waiting_count,
        next_due_ms,
        counts[RecordState.ARCHIVING],
        counts[RecordState.ACQUIRED],
        counts[RecordState.ACKNOWLEDGED] + counts[RecordState.ARCHIVED],
        partition.end - partition.start - hole_count,
        partition.limits.max_record_locks,
        dict(sorted(delivery_counts.items())),
        holders,
    )
