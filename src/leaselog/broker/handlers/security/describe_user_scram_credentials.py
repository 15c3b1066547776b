"""DescribeUserScramCredentials (key 50), version 0: who has which SCRAM credentials; no salts and no keys (KIP-554).

- Needs leave to DESCRIBE the cluster.
- No users named, or null: all who have any.
- A user named twice is DUPLICATE_RESOURCE, and one without credentials RESOURCE_NOT_FOUND.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import AclOperation, ErrorCode
from leaselog.sasl.scram import Credential
from leaselog.wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)


@serves(DescribeUserScramCredentialsRequest, versions=(0, 0), kips="KIP-554")
async def describe_user_scram_credentials(
    request: DescribeUserScramCredentialsRequest, context: RequestContext
) -> DescribeUserScramCredentialsResponse:
    denied = context.refuse_cluster(AclOperation.DESCRIBE)
    if denied is not None:
        return DescribeUserScramCredentialsResponse(error_code=denied.code, error_message=denied.message)
    users = context.broker.cluster.scram_users()
    mentions = Counter([user.name for user in request.users] if request.users else list(users))
    return DescribeUserScramCredentialsResponse(
        error_message=None,
        results=[
            _result(name, count, users.get(name))
            async for name, count in context.broker.turns.each(mentions.items())
        ],
    )


def _result(
    name: str, count: int, credentials: Mapping[int, Credential] | None
) -> DescribeUserScramCredentialsResult:
    code, why, infos = ErrorCode.NONE, None, []
    if count > 1:
        code = ErrorCode.DUPLICATE_RESOURCE
        why = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
    elif credentials is None:
        code = ErrorCode.RESOURCE_NOT_FOUND
        why = f"Attempt to describe a user credential that does not exist: {name}"
    else:
        infos = [
            CredentialInfo(mechanism=mechanism, iterations=kept.iterations)
            for mechanism, kept in sorted(credentials.items())
        ]
    return DescribeUserScramCredentialsResult(
        user=name, error_code=code, error_message=why, credential_infos=infos
    )
