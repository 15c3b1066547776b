"""UpdateFeatures (key 57), versions 0 to 2: levels of features raised or lowered, all or none of them (KIP-584).

- Needs leave to ALTER the cluster.
- One level that may not be set refuses the whole request, in the answer's top level.
- Levels that Apache Kafka 4.4 knows and leaselog does not act on yet are refused too.
- Up to v1 a success lists its features; from v2 an answer is one error code.
"""

from __future__ import annotations

from leaselog.broker.cluster.cluster import FeatureUpdate
from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import AclOperation
from leaselog.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

UPGRADE, SAFE_DOWNGRADE = 1, 2


@serves(UpdateFeaturesRequest, versions=(0, 2), kips="KIP-584, 778, 1022")
async def update_features(request: UpdateFeaturesRequest, context: RequestContext) -> UpdateFeaturesResponse:
    denied = context.refuse_cluster(AclOperation.ALTER)
    if denied is not None:
        return UpdateFeaturesResponse(error_code=denied.code, error_message=denied.message)
    updates = {key.feature: _update(key, context.version) for key in request.feature_updates}
    refused = await context.broker.cluster.update_features(
        list(updates.values()), validate_only=request.validate_only
    )
    if refused is not None:
        return UpdateFeaturesResponse(
            error_code=refused.code,
            error_message="The update failed for all features since the following feature had an error: "
            f"{refused.message}",
        )
    return UpdateFeaturesResponse(
        error_message=None,
        results=[UpdatableFeatureResult(feature=name, error_message=None) for name in updates],
    )


def _update(key: FeatureUpdateKey, version: int) -> FeatureUpdate:
    upgrade_type = key.upgrade_type
    if version == 0:
        upgrade_type = SAFE_DOWNGRADE if key.allow_downgrade else UPGRADE
    return FeatureUpdate(key.feature, key.max_version_level, upgrade_type)
