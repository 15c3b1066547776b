"""What share fetches have read ahead, of all share partitions together: so many bytes, the oldest go first.

A partition at which nothing happens any more keeps nothing for long where others are read; where none are, nothing is
needed either.
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["MAX_KEPT_BYTES", "KeptReads"]

MAX_KEPT_BYTES = 8 * 1024 * 1024


class Keeper(Protocol):
    def forget_kept(self) -> None:
        """Keeps nothing any more."""


class KeptReads:
    def __init__(self) -> None:
        self.size_bytes = 0
        #: how much each keeps, the oldest first
        self._sizes: dict[Keeper, int] = {}

    def keeps(self, keeper: Keeper, size_bytes: int) -> None:
        """It keeps so much now, instead of what it has kept. Others let go of theirs for it if need be."""
        self.keeps_nothing(keeper)
        self._sizes[keeper] = size_bytes
        self.size_bytes += size_bytes
        while self.size_bytes > MAX_KEPT_BYTES and len(self._sizes) > 1:
            oldest = next(iter(self._sizes))
            self.keeps_nothing(oldest)
            oldest.forget_kept()

    def keeps_nothing(self, keeper: Keeper) -> None:
        self.size_bytes -= self._sizes.pop(keeper, 0)
