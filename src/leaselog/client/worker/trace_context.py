"""One W3C trace context: what the headers traceparent and tracestate say, and how they are written. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

__all__ = ["PARENT", "TraceContext"]

PARENT, STATE = "traceparent", "tracestate"
#: what a vendor may be relied on to pass on
MAX_STATE_CHARS = 512
_SHAPE = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


@dataclass(frozen=True, slots=True)
class TraceContext:
    """Which trace this belongs to, and which span it comes from: both in hexadecimal, as in the header."""

    trace_id: str
    span_id: str
    flags: int = 1
    #: of vendors, as it came
    state: str = ""

    @classmethod
    def of(cls, parent: str, state: str = "") -> Self | None:
        """None for what is no traceparent; of a version to come, what this one knows of it."""
        found = _SHAPE.fullmatch(parent.strip())
        if found is None:
            return None
        version, trace_id, span_id, flags, more = found.groups()
        if version == "ff" or (version == "00" and more) or not int(trace_id, 16) or not int(span_id, 16):
            return None
        return cls(trace_id, span_id, int(flags, 16), state.strip() if len(state) <= MAX_STATE_CHARS else "")

    @classmethod
    def of_headers(cls, headers: Iterable[tuple[str, bytes | None]]) -> Self | None:
        """Names in any case; of several traceparents the last, and all tracestates."""
        parent, states = "", list[str]()
        for name, value in headers:
            match name.lower():
                case "traceparent":
                    parent = (value or b"").decode("ascii", "replace")
                case "tracestate":
                    states.append((value or b"").decode("ascii", "replace"))
        return cls.of(parent, ",".join(states))

    @property
    def parent(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{self.flags & 0xFF:02x}"

    @property
    def headers(self) -> list[tuple[str, bytes | None]]:
        found: list[tuple[str, bytes | None]] = [(PARENT, self.parent.encode())]
        return [*found, (STATE, self.state.encode())] if self.state else found
