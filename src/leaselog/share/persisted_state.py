"""The part of a share partition's state that outlives its leader, as the share coordinator keeps it."""

from __future__ import annotations

from dataclasses import dataclass

from leaselog.model import BrokenInvariant
from leaselog.share.record_state import RecordState

__all__ = ["NO_START_OFFSET", "StoredState", "StateSpan"]

#: the group never had a start offset here: its reset policy decides
NO_START_OFFSET = -1


@dataclass(slots=True)
class StateSpan:
    """Records in ``[start, end)`` with one state, count and due time. Never ACQUIRED: leases are not durable.

    Not frozen, as the commands of every job are not; nobody changes it.
    """

    start: int
    end: int
    state: RecordState
    delivery_count: int
    #: of AVAILABLE records, before when they are held back, by the machine's clock
    due_ms: int | None = None

    def __post_init__(self) -> None:
        if self.state is RecordState.ACQUIRED or self.start >= self.end:
            raise BrokenInvariant(f"{self} cannot be persisted")


@dataclass(frozen=True, slots=True)
class StoredState:
    """What the persister has. Offsets between spans were never recorded: leased or unread when the leader ended."""

    start_offset: int = NO_START_OFFSET
    #: ascending, disjoint
    spans: tuple[StateSpan, ...] = ()
