"""What is added to an acknowledgement for brokers that are leaselog's: a delay, a reason, that nobody has begun. Pure.

Other brokers do not know of it and get the acknowledgement alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from leaselog.client.share.acknowledge_type import AcknowledgeType
from leaselog.wire.share_extensions import NO_DELAY

__all__ = ["GIVEN_BACK", "MAX_REASON_CHARS", "Extra", "delay_ms_of", "reason_of", "extra_of"]

#: A reason becomes a header of the dead letter: enough to see the cause, and no dump.
MAX_REASON_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class Extra:
    delay_ms: int = NO_DELAY
    reason: str | None = None
    given_back: bool = False
    #: the application said it in so many words, and should hear if the broker does not understand
    is_asked: bool = field(default=False, compare=False)


#: of records that were fetched and that the application never saw
GIVEN_BACK = Extra(given_back=True)


def extra_of(kind: AcknowledgeType, delay: float | None, reason: str | BaseException | None) -> Extra | None:
    """What an application said with an acknowledgement. Raises ``ValueError`` for what does not go with its type."""
    if delay is None and reason is None:
        return None
    if delay is not None and kind is not AcknowledgeType.RELEASE:
        raise ValueError(f"delay={delay}: of {kind.name}, expected with RELEASE only")
    if reason is not None and kind is not AcknowledgeType.REJECT:
        raise ValueError(f"reason={reason!r}: of {kind.name}, expected with REJECT only")
    return Extra(
        NO_DELAY if delay is None else delay_ms_of(delay),
        reason_of(reason) if reason is not None else None,
        is_asked=True,
    )


def delay_ms_of(delay: float) -> int:
    """Seconds as milliseconds, rounded up. Raises ``ValueError`` unless it is a finite time from now on."""
    if not 0 <= delay < math.inf:
        raise ValueError(f"delay={delay}: expected zero or more seconds")
    return math.ceil(delay * 1000)


def reason_of(cause: str | BaseException) -> str:
    """What an exception, or a text, says as a reason: as long as a header may be, and nothing that is not text."""
    text = cause if isinstance(cause, str) else _described(cause)
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= MAX_REASON_CHARS else text[: MAX_REASON_CHARS - 1] + "…"


def _described(error: BaseException) -> str:
    name = type(error).__name__
    try:
        words = str(error)
    except Exception:  # noqa: BLE001 - an exception that cannot be told is still a reason
        words = ""
    return f"{name}: {words}" if words else name
