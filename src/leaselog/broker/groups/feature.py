"""Whether the cluster has consumer groups of KIP-848: level 1 of the feature ``group.version`` (KIP-1022), unless the
broker's config leaves that protocol out."""

from __future__ import annotations

from leaselog.broker.cluster.cluster import Cluster
from leaselog.broker.config import BrokerConfig

__all__ = ["has_consumer_groups"]

GROUP_VERSION = "group.version"


def has_consumer_groups(cluster: Cluster, config: BrokerConfig) -> bool:
    """Where this is false their requests are UNSUPPORTED_VERSION."""
    is_left_out = "consumer" not in config.group_coordinator_rebalance_protocols
    return not is_left_out and cluster.feature_level(GROUP_VERSION) >= 1
