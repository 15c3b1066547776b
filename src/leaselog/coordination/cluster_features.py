"""Which features the cluster has, at which levels, and when a level may change (KIP-584, KIP-1022).

``min_level``..``max_level`` is what Apache Kafka 4.4 knows; ``level`` the highest that leaselog acts on. A new
cluster starts at ``level``; a higher one is refused until the code behind it is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from leaselog.model import ErrorCode, NodeId, Refused

__all__ = ["FEATURES", "METADATA_VERSION", "Feature", "FeatureUpdate", "UpgradeType", "refuse_update"]

METADATA_VERSION = "metadata.version"


@dataclass(frozen=True, slots=True)
class Feature:
    name: str
    min_level: int
    max_level: int
    level: int


FEATURES: tuple[Feature, ...] = (
    Feature("group.version", 0, 1, 1),
    # The quorum of one has static voters; the level is not finalized in the metadata log (Kafka neither).
    Feature("kraft.version", 0, 1, 0),
    Feature(METADATA_VERSION, 7, 33, 33),
    Feature("share.version", 0, 2, 2),
    Feature("streams.version", 0, 1, 0),
    Feature("transaction.version", 0, 2, 2),
    Feature("eligible.leader.replicas.version", 0, 1, 0),
)


class UpgradeType(IntEnum):
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(frozen=True, slots=True)
class FeatureUpdate:
    name: str
    level: int
    upgrade_type: int


def refuse_update(
    update: FeatureUpdate, current: Mapping[str, int], features: Mapping[str, Feature], node_id: NodeId
) -> Refused | None:
    """Why the level may not be set so, in Kafka's words, or None."""
    reason = _reason(update, current.get(update.name, 0), features.get(update.name), node_id)
    if reason is not None:
        start = f"Invalid update version {update.level} for feature {update.name}. "
        return Refused(ErrorCode.INVALID_UPDATE_VERSION, start + reason)
    if update.name == METADATA_VERSION and update.level < current.get(update.name, 0):
        # Kafka refuses every downgrade that might lose records, and no lower level is worth having here.
        step = f"from {current[update.name]} to {update.level}"
        refusal = (
            "Refusing to perform the requested downgrade because it might delete metadata information."
            if update.upgrade_type == UpgradeType.SAFE_DOWNGRADE
            else "Unsafe metadata downgrade is not supported in this version."
        )
        return Refused(
            ErrorCode.INVALID_UPDATE_VERSION, f"Unsupported metadata.version downgrade {step}. {refusal}"
        )
    return None


def _reason(update: FeatureUpdate, current: int, feature: Feature | None, node_id: NodeId) -> str | None:
    if update.upgrade_type not in UpgradeType._value2member_map_:
        return "The controller does not support the given upgrade type."
    if update.level < 0:
        return "A feature version cannot be less than 0."
    if feature is None:
        return f"Local controller {node_id} does not support this feature."
    if not feature.min_level <= update.level <= feature.max_level:
        return f"Local controller {node_id} only supports versions {feature.min_level}-{feature.max_level}"
    if update.level < current and update.upgrade_type == UpgradeType.UPGRADE:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or "
            "unsafe downgrade."
        )
    if update.level > feature.level and update.level > current:
        return f"leaselog does not act on this level yet; the highest it does is {feature.level}."
    return None
