"""What a share partition counts, in records unless it says otherwise. Plain numbers; metrics read them."""

from __future__ import annotations

from dataclasses import dataclass, field

from leaselog.share.commands import AcknowledgeType

__all__ = ["Counters"]


@dataclass(slots=True)
class Counters:
    acquired: int = 0
    #: of those, not for the first time
    redelivered: int = 0
    #: by type, when asked for; a write that fails does not take it back
    acknowledged: list[int] = field(default_factory=lambda: [0] * len(AcknowledgeType))
    #: releases that cost no delivery, not among those by type
    given_back: int = 0
    #: released, or out of time, and held back until a time
    delayed: int = 0
    #: commands
    refused_acknowledgements: int = 0
    lock_timeouts: int = 0
    released_by_session: int = 0
    #: writes
    failed_writes: int = 0
