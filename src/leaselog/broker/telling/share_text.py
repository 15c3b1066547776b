"""What is told of share groups, under KIP-932's names in Prometheus' words; the lag is KIP-1226's.

Machines count for themselves; the collector reads them when somebody asks. What is told per share partition is told of
those that have an owner here; how far a group is behind, of all whose state is kept.

Bounds: `MOST_PARTITIONS` are told of by partition, those with an owner before the others, and `MOST_GROUPS` by group
where that takes many lines; of how many share partitions nothing is told is told. Totals are of all.

Which of Kafka's names is which of these is said in docs/reference/metrics.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, islice

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from leaselog.broker.lending.metrics import GroupFetches, ShareMetrics
from leaselog.broker.lending.partition_owner import SharePartitionOwner
from leaselog.broker.records.partition import Partition
from leaselog.broker.runtime.plain_histogram import PlainHistogram
from leaselog.broker.telling.backlog import Backlog, Unattended, backlog, unattended
from leaselog.broker.telling.steps import LongFamily, SteppingCollector, batched
from leaselog.broker.telling.told import Told
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import GroupId
from leaselog.share import AcknowledgeType, Counters, RecordState, SharePartition

__all__ = ["ShareCollector", "ShareLoadCollector"]

MOST_PARTITIONS = 10_000
MOST_GROUPS = 1_000

RATIO, ACQUIRE = "leaselog_share_fetch_ratio", "leaselog_share_acquire_seconds"
PENDING = "leaselog_share_dead_letters_pending"


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


class ShareCollector(SteppingCollector):
    def __init__(self, broker: Told) -> None:
        self._broker = broker

    def steps(self) -> Iterator[Metric | None]:
        # at once: who ends meanwhile is counted here, and not among those that have ended
        owners, sums = self._broker.shares.every_owner(), self._broker.share_metrics.of_ended()
        yield from self._totals(owners, sums)
        yield from self._sessions()
        yield from self._per_partition(owners)
        yield from self._per_group()
        yield from self._dead_letters(owners)
        yield from self._pauses()

    def _totals(self, owners: list[SharePartitionOwner], sums: Counters) -> Iterator[Metric | None]:
        metrics = self._broker.share_metrics
        for some in batched(owners):
            metrics.add(sums, some)
            yield None
        acknowledged = CounterMetricFamily(
            "leaselog_share_acknowledged_records", "Records acknowledged, by type", labels=["type"]
        )
        for kind in AcknowledgeType:
            acknowledged.add_metric([kind.name.lower()], sums.acknowledged[kind])
        yield acknowledged
        for name, text, value in (
            ("acquired_records", "Deliveries of records to members", sums.acquired),
            ("redelivered_records", "Deliveries that were not the record's first", sums.redelivered),
            (
                "released_records",
                "Records released because the share session of their member ended",
                sums.released_by_session,
            ),
            ("lock_timeouts", "Records whose lease expired", sums.lock_timeouts),
            (
                "delayed_records",
                "Records that came back and wait for a delay before their next delivery",
                sums.delayed,
            ),
            ("given_back_records", "Records given back: their delivery does not count", sums.given_back),
            ("refused_acknowledgements", "Acknowledgements refused", sums.refused_acknowledgements),
            ("failed_writes", "Writes of share state that failed", sums.failed_writes),
            ("fetch_expired", "Share fetches that waited and got no records", metrics.expired_fetches),
            ("fetch_partitions", "Partitions that share fetches looked at", metrics.partitions_asked),
            (
                "fetch_partitions_given",
                "Partitions that share fetches looked at and got records from",
                metrics.partitions_given,
            ),
            (
                "session_evictions",
                "Share sessions that ended because their connection did",
                metrics.evicted_sessions,
            ),
        ):
            yield CounterMetricFamily(f"leaselog_share_{name}", text, value)

    def _sessions(self) -> Iterable[Metric]:
        sessions = self._broker.shares.sessions
        yield GaugeMetricFamily("leaselog_share_sessions", "Open share sessions", len(sessions))
        yield GaugeMetricFamily(
            "leaselog_share_session_partitions", "Partitions in all share sessions", sessions.partition_count
        )

    def _per_group(self) -> Iterable[Metric]:
        yield LongFamily(
            RATIO,
            "The part of the partitions in a share fetch that gave records, from 0 to 1",
            "histogram",
            lambda: self._of_groups(RATIO, lambda fetches: fetches.ratio),
        )
        yield LongFamily(
            ACQUIRE,
            "Time from the start of a share fetch until it had records",
            "histogram",
            lambda: self._of_groups(ACQUIRE, lambda fetches: fetches.acquire_seconds),
        )

    def _of_groups(self, name: str, of: Callable[[GroupFetches], PlainHistogram]) -> Iterator[Sample]:
        groups = list(islice(self._broker.share_metrics.groups.items(), MOST_GROUPS))
        for group_id, fetches in groups:
            seconds = of(fetches)
            family = HistogramMetricFamily(name, "", labels=["group"])
            family.add_metric([group_id], seconds.buckets(), seconds.total)
            yield from family.samples

    def _dead_letters(self, owners: list[SharePartitionOwner]) -> Iterator[Metric | None]:
        counts = self._broker.dead_letters.counts
        for name, text, by_group in (
            ("written", "Dead letters written", counts.written),
            (
                "failed",
                "Records archived without a dead letter, because it could not be written",
                counts.failed,
            ),
        ):
            full_name = f"leaselog_share_dead_letters_{name}"
            yield LongFamily(full_name, text, "counter", partial(_by_group, f"{full_name}_total", by_group))
        on_their_way = Counter[GroupId]()
        for some in batched(owners):
            for owner in some:
                if owner.machine is not None:
                    on_their_way[owner.key.group_id] += owner.machine.count(RecordState.ARCHIVING)
            yield None
        yield LongFamily(
            PENDING,
            "Records whose dead letters are being written",
            "gauge",
            lambda: _by_group(PENDING, on_their_way),
        )

    def _pauses(self) -> Iterable[Metric]:
        delivery = self._broker.share_delivery
        paused = GaugeMetricFamily(
            "leaselog_share_group_paused",
            "1 for a paused group; by says who paused it, operator or breaker",
            labels=["group", "by"],
        )
        for group_id, config in sorted(delivery.paused(), key=lambda found: found[0]):
            paused.add_metric([group_id, config.share_delivery_paused_by], 1)
        trips = CounterMetricFamily(
            "leaselog_share_breaker_trips", "How often the breaker has paused a group", labels=["group"]
        )
        for group_id, count in sorted(delivery.trips.items()):
            trips.add_metric([group_id], count)
        given_up = CounterMetricFamily(
            "leaselog_share_given_up_records",
            "Records archived after their last delivery without a dead letter, as their group has no dead-letter topic",
            labels=["group"],
        )
        for group_id, count in sorted(delivery.given_up.items()):
            given_up.add_metric([group_id], count)
        yield from (paused, trips, given_up)

    def _per_partition(self, owners: list[SharePartitionOwner]) -> Iterable[Metric | None]:
        told = owners[:MOST_PARTITIONS]
        others: list[Unattended] = []
        other_count = 0
        for some in unattended(self._broker):
            other_count += len(some)
            others += some[: MOST_PARTITIONS - len(told) - len(others)]
            yield None
        yield GaugeMetricFamily(
            "leaselog_share_partitions_untold",
            "Share partitions that are left out of the metrics by partition, because there are too many",
            len(owners) - len(told) + other_count - len(others),
        )
        for name, text, of in BACKLOG:
            yield LongFamily(name, text, "gauge", partial(self._backlogs, name, of, told, others))
        for name, text, kind, value in PER_PARTITION:
            full_name = f"leaselog_share_partition_{name}"
            sample_name = f"{full_name}_total" if kind == "counter" else full_name
            yield LongFamily(full_name, text, kind, partial(_of_partitions, sample_name, told, value))

    def _backlogs(
        self,
        name: str,
        of: Callable[[Backlog, int], float | None],
        owners: list[SharePartitionOwner],
        others: list[Unattended],
    ) -> Iterator[Sample]:
        for share_partition in chain[SharePartitionOwner | Unattended](owners, others):
            found = backlog(self._broker, share_partition)
            value = None if found is None else of(found, self._broker.now_ms())
            if value is not None:
                yield Sample(name, _labels(share_partition.key, share_partition.partition), value)


def _labels(key: SharePartitionKey, partition: Partition) -> dict[str, str]:
    return {"group": key.group_id, "topic": partition.name.topic, "partition": str(key.partition)}


def _of_partitions(
    name: str, owners: list[SharePartitionOwner], value: Callable[[SharePartition], int]
) -> Iterator[Sample]:
    for owner in owners:
        if owner.machine is not None:
            yield Sample(name, _labels(owner.key, owner.partition), value(owner.machine))


def _by_group(name: str, counts: Mapping[GroupId, int]) -> Iterator[Sample]:
    for group_id, count in list(counts.items()):
        yield Sample(name, {"group": group_id}, count)


PER_PARTITION: tuple[tuple[str, str, str, Callable[[SharePartition], int]], ...] = (
    ("lock_timeouts", "Records whose lease expired", "counter", lambda m: m.counters.lock_timeouts),
    (
        "in_flight_records",
        "Records in the window: from the start offset to the last one acquired",
        "gauge",
        lambda m: m.end - m.start,
    ),
    (
        "in_flight_runs",
        "Runs of neighbouring records in the window with the same state",
        "gauge",
        lambda m: m.run_count,
    ),
    (
        "acquired_records_held",
        "Records leased to a member now",
        "gauge",
        lambda m: m.count(RecordState.ACQUIRED),
    ),
    (
        "waiting_records",
        "Records that wait for a delay before their next delivery",
        "gauge",
        lambda m: m.waiting_count,
    ),
)

BACKLOG: tuple[tuple[str, str, Callable[[Backlog, int], float | None]], ...] = (
    (
        "leaselog_share_partition_lag",
        "Records not finished yet (KIP-1226), whether or not the group has members",
        lambda found, _: found.lag,
    ),
    (
        "leaselog_share_partition_oldest_age_seconds",
        "Age of the oldest record nobody has finished, 0 without any, whether or not anybody consumes",
        Backlog.oldest_age_s,
    ),
)
