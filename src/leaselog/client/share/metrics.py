"""What a share consumer counts, under Kafka's names. Pure; rates are over the last samples, as in Java's client.

Whoever watches a consumer asks from a thread of their own, while the consumer counts: each meter has a lock for that.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import NamedTuple

__all__ = ["MetricName", "ShareMetrics"]

#: Java's metrics.num.samples times metrics.sample.window.ms
WINDOW_MS = 60_000
SAMPLE_MS = 1_000

FETCH = "consumer-share-fetch-manager-metrics"
CONSUMER = "consumer-share-metrics"
COORDINATOR = "consumer-share-coordinator-metrics"


class MetricName(NamedTuple):
    group: str
    name: str


class _Meter:
    """A total, and sum, count and greatest of the last minute in samples of a second."""

    def __init__(self) -> None:
        self.total = 0.0
        self.count = 0
        self.latest: float | None = None
        self._lock = threading.Lock()
        #: start of the sample, sum, count, greatest
        self._samples = deque[list[float]]()

    def record(self, value: float, now_ms: int) -> None:
        with self._lock:
            self.total += value
            self.count += 1
            self.latest = value
            start = now_ms - now_ms % SAMPLE_MS
            if not self._samples or self._samples[-1][0] != start:
                self._samples.append([start, 0.0, 0.0, value])
                self._forget(now_ms)
            sample = self._samples[-1]
            sample[1] += value
            sample[2] += 1
            sample[3] = max(sample[3], value)

    def _forget(self, now_ms: int) -> None:
        while self._samples and self._samples[0][0] <= now_ms - WINDOW_MS:
            self._samples.popleft()

    def _recent(self, now_ms: int) -> tuple[float, float, float]:
        """Sum, count and greatest of the last minute."""
        with self._lock:
            self._forget(now_ms)
            samples = [tuple(sample) for sample in self._samples]
        greatest = max((sample[3] for sample in samples), default=float("nan"))
        return sum(sample[1] for sample in samples), sum(sample[2] for sample in samples), greatest

    def rate(self, now_ms: int, begun_ms: int) -> float:
        return self._recent(now_ms)[0] / _seconds_of_rate(now_ms, begun_ms)

    def count_rate(self, now_ms: int, begun_ms: int) -> float:
        return self._recent(now_ms)[1] / _seconds_of_rate(now_ms, begun_ms)

    def mean(self, now_ms: int) -> float:
        total, count, _ = self._recent(now_ms)
        return total / count if count else float("nan")

    def greatest(self, now_ms: int) -> float:
        return self._recent(now_ms)[2]


def _seconds_of_rate(now_ms: int, begun_ms: int) -> float:
    return min(WINDOW_MS, max(SAMPLE_MS, now_ms - begun_ms)) / 1000


class ShareMetrics:
    def __init__(self, now_ms: int) -> None:
        self._begun_ms = now_ms
        self.records = _Meter()
        self.bytes = _Meter()
        self.fetch_latency = _Meter()
        self.throttled = _Meter()
        self.acknowledgements = _Meter()
        self.acknowledgement_errors = _Meter()
        self.renewals = _Meter()
        self.heartbeats = _Meter()
        self.between_polls = _Meter()
        self.rebalances = 0
        self.last_poll_ms: int | None = None
        self.last_heartbeat_ms: int | None = None
        self.expired_in_buffer = 0

    def polled(self, now_ms: int) -> None:
        if self.last_poll_ms is not None:
            self.between_polls.record(now_ms - self.last_poll_ms, now_ms)
        self.last_poll_ms = now_ms

    def heartbeat(self, now_ms: int, took_ms: int) -> None:
        self.heartbeats.record(took_ms, now_ms)
        self.last_heartbeat_ms = now_ms

    def snapshot(self, now_ms: int) -> dict[MetricName, float]:
        begun = self._begun_ms
        fetch: dict[str, float] = {
            "records-consumed-total": self.records.total,
            "records-consumed-rate": self.records.rate(now_ms, begun),
            "records-per-request-avg": self.records.mean(now_ms),
            "records-per-request-max": self.records.greatest(now_ms),
            "bytes-consumed-total": self.bytes.total,
            "bytes-consumed-rate": self.bytes.rate(now_ms, begun),
            "fetch-size-avg": self.bytes.mean(now_ms),
            "fetch-size-max": self.bytes.greatest(now_ms),
            "fetch-latency-avg": self.fetch_latency.mean(now_ms),
            "fetch-latency-max": self.fetch_latency.greatest(now_ms),
            "fetch-rate": self.fetch_latency.count_rate(now_ms, begun),
            "fetch-total": self.fetch_latency.count,
            "fetch-throttle-time-avg": self.throttled.mean(now_ms),
            "fetch-throttle-time-max": self.throttled.greatest(now_ms),
            "acknowledgements-send-total": self.acknowledgements.total,
            "acknowledgements-send-rate": self.acknowledgements.rate(now_ms, begun),
            "acknowledgements-error-total": self.acknowledgement_errors.total,
            "acknowledgements-error-rate": self.acknowledgement_errors.rate(now_ms, begun),
            # ours: not in Java's client
            "renewals-send-total": self.renewals.total,
            "records-expired-in-buffer-total": self.expired_in_buffer,
        }
        consumer = {
            "last-poll-seconds-ago": _seconds_ago(self.last_poll_ms, now_ms),
            "time-between-poll-avg": self.between_polls.mean(now_ms),
            "time-between-poll-max": self.between_polls.greatest(now_ms),
        }
        coordinator: dict[str, float] = {
            "heartbeat-total": self.heartbeats.count,
            "heartbeat-rate": self.heartbeats.count_rate(now_ms, begun),
            "heartbeat-response-time-max": self.heartbeats.greatest(now_ms),
            "last-heartbeat-seconds-ago": _seconds_ago(self.last_heartbeat_ms, now_ms),
            "rebalance-total": self.rebalances,
        }
        return {
            MetricName(group, name): value
            for group, values in ((FETCH, fetch), (CONSUMER, consumer), (COORDINATOR, coordinator))
            for name, value in values.items()
        }


def _seconds_ago(then_ms: int | None, now_ms: int) -> float:
    return -1 if then_ms is None else (now_ms - then_ms) // 1000
