"""What the broker counts, in Prometheus' words, and the small HTTP server that tells it.

Counters are pushed where things happen; sizes and counts of what exists are read when somebody asks.
Every metric is made here, so that the docs can list them (a test compares).

What is counted with every request is counted in plain numbers or through children kept at hand: a label look-up
takes longer than the counting.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

from leaselog.broker.api import Api
from leaselog.broker.plain_histogram import PlainHistogram
from leaselog.model import ErrorCode
from leaselog.wire.schema import Message

if TYPE_CHECKING:
    from leaselog.broker.broker import Broker
    from leaselog.broker.dispatch import Call

__all__ = ["Metrics", "serve_metrics"]

SYNC_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5)
REQUEST_SECONDS = (
    0.0001,
    0.00025,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1,
    2.5,
    5,
    10,
)


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._errors = self._counter("request_errors", "Error codes in answers, by API", ["api", "error"])
        self.bytes_in = 0
        self.bytes_out = 0
        self._refused = self._counter("connections_refused", "Connections closed because they made no sense")
        self._accepted = self._counter("connections_accepted", "Connections accepted")
        self._produced_bytes = self._counter("produced_bytes", "Record bytes appended by clients", ["topic"])
        self._produced_records = self._counter("produced_records", "Records appended by clients", ["topic"])
        self._fetched_bytes = self._counter("fetched_bytes", "Record bytes read by clients", ["topic"])
        self.sync_seconds = Histogram(
            "leaselog_sync_seconds",
            "Time of one round of syncs",
            buckets=SYNC_SECONDS,
            registry=self.registry,
        )
        self.requests: defaultdict[str, int] = defaultdict(int)
        self.durations: dict[str, PlainHistogram] = {}
        self._produced_to: dict[str, tuple[Callable[[float], None], Callable[[float], None]]] = {}
        self._fetched_from: dict[str, Callable[[float], None]] = {}
        self.registry.register(_RequestCollector(self))

    def _counter(self, name: str, text: str, labels: Iterable[str] = ()) -> Counter:
        return Counter(f"leaselog_{name}", text, labels, registry=self.registry)

    def request_started(self, api: str) -> None:
        self.requests[api] += 1

    def request_answered(self, call: Call, response: Message | None, seconds: float) -> None:
        """Counts the error codes an answer holds, at every depth. Fetch and Produce count their own."""
        durations = self.durations.get(call.api.name)
        if durations is None:
            durations = self.durations[call.api.name] = PlainHistogram(REQUEST_SECONDS)
        durations.observe(seconds)
        if response is not None and not call.api.counts_errors:
            for code in _error_codes(response):
                self.error(call.api, code)

    def error(self, api: Api, code: int) -> None:
        if code:
            self._errors.labels(api.name, _error_name(code)).inc()

    def produced(self, topic: str, size_bytes: int, records: int) -> None:
        counts = self._produced_to.get(topic)
        if counts is None:
            counts = (self._produced_bytes.labels(topic).inc, self._produced_records.labels(topic).inc)
            self._produced_to[topic] = counts
        counts[0](size_bytes)
        counts[1](records)

    def fetched(self, topic: str, size_bytes: int) -> None:
        count = self._fetched_from.get(topic)
        if count is None:
            count = self._fetched_from[topic] = self._fetched_bytes.labels(topic).inc
        count(size_bytes)

    def bytes_received(self, count: int) -> None:
        self.bytes_in += count

    def bytes_sent(self, count: int) -> None:
        self.bytes_out += count

    def connection_accepted(self) -> None:
        self._accepted.inc()

    def connection_refused(self) -> None:
        self._refused.inc()

    def topic_gone(self, topic: str) -> None:
        """Lets go of a deleted topic's numbers, so that label values stay bounded by the topics there are."""
        self._produced_to.pop(topic, None)
        self._fetched_from.pop(topic, None)
        for counter in (self._produced_bytes, self._produced_records, self._fetched_bytes):
            try:
                counter.remove(topic)
            except KeyError:
                continue

    def watch(self, broker: Broker) -> None:
        """Adds what is read from the broker at the time of asking."""
        self.registry.register(_BrokerCollector(broker))


class _RequestCollector:
    """Tells what is counted in plain numbers."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        metrics = self._metrics
        requests = CounterMetricFamily("leaselog_requests", "Requests started, by API", labels=["api"])
        for api, count in sorted(metrics.requests.items()):
            requests.add_metric([api], count)
        yield requests
        yield CounterMetricFamily("leaselog_received_bytes", "Bytes received from clients", metrics.bytes_in)
        yield CounterMetricFamily(
            "leaselog_sent_bytes", "Bytes handed to clients' sockets", metrics.bytes_out
        )
        text = "Time from a request's start to its answer, waits included, by API"
        family = HistogramMetricFamily("leaselog_request_seconds", text, labels=["api"])
        for api, durations in sorted(metrics.durations.items()):
            family.add_metric([api], durations.buckets(), durations.total)
        yield family


class _BrokerCollector:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def collect(self) -> Iterable[Metric]:
        broker = self._broker
        yield GaugeMetricFamily("leaselog_connections", "Open connections", broker.connection_count())
        yield GaugeMetricFamily("leaselog_waiting_requests", "Parked long polls", len(broker.waiting_room))
        yield GaugeMetricFamily(
            "leaselog_unsent_bytes",
            "Bytes of answers that slow clients have yet to take",
            broker.unsent_bytes(),
        )
        yield GaugeMetricFamily("leaselog_fetch_sessions", "Fetch sessions kept", len(broker.fetch_sessions))
        failed = sum(1 for partition in broker.logs.partitions() if partition.log.failure is not None)
        yield GaugeMetricFamily("leaselog_failed_logs", "Logs that take no more writes", failed)
        size = GaugeMetricFamily("leaselog_log_size_bytes", "Bytes on disk", labels=["topic", "partition"])
        start = GaugeMetricFamily(
            "leaselog_log_start_offset", "First offset kept", labels=["topic", "partition"]
        )
        end = GaugeMetricFamily("leaselog_log_end_offset", "Next offset", labels=["topic", "partition"])
        for partition in broker.logs.partitions():
            labels = [partition.name.topic, str(partition.name.partition)]
            size.add_metric(labels, partition.log.size_bytes())
            start.add_metric(labels, partition.log.start_offset)
            end.add_metric(labels, partition.log.end_offset)
        yield from (size, start, end)


def _error_codes(message: Message) -> Iterable[int]:
    for field in message.FIELDS:
        value = getattr(message, field.name)
        if field.name == "error_code":
            yield value
        elif not isinstance(field.kind, str) and value:
            for inner in value if field.array else (value,):
                yield from _error_codes(inner)


def _error_name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)


async def serve_metrics(metrics: Metrics, host: str, port: int) -> asyncio.Server:
    """Answers ``GET /metrics``; anything else is 404. One request a connection, five seconds to send it."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(5):
                request = (await reader.readline()).split()
                while (await reader.readline()).strip():
                    pass
            found = len(request) > 1 and request[0] == b"GET" and request[1].split(b"?")[0] == b"/metrics"
            body = generate_latest(metrics.registry) if found else b"there is only /metrics here\n"
            kind = b"text/plain; version=0.0.4; charset=utf-8"
            head = b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
            writer.write(head % (b"200 OK" if found else b"404 Not Found", kind, len(body)) + body)
            await writer.drain()
        except (TimeoutError, ValueError, ConnectionError):
            pass  # whoever asked went away or never asked
        finally:
            writer.close()

    return await asyncio.start_server(answer, host, port, limit=16 * 1024)
