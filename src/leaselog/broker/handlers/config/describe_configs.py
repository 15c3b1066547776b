"""DescribeConfigs (key 32), versions 1 to 4: the keys of topics, groups, brokers, loggers and metrics subscriptions.

- Needs leave to DESCRIBE_CONFIGS of each topic or group, and of the cluster for all else.
- Each resource fails alone. Keys that were asked for and do not exist are left out, without an error.
- A broker without a name is the default of all brokers: only what is set there is listed.
- A group need not exist to have a configuration; a topic must.
- Passwords, and keys of unknown meaning that might hold one, are named without a value.
- Documentation (v3) is leaselog's own and says what the key does here; keys without effect have none.
"""

from __future__ import annotations

from leaselog.broker.config import ConfigEntry
from leaselog.broker.config.requests import ConfigRequests
from leaselog.broker.handlers.config.rights import refuse_rights
from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import AclOperation, Refused
from leaselog.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)


@serves(DescribeConfigsRequest, versions=(1, 4), kips="KIP-133, 226, 412, 569, 848, 932, 1043")
async def describe_configs(
    request: DescribeConfigsRequest, context: RequestContext
) -> DescribeConfigsResponse:
    cluster = context.broker.cluster
    requests = ConfigRequests(cluster.configuration, lambda name: cluster.topic(name) is not None)
    denied = refuse_rights(AclOperation.DESCRIBE_CONFIGS, request.resources, context)
    return DescribeConfigsResponse(
        results=[
            _describe(
                resource, request, requests, denied.get((resource.resource_type, resource.resource_name))
            )
            async for resource in context.broker.turns.each(request.resources)
        ]
    )


def _describe(
    resource: DescribeConfigsResource,
    request: DescribeConfigsRequest,
    requests: ConfigRequests,
    denied: Refused | None,
) -> DescribeConfigsResult:
    found = denied or requests.describe(
        resource.resource_type, resource.resource_name, resource.configuration_keys
    )
    result = DescribeConfigsResult(
        resource_type=resource.resource_type, resource_name=resource.resource_name, error_message=None
    )
    if isinstance(found, Refused):
        result.error_code, result.error_message = found.code, found.message
    else:
        result.configs = [_config(entry, request) for entry in found]
    return result


def _config(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.is_read_only,
        config_source=entry.source,
        is_sensitive=entry.is_sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=name, value=value, source=source)
            for name, value, source in (entry.synonyms if request.include_synonyms else ())
        ],
        config_type=entry.type,
        documentation=entry.document if request.include_documentation else None,
    )
