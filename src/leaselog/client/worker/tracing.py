"""W3C trace context, from whoever produces a record to whoever works on it: the headers traceparent and tracestate.

Where OpenTelemetry is installed it says what is current, and a handler runs within a span of its own. Without it the
context is passed on as it came: a span that nobody reports would be a hole in the trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from leaselog.client.share.record import ShareRecord
from leaselog.client.worker.trace_context import PARENT, TraceContext

if TYPE_CHECKING:
    from leaselog.client.outgoing import Headers

__all__ = ["current_trace", "in_trace", "trace_headers", "working_on"]

_current = ContextVar["TraceContext | None"]("leaselog_trace", default=None)


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
