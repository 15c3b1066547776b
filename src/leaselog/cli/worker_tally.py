"""What a worker process has done, how it is, and both as Prometheus text."""

from __future__ import annotations

import math
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from leaselog.client import AcknowledgeType
from leaselog.client.share.calling import is_async
from leaselog.client.share.metrics import MetricName

if TYPE_CHECKING:
    from prometheus_client import Metric

__all__ = ["OUTCOMES", "Tally", "counted", "metrics_text", "why_unwell"]

PROCESSED = "processed"
#: what became of a record that failed; kept is tried again within the same delivery
OUTCOMES: Mapping[AcknowledgeType, str] = {
    AcknowledgeType.ACCEPT: PROCESSED,
    AcknowledgeType.RELEASE: "released",
    AcknowledgeType.REJECT: "rejected",
    AcknowledgeType.RENEW: "kept",
}
BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, math.inf)
#: Kafka's members beat every five seconds
SILENT_AFTER_S = 20

_LAST_POLL = MetricName("consumer-share-metrics", "last-poll-seconds-ago")
_LAST_HEARTBEAT = MetricName("consumer-share-coordinator-metrics", "last-heartbeat-seconds-ago")


class Tally:
    """Counts. Handlers do it from their threads, and whoever scrapes reads from another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._outcomes = dict.fromkeys(OUTCOMES.values(), 0)
        self._buckets = [0] * len(BOUNDS_S)
        self._seconds = 0.0
        self._running = 0

    def count(self, outcome: str) -> None:
        with self._lock:
            self._outcomes[outcome] += 1

    @contextmanager
    def handling(self) -> Iterator[None]:
        """Around a handler's call: processed is what ends without an exception."""
        with self._lock:
            self._running += 1
        begun = time.monotonic()
        is_done = False
        try:
            yield
            is_done = True
        finally:
            seconds = time.monotonic() - begun
            with self._lock:
                self._running -= 1
                self._seconds += seconds
                self._buckets[bisect_left(BOUNDS_S, seconds)] += 1
                self._outcomes[PROCESSED] += is_done

    @property
    def outcomes(self) -> dict[str, int]:
        with self._lock:
            return dict(self._outcomes)

    def collect(self) -> Iterator[Metric]:
        """As prometheus_client asks for it."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        with self._lock:
            outcomes, running, seconds = dict(self._outcomes), self._running, self._seconds
            buckets = list(self._buckets)
        records = CounterMetricFamily(
            "leaselog_worker_records", "Records by what became of them.", labels=["outcome"]
        )
        for outcome, count in outcomes.items():
            records.add_metric([outcome], count)
        yield records
        yield GaugeMetricFamily("leaselog_worker_running", "Handlers at work.", value=running)
        below = [(_bound(bound), float(sum(buckets[: i + 1]))) for i, bound in enumerate(BOUNDS_S)]
        yield HistogramMetricFamily(
            "leaselog_worker_handler_seconds", "How long handlers took.", buckets=below, sum_value=seconds
        )


def _bound(bound: float) -> str:
    return "+Inf" if bound == math.inf else str(float(bound))


def counted(handler: Callable[[Any], object], tally: Tally) -> Callable[[Any], object]:
    """The same handler, of the same kind."""
    if is_async(handler):

        async def work_async(record: Any) -> object:
            with tally.handling():
                made: Any = handler(record)
                return await made

        wrapped: Callable[[Any], object] = work_async
    else:

        def work(record: Any) -> object:
            with tally.handling():
                return handler(record)

        wrapped = work
    name = getattr(handler, "__qualname__", None) or repr(handler)
    wrapped.__qualname__ = name
    return wrapped


def why_unwell(numbers: Mapping[MetricName, float] | None) -> str | None:
    """None if it polls and its group's coordinator answers; ``numbers`` are the consumer's, None before it begins."""
    if numbers is None:
        return "no broker has answered yet"
    polled, beaten = numbers[_LAST_POLL], numbers[_LAST_HEARTBEAT]
    if polled < 0 or beaten < 0:
        return "it has not joined its group yet"
    if beaten >= SILENT_AFTER_S:
        return f"the group's coordinator has not answered for {beaten:.0f} s"
    if polled >= SILENT_AFTER_S:
        return f"it has not asked for records for {polled:.0f} s"
    return None


class _Numbers:
    """The consumer's own, as Kafka names them, and whether all is well."""

    def __init__(self, numbers: Mapping[MetricName, float] | None, is_well: bool) -> None:
        self._numbers = numbers or {}
        self._is_well = is_well

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        yield GaugeMetricFamily(
            "leaselog_worker_healthy", "1 while /healthz answers 200.", value=float(self._is_well)
        )
        for (group, name), value in self._numbers.items():
            if math.isnan(value):
                continue  # nothing has been measured
            kind = CounterMetricFamily if name.endswith("-total") else GaugeMetricFamily
            text = f"kafka_{group.removesuffix('-metrics')}_{name}".replace("-", "_")
            yield kind(text, f"{name} of {group}, as Kafka's consumers have it.", value=value)


def metrics_text(tally: Tally, numbers: Mapping[MetricName, float] | None, *, is_well: bool) -> bytes:
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(tally)
    registry.register(_Numbers(numbers, is_well))
    return generate_latest(registry)
