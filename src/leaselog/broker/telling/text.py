"""What a broker tells of itself, in Prometheus' words. Nothing is counted here: a scrape reads the broker's numbers.

This room alone knows `prometheus_client`. It
brings a web server of its own and takes some 15 ms to import, so a broker with a `metrics.listener` imports them and
no other does (a test starts one and looks).

Every metric is made below `registry_of`, so that the docs can list them (a test compares).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from leaselog.broker.records.partition import Partition
from leaselog.broker.records.revival import Revival
from leaselog.broker.runtime.metrics import Metrics
from leaselog.broker.runtime.turns import Turns
from leaselog.broker.telling.coordinator_text import CoordinatorCollector
from leaselog.broker.telling.share_text import ShareCollector, ShareLoadCollector
from leaselog.broker.telling.steps import LongFamily
from leaselog.broker.telling.told import Told
from leaselog.model import ErrorCode

__all__ = ["CountCollector", "collectors_of", "registry_of"]


def registry_of(broker: Told) -> CollectorRegistry:
    """All there is to tell of a broker; whoever collects from it reads the broker as it is then."""
    registry = CollectorRegistry()
    for collector in collectors_of(broker):
        registry.register(collector)
    return registry


def collectors_of(broker: Told) -> Sequence[Collector]:
    return (
        CountCollector(broker.metrics),
        TurnCollector(broker.turns),
        ShareLoadCollector(broker.share_metrics),
        _BrokerCollector(broker),
        ShareCollector(broker),
        CoordinatorCollector(broker),
    )


class CountCollector(Collector):
    """Tells what `Metrics` has counted."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        yield self._errors()
        yield from self._connections()
        yield from self._logins()
        yield from self._records()
        yield self._syncs()
        yield from self._requests()

    def _errors(self) -> Metric:
        errors = CounterMetricFamily(
            "leaselog_request_errors",
            "Answers that have an error code, by API and error",
            labels=["api", "error"],
        )
        for (api, code), count in self._metrics.errors.items():
            errors.add_metric([api, _error_name(code)], count)
        return errors

    def _connections(self) -> Iterable[Metric]:
        metrics = self._metrics
        yield CounterMetricFamily(
            "leaselog_connections_refused",
            "Connections closed because what came over them was no Kafka request",
            metrics.connections_refused,
        )
        yield CounterMetricFamily(
            "leaselog_connections_accepted", "Connections accepted", metrics.connections_accepted
        )

    def _logins(self) -> Iterable[Metric]:
        labels = ["listener", "mechanism", "result"]
        first = CounterMetricFamily(
            "leaselog_authentications", "Logins of new connections, by SASL", labels=labels
        )
        again = CounterMetricFamily(
            "leaselog_reauthentications", "Logins of connections that were logged in", labels=labels
        )
        for (listener, mechanism, succeeded, is_again), count in sorted(self._metrics.logins.items()):
            family = again if is_again else first
            family.add_metric([listener, mechanism, "succeeded" if succeeded else "failed"], count)
        yield first
        yield again
        expired = CounterMetricFamily(
            "leaselog_expired_sessions",
            "Connections closed because their clients did not log in again in time",
            labels=["listener"],
        )
        for listener, count in sorted(self._metrics.expired_sessions.items()):
            expired.add_metric([listener], count)
        yield expired

    def _records(self) -> Iterable[Metric]:
        metrics = self._metrics
        for name, text, by_topic in (
            ("produced_bytes", "Record bytes appended by clients", metrics.produced_bytes),
            ("produced_records", "Records appended by clients", metrics.produced_records),
            ("fetched_bytes", "Record bytes read by clients", metrics.fetched_bytes),
        ):
            family = CounterMetricFamily(f"leaselog_{name}", text, labels=["topic"])
            for topic, count in by_topic.items():
                family.add_metric([topic], count)
            yield family

    def _syncs(self) -> Metric:
        seconds = self._metrics.sync_seconds
        return HistogramMetricFamily(
            "leaselog_sync_seconds", "Time of one round of syncs", seconds.buckets(), seconds.total
        )

    def _requests(self) -> Iterable[Metric]:
        metrics = self._metrics
        requests = CounterMetricFamily("leaselog_requests", "Requests started, by API", labels=["api"])
        for api, count in sorted(metrics.requests.items()):
            requests.add_metric([api], count)
        yield requests
        yield CounterMetricFamily("leaselog_received_bytes", "Bytes received from clients", metrics.bytes_in)
        yield CounterMetricFamily(
            "leaselog_sent_bytes", "Bytes written to clients' sockets", metrics.bytes_out
        )
        text = "Time from a request's start to its answer, waits included, by API"
        family = HistogramMetricFamily("leaselog_request_seconds", text, labels=["api"])
        for api, durations in sorted(metrics.durations.items()):
            family.add_metric([api], durations.buckets(), durations.total)
        yield family


class TurnCollector(Collector):
    """Tells what kept the loop for longer than a turn may."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns

    def collect(self) -> Iterable[Metric]:
        text = "How long one piece of work kept all else waiting, if more than a millisecond, by API or work"
        long = HistogramMetricFamily("leaselog_long_turn_seconds", text, labels=["work"])
        for work, seconds in sorted(self._turns.long.items()):
            long.add_metric([work], seconds.buckets(), seconds.total)
        yield long
        longest = GaugeMetricFamily(
            "leaselog_longest_turn_seconds", "The longest of these times since the start", labels=["work"]
        )
        for work, longest_s in sorted(self._turns.longest.items()):
            longest.add_metric([work], longest_s)
        yield longest


class _BrokerCollector(Collector):
    """Tells what there is, rather than what has happened."""

    def __init__(self, broker: Told) -> None:
        self._broker = broker

    def collect(self) -> Iterable[Metric]:
        broker = self._broker
        yield GaugeMetricFamily("leaselog_connections", "Open connections", broker.connection_count())
        yield GaugeMetricFamily(
            "leaselog_waiting_requests",
            "Requests that wait for records or for time to pass",
            len(broker.waiting_room),
        )
        yield GaugeMetricFamily(
            "leaselog_unsent_bytes",
            "Bytes of answers that clients have not read yet",
            broker.unsent_bytes(),
        )
        yield GaugeMetricFamily("leaselog_fetch_sessions", "Fetch sessions kept", len(broker.fetch_sessions))
        yield from _revival(broker.logs.revival)
        for name, text, value in (
            ("leaselog_log_size_bytes", "Bytes on disk", _size_bytes),
            ("leaselog_log_start_offset", "Offset of the first record that is kept", _start_offset),
            ("leaselog_log_end_offset", "Offset that the next record will get", _end_offset),
        ):
            yield LongFamily(name, text, "gauge", partial(self._of_logs, name, value))

    def _of_logs(self, name: str, value: Callable[[Partition], int]) -> Iterator[Sample]:
        for partition in list(self._broker.logs.partitions()):
            topic, index = partition.name
            yield Sample(name, {"topic": topic, "partition": str(index)}, value(partition))


def _size_bytes(partition: Partition) -> int:
    return partition.log.size_bytes()


def _start_offset(partition: Partition) -> int:
    return partition.log.start_offset


def _end_offset(partition: Partition) -> int:
    return partition.log.end_offset


def _revival(revival: Revival) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "leaselog_failed_logs",
        "Logs that failed and are not back yet: they take no writes, or cannot be opened",
        len(revival),
    )
    yield CounterMetricFamily("leaselog_log_failures", "How often a log has failed", revival.failures)
    yield CounterMetricFamily(
        "leaselog_log_returns", "How often a failed log was opened anew", revival.revived
    )


def _error_name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)
