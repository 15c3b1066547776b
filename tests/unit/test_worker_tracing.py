"""W3C trace context: read as the standard says, and what is current goes on with what is produced."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from leaselog.client import trace_headers
from leaselog.client.worker.trace_context import TraceContext
from leaselog.client.worker.tracing import current_trace, in_trace, working_on

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"


def test_a_traceparent_is_read_and_written_again() -> None:
    read = TraceContext.of(PARENT, "shop=1")
    assert read == TraceContext(TRACE, SPAN, 1, "shop=1")
    assert read.headers == [("traceparent", PARENT.encode()), ("tracestate", b"shop=1")]


@pytest.mark.parametrize(
    "parent",
    [
        "",
        "00",
        PARENT.upper(),
        f"{PARENT}-more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}x-{SPAN}-01",
    ],
)
def test_what_is_no_traceparent_is_none(parent: str) -> None:
    assert TraceContext.of(parent) is None


def test_a_version_to_come_is_read_as_far_as_it_is_known() -> None:
    assert TraceContext.of(f"01-{TRACE}-{SPAN}-03-more") == TraceContext(TRACE, SPAN, 3)


def test_headers_are_found_in_any_case_and_states_are_joined() -> None:
    headers = [("TraceParent", PARENT.encode()), ("tracestate", b"a=1"), ("Tracestate", b"b=2"), ("x", None)]
    assert TraceContext.of_headers(headers) == TraceContext(TRACE, SPAN, 1, "a=1,b=2")


def test_a_state_that_is_too_long_is_left_out() -> None:
    assert TraceContext.of(PARENT, "a" * 513) == TraceContext(TRACE, SPAN, 1)


def test_headers_are_added_only_where_a_trace_is_current_and_none_was_given() -> None:
    assert trace_headers({"a": b"1"}) == [("a", b"1")]
    with in_trace(TraceContext(TRACE, SPAN)):
        assert trace_headers() == [("traceparent", PARENT.encode())]
        assert trace_headers([("Traceparent", b"mine")]) == [("Traceparent", b"mine")]
    assert trace_headers() == []


class Carried:
    topic, partition, offset = "orders", 0, 7

    def __init__(self, *headers: tuple[str, bytes | None]) -> None:
        self.headers = headers


@pytest.fixture(scope="module")
def exporter() -> Iterator[InMemorySpanExporter]:
    """OpenTelemetry lets nobody set its provider twice, so it is given to ours alone."""
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    before = trace.get_tracer
    trace.get_tracer = lambda *args, **more: provider.get_tracer(*args, **more)  # type: ignore[assignment]
    try:
        yield spans
    finally:
        trace.get_tracer = before


def test_with_opentelemetry_a_record_is_a_span_of_the_producers_trace(exporter: Any) -> None:
    exporter.clear()
    inside: TraceContext | None = None

    def work() -> None:
        nonlocal inside
        with working_on(Carried(("traceparent", PARENT.encode()))):  # type: ignore[arg-type]
            inside = current_trace()
            raise KeyError("no such item")

    with pytest.raises(KeyError):
        work()
    (span,) = exporter.get_finished_spans()
    assert inside is not None
    assert (inside.trace_id, inside.span_id) == (TRACE, f"{span.context.span_id:016x}")
    assert (span.name, span.kind.name, f"{span.parent.span_id:016x}") == ("process orders", "CONSUMER", SPAN)
    assert span.status.status_code.name == "ERROR"
    assert span.attributes["messaging.kafka.offset"] == 7
    assert current_trace() is None


WITHOUT = f"""
import sys
sys.modules["opentelemetry"] = None
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name.startswith("opentelemetry") else real(name, *more)
from leaselog.client.worker.tracing import current_trace, working_on
class Record:
    headers = [("traceparent", b"{PARENT}")]
with working_on(Record()):
    print(current_trace().parent)
print(current_trace())
"""


def test_without_opentelemetry_the_context_is_passed_on_as_it_came() -> None:
    ended = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == (f"{PARENT}\nNone\n", "")
