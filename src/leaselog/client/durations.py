"""Time-outs as applications give them: seconds, and None or -1 where a call may wait for ever."""

from __future__ import annotations

__all__ = ["FOR_EVER_S", "seconds", "seconds_or_for_ever"]

#: a year: longer than any clock of an event loop is asked to wait at once
FOR_EVER_S = 365 * 24 * 3600.0


def seconds(timeout: float) -> float:
    """Raises ``ValueError`` for what is no time from now on."""
    if not timeout >= 0:
        raise ValueError(f"timeout={timeout}: expected zero or more seconds")
    return min(timeout, FOR_EVER_S)


def seconds_or_for_ever(timeout: float | None) -> float:
    return FOR_EVER_S if timeout is None or timeout == -1 else seconds(timeout)
