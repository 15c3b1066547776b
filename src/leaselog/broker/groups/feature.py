"""Whether the cluster has consumer groups of KIP-848: level 1 of the feature ``group.version`` (KIP-1022)."""

from __future__ import annotations

from leaselog.broker.cluster.cluster import Cluster

__all__ = ["has_consumer_groups"]

GROUP_VERSION = "group.version"


def has_consumer_groups(cluster: Cluster) -> bool:
    """Where this is false their requests are UNSUPPORTED_VERSION."""
    return cluster.feature_level(GROUP_VERSION) >= 1
