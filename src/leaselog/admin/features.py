"""Versions of the cluster's features: described, raised and lowered (KIP-584)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from leaselog.client.cluster import Cluster
from leaselog.client.errors import raise_for
from leaselog.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from leaselog.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

__all__ = [
    "FeatureDescription",
    "FeatureDescriptions",
    "FeatureUpdateType",
    "describe_features",
    "update_features",
]


class FeatureUpdateType(IntEnum):
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    #: even if what was written with the higher level cannot be read any more
    UNSAFE_DOWNGRADE = 3


@dataclass(frozen=True, slots=True)
class FeatureDescription:
    #: what the brokers could do, both inclusive
    min_version: int
    max_version: int
    #: what the cluster does; 0 is off
    level: int


@dataclass(frozen=True, slots=True)
class FeatureDescriptions:
    features: dict[str, FeatureDescription]
    #: rises with each change; None if the broker does not tell
    epoch: int | None


async def describe_features(cluster: Cluster) -> FeatureDescriptions:
    async def attempt() -> ApiVersionsResponse:
        request = ApiVersionsRequest(client_software_name="leaselog", client_software_version="1")
        answer = await cluster.request(request, ApiVersionsResponse)
        raise_for(answer.error_code)
        return answer

    answer = await cluster.retrying(attempt)
    levels = {feature.name: feature.max_version_level for feature in answer.finalized_features}
    found = {
        feature.name: FeatureDescription(
            feature.min_version, feature.max_version, levels.get(feature.name, 0)
        )
        for feature in answer.supported_features
    }
    epoch = answer.finalized_features_epoch
    return FeatureDescriptions(dict(sorted(found.items())), epoch if epoch >= 0 else None)


async def update_features(
    cluster: Cluster, levels: Mapping[str, int], type: FeatureUpdateType, *, validate_only: bool = False
) -> None:
    """Set levels of features: all of them or, with a ``BrokerError``, none. Level 0 turns a feature off."""
    request = UpdateFeaturesRequest(
        timeout_ms=cluster.request_timeout_ms,
        feature_updates=[
            FeatureUpdateKey(
                feature=name,
                max_version_level=level,
                allow_downgrade=type is not FeatureUpdateType.UPGRADE,
                upgrade_type=type,
            )
            for name, level in levels.items()
        ],
        validate_only=validate_only,
    )

    async def attempt() -> None:
        answer = await cluster.request(request, UpdateFeaturesResponse)
        raise_for(answer.error_code, answer.error_message)
        for result in answer.results:
            raise_for(result.error_code, result.error_message)

    await cluster.retrying(attempt)
