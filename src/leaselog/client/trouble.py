"""What a client has trouble with and waits for: when to say so, and when to say that it is over. Pure.

Said at once, or after some patience with what usually passes; then after a second, two, four … and once a minute for as
long as it lasts. What was never said is not said to be over either.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Trouble"]

FIRST_PAUSE_MS = 1_000
MAX_PAUSE_MS = 60_000
#: kinds of trouble at once; beyond that they are not new to anybody
MAX_KINDS = 100


@dataclass(slots=True)
class _Ailment:
    since_ms: int
    say_at_ms: int
    pause_ms: int = FIRST_PAUSE_MS
    is_said: bool = False


class Trouble:
    def __init__(self) -> None:
        self._ailments = dict[str, _Ailment]()

    def ails(self, what: str, now_ms: int, *, patience_ms: int = 0) -> int | None:
        """It is not as it should be. For how long, if it is to be said now; else None."""
        ailment = self._ailments.get(what)
        if ailment is None:
            if len(self._ailments) >= MAX_KINDS:
                return None
            ailment = self._ailments[what] = _Ailment(now_ms, now_ms + patience_ms)
        if now_ms < ailment.say_at_ms:
            return None
        ailment.is_said = True
        ailment.say_at_ms = now_ms + ailment.pause_ms
        ailment.pause_ms = min(ailment.pause_ms * 2, MAX_PAUSE_MS)
        return now_ms - ailment.since_ms

    def is_well(self, what: str, now_ms: int) -> int | None:
        """It is as it should be. For how long it was not, if that has been said; else None."""
        ailment = self._ailments.pop(what, None)
        return None if ailment is None or not ailment.is_said else now_ms - ailment.since_ms
