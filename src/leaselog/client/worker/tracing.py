"""W3C trace context, from whoever produces a record to whoever works on it: the headers traceparent and tracestate.

Where OpenTelemetry is installed it says what is current, and a handler runs within a span of its own. Without it the
context is passed on as it came: a span that nobody reports would be a hole in the trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self

from leaselog.client.share.record import ShareRecord

if TYPE_CHECKING:
    from leaselog.client.outgoing import Headers

__all__ = ["TraceContext", "current_trace", "in_trace", "trace_headers", "working_on"]

PARENT, STATE = "traceparent", "tracestate"
#: what a vendor may be relied on to pass on
MAX_STATE_CHARS = 512
_SHAPE = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")

_current = ContextVar["TraceContext | None"]("leaselog_trace", default=None)


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


def current_trace() -> TraceContext | None:
    """That of OpenTelemetry's current span, else of the record that is being worked on, else None."""
    return _of_opentelemetry() or _current.get()


def trace_headers(headers: Headers = ()) -> list[tuple[str, bytes | None]]:
    """For ``send(..., headers=trace_headers())``: these headers, and those of the current trace, if there is one."""
    given = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
    trace = current_trace()
    if trace is None or any(name.lower() == PARENT for name, _ in given):
        return given
    return [*given, *trace.headers]


@contextmanager
def in_trace(trace: TraceContext | None) -> Iterator[None]:
    """The current trace within the block."""
    token = _current.set(trace)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def working_on(record: ShareRecord[Any, Any]) -> Iterator[None]:
    """A record's trace is current within the block; with OpenTelemetry it is a span of the worker's, too."""
    with in_trace(TraceContext.of_headers(record.headers)):
        if not _HAS_OPENTELEMETRY:
            yield
            return
        from leaselog.client.worker.spans import span_of

        with span_of(record, _current.get()):
            yield


#: asked once: looking for a package that is not there takes longer than a handler
_HAS_OPENTELEMETRY = find_spec("opentelemetry") is not None and find_spec("opentelemetry.trace") is not None


def _of_opentelemetry() -> TraceContext | None:
    if not _HAS_OPENTELEMETRY:
        return None
    from leaselog.client.worker.spans import current_span

    found = current_span()
    return None if found is None else TraceContext(*found)
