"""IncrementalAlterConfigs (key 44), versions 0 and 1: SET, DELETE, APPEND and SUBTRACT of single keys.

- Needs leave to ALTER_CONFIGS of each topic or group, and of the cluster for all else.
- Each resource is changed whole or not at all, and fails alone. Answers go out when the changes are stored.
- A resource that comes twice is refused both times, a key that comes twice refuses its resource.
- Values are judged before a topic's existence, as Kafka's controller does.
- Levels of loggers are set at once and not stored.
"""

from __future__ import annotations

from leaselog.broker.config import Alteration, AlterOp
from leaselog.broker.config.requests import ConfigRequests, Outcome, store, store_nothing
from leaselog.broker.handlers.config.rights import refuse_rights
from leaselog.broker.net.api import RequestContext, serves
from leaselog.broker.share_groups.own_topics import refuse_own_topics
from leaselog.model import AclOperation, ErrorCode, Refused
from leaselog.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


@serves(IncrementalAlterConfigsRequest, versions=(0, 1), kips="KIP-339, 412, 714, 848, 932")
async def incremental_alter_configs(
    request: IncrementalAlterConfigsRequest, context: RequestContext
) -> IncrementalAlterConfigsResponse:
    cluster = context.broker.cluster
    requests = ConfigRequests(cluster.configuration, lambda name: cluster.topic(name) is not None)
    refused = refuse_rights(AclOperation.ALTER_CONFIGS, request.resources, context)
    refused |= requests.repeated((r.resource_type, r.resource_name) for r in request.resources)
    refused |= await refuse_own_topics(context.broker.share_groups, request.resources)

    def decide() -> list[Outcome]:
        return [
            refused.get((r.resource_type, r.resource_name)) or _decide(r, requests, request.validate_only)
            for r in request.resources
        ]

    refusals = await store(decide, store_nothing if request.validate_only else cluster.alter_configs)
    return IncrementalAlterConfigsResponse(
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


def _decide(resource: AlterConfigsResource, requests: ConfigRequests, validate_only: bool) -> Outcome:
    alterations = []
    for config in resource.configs:
        try:
            op = AlterOp(config.config_operation)
        except ValueError:
            return Refused(ErrorCode.INVALID_REQUEST, f"Unknown operations type {config.config_operation}")
        alterations.append(Alteration(config.name, op, config.value))
    return requests.alter(
        resource.resource_type, resource.resource_name, alterations, validate_only=validate_only
    )
