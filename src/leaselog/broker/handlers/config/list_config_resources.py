"""ListConfigResources (key 74), versions 0 and 1: what has a configuration.

- Needs leave to DESCRIBE_CONFIGS of the cluster.
- v0, once called ListClientMetricsResources (KIP-714), knows subscriptions to clients' metrics and nothing else.
- v1 (KIP-1142) lists topics and brokers that exist, and groups and subscriptions that have a value set. No types
  asked for means all; a type this broker does not know refuses the request with UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from collections.abc import Iterable

from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.cluster_records import ResourceType
from leaselog.model import AclOperation, ErrorCode
from leaselog.wire.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)


@serves(ListConfigResourcesRequest, versions=(0, 1), kips="KIP-714, 1142")
def list_config_resources(
    request: ListConfigResourcesRequest, context: RequestContext
) -> ListConfigResourcesResponse:
    denied = context.refuse_cluster(AclOperation.DESCRIBE_CONFIGS)
    if denied is not None:
        return ListConfigResourcesResponse(error_code=denied.code)
    if context.version == 0:
        types: Iterable[int] = (ResourceType.CLIENT_METRICS,)
    else:
        types = request.resource_types or tuple(ResourceType)
    found: list[ConfigResource] = []
    for type_ in dict.fromkeys(types):
        if type_ not in tuple(ResourceType):
            return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
        names = _names(ResourceType(type_), context)
        found += [ConfigResource(resource_name=name, resource_type=type_) for name in names]
    return ListConfigResourcesResponse(config_resources=found)


def _names(type_: ResourceType, context: RequestContext) -> list[str]:
    cluster = context.broker.cluster
    match type_:
        case ResourceType.TOPIC:
            return sorted(topic.name for topic in cluster.topics())
        case ResourceType.BROKER | ResourceType.BROKER_LOGGER:
            return [str(cluster.node_id)]
        case ResourceType.GROUP | ResourceType.CLIENT_METRICS:
            resources = cluster.configuration.resources()
            return sorted(resource.name for resource in resources if resource.type is type_)
