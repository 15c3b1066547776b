"""What the machine asks its owner to do, and what it answers.

Like the commands, what is made for every job is not frozen, and nobody changes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from leaselog.model import Refused, Span
from leaselog.share.commands import WriteToken
from leaselog.share.persisted_state import StateSpan

__all__ = [
    "Acknowledged",
    "Acquired",
    "AcquiredRange",
    "Answer",
    "DeadLetters",
    "NoAnswer",
    "Effect",
    "Outcome",
    "Persist",
    "WakeFetchers",
    "WriteDeadLetters",
]


@dataclass(slots=True)
class Persist:
    """Make this durable and come back with ``Persisted(token, ok)``. Writes of a partition keep their order."""

    token: WriteToken
    #: as it is before this write, which is what Apache Kafka stores; the coordinator drops those below it
    start_offset: int
    #: records of the window that are through with if this write and those before it succeed (KIP-1226)
    delivery_complete_count: int
    spans: tuple[StateSpan, ...]


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Records in ``[start, end)`` that go to the dead-letter topic for one cause."""

    start: int
    end: int
    delivery_count: int
    cause: str


@dataclass(frozen=True, slots=True)
class WriteDeadLetters:
    """Put these records on the group's dead-letter topic and come back with ``DeadLettersEnded(token)``.

    That they are to go there is durable by now, or was tried to be, so a new leader asks for the same again.
    """

    token: WriteToken
    #: ascending, disjoint
    letters: tuple[DeadLetters, ...]


@dataclass(frozen=True, slots=True)
class WakeFetchers:
    """There may be something to acquire where there was nothing."""


Effect = Persist | WriteDeadLetters | WakeFetchers


@dataclass(slots=True)
class AcquiredRange:
    span: Span
    #: with this delivery counted
    delivery_count: int


@dataclass(slots=True)
class Acquired:
    #: ascending, disjoint; empty when there was nothing to have
    ranges: tuple[AcquiredRange, ...] = ()
    record_count: int = 0


@dataclass(slots=True)
class Acknowledged:
    """Answer the client when the write of this token ends; at once when there is nothing to write."""

    token: WriteToken | None


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """The command asks nothing: it was obeyed."""


Answer = Acquired | Acknowledged | NoAnswer | Refused


@dataclass(slots=True)
class Outcome:
    #: also a refused command may find leases that have ended: effects are to be obeyed whatever the answer
    answer: Answer
    effects: tuple[Effect, ...] = ()
