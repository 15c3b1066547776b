"""Whether clients may use share groups: the finalized level of ``share.version`` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leaselog.broker.broker import Broker

__all__ = ["has_share_groups"]

SHARE_VERSION = "share.version"


def has_share_groups(broker: Broker) -> bool:
    """Where this is false every request of a share consumer or its administrator is UNSUPPORTED_VERSION."""
    return broker.cluster.finalized_features().get(SHARE_VERSION, 0) >= 1
