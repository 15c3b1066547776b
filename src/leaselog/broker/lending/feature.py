"""What clients may do with share groups: the finalized level of ``share.version`` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leaselog.broker.broker import Broker

__all__ = ["has_dead_letters", "has_share_groups"]

SHARE_VERSION = "share.version"


def has_share_groups(broker: Broker) -> bool:
    """Where this is false every request of a share consumer or its administrator is UNSUPPORTED_VERSION."""
    return broker.cluster.feature_level(SHARE_VERSION) >= 1


def has_dead_letters(broker: Broker) -> bool:
    """Where this is false no group has a dead-letter topic, whatever its config says (KIP-1191)."""
    return broker.cluster.feature_level(SHARE_VERSION) >= 2
