"""OpenTelemetry, imported by `tracing` only where it is installed: a span for each record, and what is current."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags, TraceState

from leaselog.client.share.record import ShareRecord
from leaselog.client.worker.trace_context import TraceContext

__all__ = ["current_span", "span_of"]


def current_span() -> tuple[str, str, int, str] | None:
    """Ids, flags and state of the current span, if there is one."""
    found = trace.get_current_span().get_span_context()
    if not found.is_valid:
        return None
    ids = trace.format_trace_id(found.trace_id), trace.format_span_id(found.span_id)
    return (*ids, int(found.trace_flags), found.trace_state.to_header())


@contextmanager
def span_of(record: ShareRecord[Any, Any], parent: TraceContext | None) -> Iterator[None]:
    """A consumer's span, named and described as OpenTelemetry's conventions have it. Exceptions are its status."""
    context = None
    if parent is not None:
        came_from = SpanContext(
            trace_id=int(parent.trace_id, 16),
            span_id=int(parent.span_id, 16),
            is_remote=True,
            trace_flags=TraceFlags(parent.flags),
            trace_state=TraceState.from_header([parent.state]) if parent.state else None,
        )
        context = trace.set_span_in_context(NonRecordingSpan(came_from))
    attributes: dict[str, str | int] = {
        "messaging.system": "kafka",
        "messaging.operation.type": "process",
        "messaging.operation.name": "process",
        "messaging.destination.name": record.topic,
        "messaging.destination.partition.id": str(record.partition),
        "messaging.kafka.offset": record.offset,
    }
    with trace.get_tracer("leaselog").start_as_current_span(
        f"process {record.topic}", context, kind=SpanKind.CONSUMER, attributes=attributes
    ):
        yield
