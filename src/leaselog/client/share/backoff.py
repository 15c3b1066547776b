"""How long to wait before something that failed is tried again: longer each time, as `retry.backoff.ms` says."""

from __future__ import annotations

__all__ = ["backoff_ms"]

#: doubling has come to `retry.backoff.max.ms` long before
_DOUBLINGS = 20


def backoff_ms(failures: int, first_ms: int, most_ms: int) -> int:
    """After so many failures in a row. Never more than ``most_ms``, as in Java, even if the first is to be longer."""
    return min(first_ms << min(max(failures - 1, 0), _DOUBLINGS), most_ms)
