"""Half-open ranges of offsets: the only way the pure rooms speak of a stretch of a log."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Span"]


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Offsets in ``[start, end)``. Kafka's messages are inclusive; handlers convert once, here nobody does."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if self.start > self.end:
            raise ValueError(f"span starts at {self.start}, after its end {self.end}")

    @classmethod
    def inclusive(cls, first: int, last: int) -> Span:
        """The span of a wire range whose last offset belongs to it."""
        return cls(first, last + 1)

    @property
    def last(self) -> int:
        return self.end - 1

    def __len__(self) -> int:
        return self.end - self.start

    def __contains__(self, offset: object) -> bool:
        return isinstance(offset, int) and self.start <= offset < self.end

    def intersect(self, other: Span) -> Span | None:
        start, end = max(self.start, other.start), min(self.end, other.end)
        return Span(start, end) if start < end else None
