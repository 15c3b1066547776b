"""AlterUserScramCredentials (key 51), version 0: sets and removes SCRAM credentials of users (KIP-554).

- Needs leave to ALTER the cluster.
- One answer for each user. A user who is named twice is DUPLICATE_RESOURCE, in whatever mechanisms.
- An empty name, and fewer than 4096 or more than 16384 iterations: UNACCEPTABLE_CREDENTIAL.
- A mechanism that is not SCRAM-SHA-256 (1) or SCRAM-SHA-512 (2): UNSUPPORTED_SASL_MECHANISM.
- Removing what is not there: RESOURCE_NOT_FOUND.
"""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.coordination.cluster_scram import ScramAlterations, ScramDeletion, ScramUpsertion
from leaselog.model import AclOperation, ErrorCode
from leaselog.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)


@serves(AlterUserScramCredentialsRequest, versions=(0, 0), kips="KIP-554")
async def alter_user_scram_credentials(
    request: AlterUserScramCredentialsRequest, context: RequestContext
) -> AlterUserScramCredentialsResponse:
    turns = context.broker.turns
    denied = context.refuse_cluster(AclOperation.ALTER)
    if denied is not None:
        users = dict.fromkeys([d.name for d in request.deletions] + [u.name for u in request.upsertions])
        return AlterUserScramCredentialsResponse(
            results=[
                AlterUserScramCredentialsResult(
                    user=user, error_code=denied.code, error_message=denied.message
                )
                for user in users
            ]
        )
    wanted = ScramAlterations(
        deletions=[ScramDeletion(one.name, one.mechanism) async for one in turns.each(request.deletions)],
        upsertions=[
            ScramUpsertion(
                one.name, one.mechanism, one.iterations, bytes(one.salt), bytes(one.salted_password)
            )
            async for one in turns.each(request.upsertions)
        ],
    )
    answers = await context.broker.cluster.alter_scram(wanted)
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(
                user=user,
                error_code=ErrorCode.NONE if refused is None else refused.code,
                error_message=None if refused is None else refused.message,
            )
            async for user, refused in turns.each(answers.items())
        ]
    )
