"""What clients may do with share groups: the finalized level of ``share.version`` says."""

from __future__ import annotations

from leaselog.broker.cluster.cluster import Cluster

__all__ = ["has_dead_letters", "has_share_groups"]

SHARE_VERSION = "share.version"


def has_share_groups(cluster: Cluster) -> bool:
    """Where this is false every request of a share consumer or its administrator is UNSUPPORTED_VERSION."""
    return cluster.feature_level(SHARE_VERSION) >= 1


def has_dead_letters(cluster: Cluster) -> bool:
    """Where this is false no group has a dead-letter topic, whatever its config says (KIP-1191)."""
    return cluster.feature_level(SHARE_VERSION) >= 2
