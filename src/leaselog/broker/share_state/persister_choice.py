"""Which persister a broker uses: `group.share.persister.class.name`, with Apache Kafka's class names."""

from __future__ import annotations

from leaselog.broker.cluster.cluster import Cluster
from leaselog.broker.config import ConfigError
from leaselog.broker.records.log_store import LogStore
from leaselog.broker.runtime.runtime import Runtime
from leaselog.broker.share_state.colocated_persister import ColocatedPersister
from leaselog.broker.share_state.coordinator import ShareCoordinator, share_state_limits
from leaselog.broker.share_state.persister import InProcessPersister, NoOpPersister, Persister

__all__ = ["choose_persister"]

KEY = "group.share.persister.class.name"

DEFAULT = "org.apache.kafka.server.share.persister.DefaultStatePersister"
NO_OP = "org.apache.kafka.server.share.persister.NoOpStatePersister"
#: KIP-932's older design never had a class in a release; the name is ours
COLOCATED = "leaselog.ColocatedPersister"


def choose_persister(
    runtime: Runtime, cluster: Cluster, logs: LogStore, coordinator: ShareCoordinator
) -> Persister:
    """Raises ``ConfigError`` for a class that is not known here, as Kafka does for one it cannot load."""
    name = runtime.config.group_share_persister_class_name
    if name == DEFAULT:
        return InProcessPersister(coordinator)  # of every key, as this is the only node
    if name in (NO_OP, ""):  # Kafka takes an empty name for it, and its tests give one
        return NoOpPersister()
    if name == COLOCATED:
        limits = share_state_limits(runtime.config)
        return ColocatedPersister(runtime, cluster, logs, coordinator.counts, limits)
    raise ConfigError(
        f"Invalid value {name} for configuration {KEY}: known are {DEFAULT}, {NO_OP}, {COLOCATED}"
    )
