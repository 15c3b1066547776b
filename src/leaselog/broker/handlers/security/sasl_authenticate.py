"""SaslAuthenticate (key 36), versions 0 to 2: one message of a login, and the answer to it (KIP-152, KIP-368).

- A login that fails: SASL_AUTHENTICATION_FAILED, in the same words whether a user is unknown or a password is wrong,
  after `connection.failed.authentication.delay.ms`. The connection ends then.
- From version 1 on the answer that completes a login says how long it lasts.
- Without a handshake before: ILLEGAL_SASL_STATE.
"""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import ErrorCode
from leaselog.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse


@serves(SaslAuthenticateRequest, versions=(0, 2), kips="KIP-152, 368", only_reads=True)
async def sasl_authenticate(
    request: SaslAuthenticateRequest, context: RequestContext
) -> SaslAuthenticateResponse:
    if context.login is None:
        return SaslAuthenticateResponse(
            error_code=ErrorCode.ILLEGAL_SASL_STATE,
            error_message="SaslAuthenticate request received after successful authentication",
        )
    heard = await context.login.hear(bytes(request.auth_bytes))
    return SaslAuthenticateResponse(
        error_code=heard.error_code,
        error_message=heard.error_message,
        auth_bytes=heard.said,
        session_lifetime_ms=heard.lifetime_ms,
    )
