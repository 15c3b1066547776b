"""DescribeClientQuotas (key 48), versions 0 and 1: the limits of every entity that fits the filter (KIP-546).

- Needs leave to DESCRIBE_CONFIGS of the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping

from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.cluster_quota_filter import QuotaFilter, matching_quotas
from leaselog.coordination.cluster_records import QuotaEntity
from leaselog.model import AclOperation, Refused
from leaselog.wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)


@serves(DescribeClientQuotasRequest, versions=(0, 1), kips="KIP-546")
def describe_client_quotas(
    request: DescribeClientQuotasRequest, context: RequestContext
) -> DescribeClientQuotasResponse:
    denied = context.refuse_cluster(AclOperation.DESCRIBE_CONFIGS)
    if denied is not None:
        return DescribeClientQuotasResponse(
            error_code=denied.code, error_message=denied.message, entries=None
        )
    quotas = context.broker.cluster.quotas()
    components = [(part.entity_type, part.match_type, part.match) for part in request.components]
    found = matching_quotas(quotas, QuotaFilter(components, is_strict=request.strict))
    if isinstance(found, Refused):
        return DescribeClientQuotasResponse(error_code=found.code, error_message=found.message, entries=None)
    return DescribeClientQuotasResponse(entries=[_entry(entity, quotas[entity]) for entity in found])


def _entry(entity: QuotaEntity, limits: Mapping[str, float]) -> EntryData:
    return EntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
        values=[ValueData(key=key, value=limit) for key, limit in limits.items()],
    )
