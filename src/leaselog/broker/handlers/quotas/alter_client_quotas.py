"""AlterClientQuotas (key 49), versions 0 and 1: sets and removes limits of users, client ids and addresses (KIP-546).

Needs leave to ALTER_CONFIGS of the cluster.

One answer for each entity, in the order they are first named. ``producer_byte_rate`` and ``consumer_byte_rate`` are
enforced (`broker.quotas.client_quotas`); the other keys of Apache Kafka are validated, kept and described, and
limit nothing.
"""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.cluster_quotas import QuotaAlteration
from leaselog.coordination.cluster_records import QuotaEntity
from leaselog.model import AclOperation, ErrorCode, Refused
from leaselog.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntryData,
    EntityData,
)


@serves(AlterClientQuotasRequest, versions=(0, 1), kips="KIP-546")
async def alter_client_quotas(
    request: AlterClientQuotasRequest, context: RequestContext
) -> AlterClientQuotasResponse:
    denied = context.refuse_cluster(AclOperation.ALTER_CONFIGS)
    if denied is not None:
        entities = [[(part.entity_type, part.entity_name) for part in e.entity] for e in request.entries]
        return AlterClientQuotasResponse(entries=[_answer(tuple(entity), denied) for entity in entities])
    answers = await context.broker.cluster.alter_quotas(
        [
            QuotaAlteration(
                entity=[(part.entity_type, part.entity_name) for part in entry.entity],
                ops=[(op.key, None if op.remove else op.value) for op in entry.ops],
            )
            for entry in request.entries
        ],
        validate_only=request.validate_only,
    )
    return AlterClientQuotasResponse(entries=[_answer(*answer) for answer in answers.items()])


def _answer(entity: QuotaEntity, refused: Refused | None) -> AlterClientQuotasResponseEntryData:
    return AlterClientQuotasResponseEntryData(
        error_code=ErrorCode.NONE if refused is None else refused.code,
        error_message=None if refused is None else refused.message,
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
    )
