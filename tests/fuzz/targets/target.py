"""What a target is, and what several of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from fuzz.cost import Budget
from leaselog.model import TopicId

__all__ = ["NOW_MS", "TOPIC_ID", "UNPACKED_BYTES", "Target", "Unwanted"]

NOW_MS = 1_700_000_000_000
TOPIC_ID = TopicId(UUID(int=7))
#: of what is unpacked here, so that a bomb costs no more than it has to
UNPACKED_BYTES = 1 << 20


class Unwanted(Exception):
    """Not worth keeping: the bytes choose nothing that there is."""


@dataclass(frozen=True, slots=True)
class Target:
    run: Callable[[bytes], None]
    #: what one input may be at most
    max_bytes: int = 4096
    #: None: it is not measured, as following its allocations would take too long
    budget: Budget | None = field(default_factory=Budget)
