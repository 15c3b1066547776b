"""SASL on a live connection: the handshake, the exchange, and when it has to be done again (KIP-152, KIP-368).

Owns what the broker's answers mean; bytes and the order of requests are the connection's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import TypeVar

from leaselog.client.errors import AuthenticationFailed, BrokerError, known_code
from leaselog.client.security.login import Exchange, Login
from leaselog.model import ErrorCode
from leaselog.sasl.errors import SaslError
from leaselog.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from leaselog.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from leaselog.wire.schema import Message

__all__ = ["Ask", "authenticate", "renewal_ms"]

M = TypeVar("M", bound=Message)

#: sends a request of SASL's, and waits for its answer
Ask = Callable[[Message, type[Message]], Awaitable[Message]]

#: Of a session's life, how much may be over when it is renewed; Kafka's clients do it at 85 to 95 parts of a hundred.
_WINDOW = 0.85
_JITTER = 0.10
#: and so long before its end at least, where that is not more than half of it: an answer may be waited for
_MARGIN_MS = 1_000


def renewal_ms(lifetime_ms: int, chance: Random) -> int:
    """How long after a login the next one is due."""
    latest = max(lifetime_ms - _MARGIN_MS, lifetime_ms // 2)
    return min(int(lifetime_ms * (_WINDOW + chance.random() * _JITTER)), latest)


async def authenticate(ask: Ask, login: Login, exchange: Exchange, address: str) -> int:
    """How long the session lives, in milliseconds; 0: for as long as the connection.

    Raises ``AuthenticationFailed``, and what ``ask`` raises.
    """
    shaken = await ask(SaslHandshakeRequest(mechanism=login.mechanism), SaslHandshakeResponse)
    assert isinstance(shaken, SaslHandshakeResponse)
    _check_handshake(shaken, login, address)
    said: bytes | None = exchange.first()
    lifetime_ms = 0
    while said is not None:
        answer = await ask(SaslAuthenticateRequest(auth_bytes=said), SaslAuthenticateResponse)
        assert isinstance(answer, SaslAuthenticateResponse)
        if answer.error_code:
            raise _refused(answer, login, address)
        lifetime_ms = answer.session_lifetime_ms
        try:
            said = await exchange.next(bytes(answer.auth_bytes))
        except SaslError as wrong:
            raise AuthenticationFailed(f"{address}: {login}: {wrong}") from wrong
    return lifetime_ms


def _check_handshake(answer: SaslHandshakeResponse, login: Login, address: str) -> None:
    if not answer.error_code:
        return
    code = known_code(answer.error_code)
    if code is ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        enabled = ", ".join(sorted(answer.mechanisms)) or "none"
        words = f"{login.mechanism} is not enabled there; sasl.mechanism can be {enabled}"
    elif code is ErrorCode.ILLEGAL_SASL_STATE:
        words = "it takes no SASL: security.protocol is PLAINTEXT or SSL for this listener"
    else:
        words = f"{login.mechanism} is refused with {code.name}"
    raise AuthenticationFailed(f"{address}: {words}") from BrokerError(answer.error_code)


def _refused(answer: SaslAuthenticateResponse, login: Login, address: str) -> AuthenticationFailed:
    cause = BrokerError(answer.error_code, answer.error_message)
    said = answer.error_message or cause.code.name
    advice = "" if login.user is None else " (an unknown user, or a wrong password)"
    failed = AuthenticationFailed(f"{address}: {login} is refused{advice}: {said}")
    failed.__cause__ = cause
    return failed
