"""What is told of share groups, under KIP-932's names in Prometheus' words; the lag is KIP-1226's.

Machines count for themselves; the collector reads them when somebody asks. What is told per share partition is told of
those that have an owner here.

Which of Kafka's names is which of these is said in docs/reference/metrics.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from leaselog.broker.share_metrics import ShareMetrics
from leaselog.model import GroupId
from leaselog.share import AcknowledgeType, RecordState

if TYPE_CHECKING:
    from leaselog.broker.broker import Broker

__all__ = ["ShareCollector", "ShareLoadCollector"]

LABELS = ("group", "topic", "partition")


class ShareLoadCollector(Collector):
    """Apart from the others, as it is told before what is read from the broker."""

    def __init__(self, metrics: ShareMetrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        seconds = self._metrics.load_seconds
        yield HistogramMetricFamily(
            "leaselog_share_partition_load_seconds",
            "Time to read the state of a share partition",
            seconds.buckets(),
            seconds.total,
        )


class ShareCollector(Collector):
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def collect(self) -> Iterable[Metric]:
        yield from self._totals()
        yield from self._sessions()
        yield from self._per_partition()
        yield from self._per_group()
        yield from self._dead_letters()
        yield from self._pauses()

    def _totals(self) -> Iterable[Metric]:
        metrics = self._broker.share_metrics
        sums = metrics.totals(self._broker.shares.owners())
        acknowledged = CounterMetricFamily(
            "leaselog_share_acknowledged_records", "Records acknowledged, by type", labels=["type"]
        )
        for kind in AcknowledgeType:
            acknowledged.add_metric([kind.name.lower()], sums.acknowledged[kind])
        yield acknowledged
        for name, text, value in (
            ("acquired_records", "Deliveries to members", sums.acquired),
            ("redelivered_records", "Deliveries that were not the record's first", sums.redelivered),
            ("released_records", "Records given back because a session ended", sums.released_by_session),
            ("lock_timeouts", "Records whose lease ran out", sums.lock_timeouts),
            ("delayed_records", "Of those and the released ones, such as had to wait", sums.delayed),
            ("given_back_records", "Releases that cost no delivery", sums.given_back),
            ("refused_acknowledgements", "Acknowledgements refused", sums.refused_acknowledgements),
            ("failed_writes", "Writes of share state that failed", sums.failed_writes),
            ("fetch_expired", "Share fetches that waited in vain", metrics.expired_fetches),
            ("fetch_partitions", "Partitions that share fetches looked at", metrics.partitions_asked),
            ("fetch_partitions_given", "Of those, the ones that gave records", metrics.partitions_given),
            ("session_evictions", "Share sessions ended with their connection", metrics.evicted_sessions),
        ):
            yield CounterMetricFamily(f"leaselog_share_{name}", text, value)

    def _sessions(self) -> Iterable[Metric]:
        sessions = self._broker.shares.sessions
        yield GaugeMetricFamily("leaselog_share_sessions", "Share sessions open", len(sessions))
        yield GaugeMetricFamily(
            "leaselog_share_session_partitions", "Partitions in all share sessions", sessions.partition_count
        )

    def _per_group(self) -> Iterable[Metric]:
        ratio = HistogramMetricFamily(
            "leaselog_share_fetch_ratio",
            "Of the partitions a share fetch names, the part that gave records",
            labels=["group"],
        )
        acquire = HistogramMetricFamily(
            "leaselog_share_acquire_seconds",
            "Time from a share fetch's first look to the one that got records",
            labels=["group"],
        )
        for group_id, fetches in sorted(self._broker.share_metrics.groups.items()):
            ratio.add_metric([group_id], fetches.ratio.buckets(), fetches.ratio.total)
            acquire.add_metric([group_id], fetches.acquire_seconds.buckets(), fetches.acquire_seconds.total)
        yield from (ratio, acquire)

    def _dead_letters(self) -> Iterable[Metric]:
        counts = self._broker.dead_letters.counts
        for name, text, by_group in (
            ("written", "Dead letters written", counts.written),
            ("failed", "Records archived without the dead letter they should have had", counts.failed),
        ):
            family = CounterMetricFamily(f"leaselog_share_dead_letters_{name}", text, labels=["group"])
            for group_id, count in sorted(by_group.items()):
                family.add_metric([group_id], count)
            yield family
        pending = GaugeMetricFamily(
            "leaselog_share_dead_letters_pending",
            "Records whose dead letters are on their way",
            labels=["group"],
        )
        on_their_way = Counter[GroupId]()
        for owner in self._broker.shares.owners():
            if owner.machine is not None:
                on_their_way[owner.key.group_id] += owner.machine.count(RecordState.ARCHIVING)
        for group_id, count in sorted(on_their_way.items()):
            pending.add_metric([group_id], count)
        yield pending

    def _pauses(self) -> Iterable[Metric]:
        delivery = self._broker.share_delivery
        paused = GaugeMetricFamily(
            "leaselog_share_group_paused",
            "1 for a group that is given no records until somebody resumes it; by: operator or breaker",
            labels=["group", "by"],
        )
        for group_id, config in sorted(delivery.paused(), key=lambda found: found[0]):
            paused.add_metric([group_id, config.share_delivery_paused_by], 1)
        trips = CounterMetricFamily(
            "leaselog_share_breaker_trips", "How often the breaker paused a group", labels=["group"]
        )
        for group_id, count in sorted(delivery.trips.items()):
            trips.add_metric([group_id], count)
        yield from (paused, trips)

    def _per_partition(self) -> Iterable[Metric]:
        timeouts = CounterMetricFamily(
            "leaselog_share_partition_lock_timeouts", "Records whose lease ran out", labels=LABELS
        )
        families = {
            "in_flight_records": "Records of the window",
            "in_flight_runs": "Runs of records alike in the window",
            "acquired_records_held": "Records leased to a member now",
            "waiting_records": "Records held back until a time",
            "lag": "Records nobody has finished yet (KIP-1226)",
        }
        gauges = {
            name: GaugeMetricFamily(f"leaselog_share_partition_{name}", text, labels=LABELS)
            for name, text in families.items()
        }
        for owner in self._broker.shares.owners():
            machine = owner.machine
            if machine is None:
                continue
            labels = [owner.key.group_id, owner.partition.name.topic, str(owner.key.partition)]
            timeouts.add_metric(labels, machine.counters.lock_timeouts)
            gauges["in_flight_records"].add_metric(labels, machine.end - machine.start)
            gauges["in_flight_runs"].add_metric(labels, machine.run_count)
            gauges["acquired_records_held"].add_metric(labels, machine.count(RecordState.ACQUIRED))
            gauges["waiting_records"].add_metric(labels, machine.waiting_count)
            gauges["lag"].add_metric(labels, owner.lag() or 0)
        yield timeouts
        yield from gauges.values()
