"""ApiVersions (key 18), versions 0 to 5: what this broker speaks, and which features it has.

- An unsupported version is answered in version 0 with UNSUPPORTED_VERSION and the range of this API alone, so that
  a newer client can try again (`broker.net.dispatch` does it: such a request's body cannot be decoded here).
- A client software name or version that is not plain text is INVALID_REQUEST (from v3, KIP-511).
- v3 leaves out supported features whose lowest level is 0: it could not say so before KAFKA-17011 (v4).
- What leaselog serves beside Kafka's APIs is told to clients that say they are leaselog's own: others need not know it.
- v5 (KIP-1242): a cluster id or node id that is not ours is REBOOTSTRAP_REQUIRED.
"""

from __future__ import annotations

import re

from leaselog.broker.net.api import RequestContext, serves
from leaselog.broker.net.versions import supported_versions
from leaselog.model import ErrorCode
from leaselog.wire.messages.api_versions import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

SOFTWARE_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


OWN_SOFTWARE_NAME = "leaselog"


@serves(ApiVersionsRequest, versions=(0, 5), kips="KIP-35, 511, 584, 1242")
def api_versions(request: ApiVersionsRequest, context: RequestContext) -> ApiVersionsResponse:
    cluster = context.broker.cluster
    if context.version >= 3 and not (
        SOFTWARE_NAME.fullmatch(request.client_software_name)
        and SOFTWARE_NAME.fullmatch(request.client_software_version)
    ):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    if request.cluster_id is not None and request.node_id != -1:  # noqa: SIM102 - two facts, one rule each
        if request.cluster_id != cluster.cluster_id or request.node_id != cluster.node_id:
            return ApiVersionsResponse(error_code=ErrorCode.REBOOTSTRAP_REQUIRED)
    features = [f for f in cluster.supported_features() if f.min_level > 0 or context.version >= 4]
    return ApiVersionsResponse(
        api_keys=supported_versions(extensions=request.client_software_name == OWN_SOFTWARE_NAME),
        supported_features=[
            SupportedFeatureKey(name=f.name, min_version=f.min_level, max_version=f.max_level)
            for f in features
        ],
        finalized_features_epoch=cluster.features_epoch,
        finalized_features=[
            FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
            for name, level in cluster.finalized_features().items()
            if level > 0
        ],
    )
