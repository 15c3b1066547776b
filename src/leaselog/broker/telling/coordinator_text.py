"""What is told of the group coordinator and the share coordinator, read from them when somebody asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily
from prometheus_client.metrics_core import Metric

from leaselog.broker.telling.steps import SteppingCollector
from leaselog.broker.telling.told import Told

__all__ = ["CoordinatorCollector"]

#: those there may be are told even if there is none, so that a graph has no holes
GROUP_STATES = (("share", "Empty"), ("share", "Stable"), ("classic", "Empty"), ("classic", "Stable"))
OWNER_STATES = ("loading", "active", "failed")


class CoordinatorCollector(SteppingCollector):
    def __init__(self, broker: Told) -> None:
        self._broker = broker

    def steps(self) -> Iterator[Metric | None]:
        yield from self._groups()
        yield from self._share_state()
        yield self._partitions()

    def _groups(self) -> Iterator[Metric | None]:
        groups = self._broker.groups
        counted, partition_count = Counter[tuple[str, str]](), 0
        for listed, share_partitions in groups.by_owner():
            counted.update((group.type, group.state) for group in listed)
            partition_count += share_partitions
            yield None
        family = GaugeMetricFamily("leaselog_groups", "Groups, by type and state", labels=["type", "state"])
        for labels in dict.fromkeys((*GROUP_STATES, *counted)):
            family.add_metric(labels, counted[labels])
        yield family
        yield GaugeMetricFamily(
            "leaselog_share_group_partitions",
            "Share partitions that share groups have state for",
            partition_count,
        )
        yield CounterMetricFamily(
            "leaselog_share_group_rebalances",
            "How often a share group changed so that it needs a new assignment",
            groups.counts.share_rebalances,
        )

    def _share_state(self) -> Iterable[Metric]:
        coordinator = self._broker.share_coordinator
        counts = coordinator.counts
        yield GaugeMetricFamily(
            "leaselog_share_state_keys",
            "Share partitions whose state the share coordinator keeps",
            coordinator.key_count(),
        )
        yield CounterMetricFamily(
            "leaselog_share_state_written_records",
            "Records of share state written and durable",
            counts.written,
        )
        yield CounterMetricFamily(
            "leaselog_share_state_appends",
            "Appends in which records of share state were written, one or several at a time",
            counts.appends,
        )
        yield SummaryMetricFamily(
            "leaselog_share_state_write_seconds",
            "Time until a record of share state is durable",
            count_value=counts.written,
            sum_value=counts.write_s,
        )
        yield GaugeMetricFamily(
            "leaselog_share_state_longest_write_seconds",
            "The longest of these times since the start",
            counts.longest_write_s,
        )
        yield CounterMetricFamily(
            "leaselog_share_state_cuts",
            "Share partitions whose state was cut, because it was ahead of a log that had lost records",
            counts.cut,
        )

    def _partitions(self) -> Metric:
        family = GaugeMetricFamily(
            "leaselog_coordinator_partitions",
            "Partitions of the coordinators' topics, by coordinator and state",
            labels=["coordinator", "state"],
        )
        for name, states in (
            ("group", self._broker.groups.owner_states()),
            ("share", self._broker.share_coordinator.owner_states()),
        ):
            for state in OWNER_STATES:
                family.add_metric([name, state], states.count(state))
        return family
