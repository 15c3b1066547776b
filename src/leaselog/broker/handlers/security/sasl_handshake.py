"""SaslHandshake (key 17), versions 0 and 1: the client names the mechanism that it logs in by (KIP-43, KIP-152).

- After version 0 the messages of the login come bare, without a request around them.
- A mechanism that is not enabled: UNSUPPORTED_SASL_MECHANISM with those that are, and the connection ends.
- Where there is nothing to log in to, and on a connection that is logged in: ILLEGAL_SASL_STATE. One whose login runs
  out may log in again (KIP-368).
"""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import ErrorCode
from leaselog.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


@serves(SaslHandshakeRequest, versions=(0, 1), kips="KIP-43, 152, 368", exclusive=True)
def sasl_handshake(request: SaslHandshakeRequest, context: RequestContext) -> SaslHandshakeResponse:
    login = context.login
    if login is None:
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    code = login.shake_hands(request.mechanism, context.version)
    return SaslHandshakeResponse(
        error_code=code, mechanisms=[] if code == ErrorCode.ILLEGAL_SASL_STATE else login.mechanisms
    )
