"""AlterConfigs (key 33), versions 0 to 2: a resource's values replaced as a whole.

Needs leave to ALTER_CONFIGS of each topic or group, and of the cluster for all else.

The old way: a key that is not named loses its value. Otherwise as IncrementalAlterConfigs, without loggers.
"""

from __future__ import annotations

from leaselog.broker.config.requests import ConfigRequests, Outcome, store, store_nothing
from leaselog.broker.handlers.config.rights import refuse_rights
from leaselog.broker.net.api import RequestContext, serves
from leaselog.broker.share_groups.own_topics import refuse_own_topics
from leaselog.model import AclOperation, ErrorCode
from leaselog.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


@serves(AlterConfigsRequest, versions=(0, 2), kips="KIP-133")
async def alter_configs(request: AlterConfigsRequest, context: RequestContext) -> AlterConfigsResponse:
    cluster = context.broker.cluster
    requests = ConfigRequests(cluster.configuration, lambda name: cluster.topic(name) is not None)
    refused = refuse_rights(AclOperation.ALTER_CONFIGS, request.resources, context)
    refused |= requests.repeated((r.resource_type, r.resource_name) for r in request.resources)
    refused |= await refuse_own_topics(context.broker.share_groups, request.resources)

    def decide() -> list[Outcome]:
        return [
            refused.get((r.resource_type, r.resource_name)) or _decide(r, requests) for r in request.resources
        ]

    refusals = await store(decide, store_nothing if request.validate_only else cluster.alter_configs)
    return AlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                error_code=ErrorCode.NONE if refusal is None else refusal.code,
                error_message=None if refusal is None else refusal.message,
            )
            for resource, refusal in zip(request.resources, refusals, strict=True)
        ]
    )


def _decide(resource: AlterConfigsResource, requests: ConfigRequests) -> Outcome:
    values = [(config.name, config.value) for config in resource.configs]
    return requests.replace(resource.resource_type, resource.resource_name, values)
